"""``learned:PATH``: plays a trained policy, from a policy file or a run folder.

``learned:champion`` plays those that come with the kit (``champions``).

Plays the most probable card; ``learned:PATH,sample=true`` draws cards with the policy's own
probabilities, as in training. A policy whose network values cards (``algorithm: dmc``) plays the
card with the highest value; it has no probabilities, so ``sample=true`` is refused. A path may hold
commas. Where a policy was trained with exact endings (``rollout.exact_endings``) the solver plays
the tricks after the stock.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from tressette_agents.champions import NAME, ChampionAgent
from tressette_env.errors import AgentSpecError, RulesError
from tressette_env.policies import Agent, parse_options
from tressette_env.rulesets import RuleSet

if TYPE_CHECKING:
    from tressette_agents.policy_file import LoadedPolicy

__all__ = ["LearnedAgent", "agent_of_file", "make"]

_CHUNK = 8192  # decisions a forward pass


class LearnedAgent(Agent):
    """Plays a policy file.

    Computes in float64: rounding in float32 changes with the number of decisions computed at once
    and with the machine, which could change a card.

    Parameters
    ----------
    policy : LoadedPolicy
        As ``load_policy`` reads it; the agent takes its network, and turns it to float64.
    spec : str
    sample : bool
        Whether to draw cards with the policy's probabilities, instead of the most probable one.

    Raises
    ------
    AgentSpecError
        If it is to draw cards, and its network gives values of cards.
    """

    def __init__(self, policy: LoadedPolicy, spec: str, sample: bool = False) -> None:
        if sample and policy.outputs == "values":
            raise AgentSpecError(
                f"{spec}: expected a policy with probabilities to sample from, got one that values "
                "cards (algorithm: dmc); leave out sample=true to play the card with the highest "
                "value"
            )
        self.spec = spec
        self.sample = sample
        self.ignores_seed = not sample
        self.policy = policy
        self._network = self.policy.network.double()
        self._checked: RuleSet | None = None

    def check_rules(self, rules: RuleSet) -> None:
        """Raise ``RulesError`` if the policy was trained for other rules; names do not matter."""
        if rules is self._checked:
            return
        from tressette_agents.policy_file import rule_differences

        trained = self.policy.rules
        differences = rule_differences(trained, rules, self.policy.layout.episode)
        if differences:
            raise RulesError(
                f"{self.spec} was trained for {trained.name!r} and cannot play {rules.name!r}: "
                + "; ".join(differences)
            )
        self._checked = rules

    def act_batch(
        self, views: npt.NDArray[np.void], rules: RuleSet, seeds: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.int64]:
        """See ``BatchPolicy.act_batch``."""
        self.check_rules(rules)
        cards = np.empty(len(views), np.int64)
        for start in range(0, len(views), _CHUNK):
            part = slice(start, start + _CHUNK)
            cards[part] = self._act(views[part], rules, seeds[part])
        return cards

    def _act(
        self, views: npt.NDArray[np.void], rules: RuleSet, seeds: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.int64]:
        from tressette_agents.sampling import draw_cards
        from tressette_env import kernels_random
        from tressette_env.batch_views import masks_of

        logits = self._logits(views, rules)
        if not self.sample:
            legal = masks_of(views["legal"])
            return np.asarray(np.where(legal, logits, -np.inf).argmax(1), np.int64)
        words = np.empty(len(seeds), np.int64)
        kernels_random.random_words(np.ascontiguousarray(seeds, np.int64), 0, words)
        return draw_cards(logits, np.ascontiguousarray(views["legal"]), words / 2.0**63)[0]

    def probabilities(
        self, views: npt.NDArray[np.void], rules: RuleSet
    ) -> npt.NDArray[np.float64] | None:
        """Return the policy's probabilities, or 1 for the most probable card without sampling."""
        if not self.sample:
            return super().probabilities(views, rules)
        from tressette_env.batch_views import masks_of

        self.check_rules(rules)
        weights = np.empty((len(views), rules.num_actions))
        for start in range(0, len(views), _CHUNK):
            part = slice(start, start + _CHUNK)
            logits = np.where(
                masks_of(views["legal"][part]), self._logits(views[part], rules), -np.inf
            )
            weights[part] = np.exp(logits - logits.max(1, keepdims=True))
        weights /= weights.sum(1, keepdims=True)
        return weights

    def _logits(self, views: npt.NDArray[np.void], rules: RuleSet) -> npt.NDArray[np.float64]:
        """Return what the network gives every card, legal or not."""
        import torch

        from tressette_env.batch_views import encode_views

        observations = encode_views(views, rules, self.policy.layout)
        with torch.inference_mode():
            logits = self._network(torch.from_numpy(observations).double())
        return np.asarray(logits.numpy(), np.float64)


def _truth(text: str) -> bool:
    if text not in ("true", "false"):
        raise ValueError(f"expected true or false, got {text!r}")
    return text == "true"


def _split(options: str) -> tuple[str, str]:
    """Split ``PATH,OPTIONS``: the longest path that exists, else up to the first comma."""
    path, rest = options, ""
    while not os.path.exists(path) and "," in path:
        path, _, option = path.rpartition(",")
        rest = f"{option},{rest}"
    return path, rest


def make(options: str) -> Agent:
    """Make the agent from ``PATH``, or ``champion``, with ``,sample=true`` or without.

    Returns
    -------
    LearnedAgent, EndingsAgent or ChampionAgent
        The second for a policy that leaves its endings to the solver.

    Raises
    ------
    AgentSpecError
        If there is no path, an option is unknown, or the policy has nothing to sample from.
    PolicyFileError
        If the file is missing, damaged, or made for other observations.
    """
    path, rest = _split(options)
    if not path:
        raise AgentSpecError(
            "agent 'learned': expected the path of a policy file or run folder, as in "
            "'learned:runs/quick', or 'learned:champion'"
        )
    known = parse_options("learned", rest, {"sample": _truth})
    if path == NAME:
        return ChampionAgent(agent_of_file, **known)
    spec = f"learned:{path}" + (",sample=true" if known.get("sample") else "")
    return agent_of_file(path, spec, **known)


def agent_of_file(path: str | Path, spec: str, sample: bool = False) -> Agent:
    """Make the agent of a policy file, whose endings are exact if it was trained that way.

    Raises
    ------
    PolicyFileError
        If the file is missing, damaged, or made for other observations.
    """
    from tressette_agents.endings import EndingsAgent
    from tressette_agents.policy_file import load_policy

    agent = LearnedAgent(load_policy(path), spec, sample)
    return EndingsAgent(agent, spec) if agent.policy.exact_endings else agent
