"""``learned:champion``: the policies that come with the kit, each house's own.

A policy is one file in this folder, ``HOUSE.safetensors``, and its model card,
``docs/champions.md``, says how it was made and how strong it is.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tressette_env.errors import RulesError
from tressette_env.policies import Agent
from tressette_env.rulesets import PRESETS, RuleSet

__all__ = ["NAME", "ChampionAgent", "champion_file", "champion_files"]

NAME = "champion"


def champion_files() -> dict[str, Path]:
    """Return the policy files that come with the kit, by the house each was trained for."""
    files = sorted(Path(__file__).parent.glob("*.safetensors"))
    return {file.stem: file for file in files if file.stem in PRESETS}


def champion_file(rules: RuleSet) -> Path | None:
    """Return the policy file that was trained for rules like these; names do not matter."""
    from tressette_agents.policy_file import rule_differences

    for house, file in champion_files().items():
        if not rule_differences(PRESETS[house], rules, "deal"):
            return file
    return None


class ChampionAgent(Agent):
    """Plays each house with the policy that was trained for it.

    Parameters
    ----------
    load : callable
        Makes the agent of a policy file, given its path, the spec and ``sample``.
    sample : bool
        Whether to draw cards with the policy's probabilities, instead of the most probable one.
    """

    def __init__(self, load: Callable[[Path, str, bool], Agent], sample: bool = False) -> None:
        self._load = load
        self.spec = f"learned:{NAME}" + (",sample=true" if sample else "")
        self.ignores_seed = not sample
        self.sample = sample
        self._agents: dict[RuleSet, Agent] = {}

    def agent_for(self, rules: RuleSet) -> Agent:
        """Return the agent of a house, read when it is first asked for.

        Raises
        ------
        RulesError
            If no policy was trained for rules like these.
        """
        if rules not in self._agents:
            file = champion_file(rules)
            if file is None:
                raise RulesError(
                    f"agent {self.spec!r} does not play {rules.name!r}: champions come for "
                    f"{', '.join(champion_files())}; train one for this house: tressette train "
                    f"configs/champion.yaml --set rules={rules.name}"
                )
            self._agents[rules] = self._load(file, self.spec, self.sample)
        return self._agents[rules]

    def check_rules(self, rules: RuleSet) -> None:
        """Raise ``RulesError`` if no policy was trained for these rules; names do not matter."""
        self.agent_for(rules).check_rules(rules)

    def act_batch(
        self, views: npt.NDArray[np.void], rules: RuleSet, seeds: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.int64]:
        """See ``BatchPolicy.act_batch``."""
        return self.agent_for(rules).act_batch(views, rules, seeds)

    def probabilities(
        self, views: npt.NDArray[np.void], rules: RuleSet
    ) -> npt.NDArray[np.float64] | None:
        """Return the probabilities of the house's policy."""
        return self.agent_for(rules).probabilities(views, rules)
