"""What an opponent wins who has learned nothing but to beat one agent: a lower bound.

The learner of ``trainer`` plays all its deals against the frozen agent, an approximate best
response to it. What it then wins on fresh deals, nobody's best response can win less than: the
agent's exploitability is at least that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tressette_agents.endings import plays_endings_exactly
from tressette_agents.learned import agent_of_file
from tressette_env.errors import OptionError
from tressette_env.policies import Agent, as_agent
from tressette_env.rulesets import get_rules
from tressette_train.config import TrainConfig, can_end_exactly
from tressette_train.config_file import config_from_json
from tressette_train.evaluate import PairingResult, check_deals, check_rules, evaluate
from tressette_train.first_weights import policy_to_start_from

__all__ = ["Attack", "attack_config", "attacked_agent", "measure"]

# Those of configs/quick.yaml, but that entropy falls further: a best response need not be mixed.
_SETTINGS: dict[str, Any] = {
    "rollout": {"tables": 2048},
    "network": {"kind": "mlp", "hidden": [256, 256]},
    "critic": {"hidden": [256, 256], "sees": "hands_and_stock"},
    "ppo": {
        "learning_rate": 3e-3,
        "learning_rate_final": 0.05,
        "epochs": 2,
        "minibatch": 8192,
        "entropy": 0.05,
        "entropy_final": 0.1,
    },
}
_LEARNING_RATE_OF_A_COPY = 1e-3  # more would undo what a policy knows before its critic has learned


@dataclass(frozen=True)
class Attack:
    """What came of an attack.

    Attributes
    ----------
    result : PairingResult
        The learned response against the agent.
    """

    result: PairingResult

    @property
    def is_found(self) -> bool:
        """Whether the response wins beyond doubt: the whole 95 % interval is above 0."""
        return self.result.margin_thirds.low > 0

    @property
    def lower_bound_thirds(self) -> float:
        """Thirds a deal that the agent's exploitability is at least: the interval's low end, or 0.

        Every agent's is at least 0, for its own copy wins that from it.
        """
        return max(self.result.margin_thirds.low, 0.0)

    @property
    def verdict(self) -> str:
        """The bound in a line."""
        margin = self.result.margin_thirds
        figures = (
            f"margin {margin.mean:+.2f}, 95 % interval {margin.low:+.2f} to {margin.high:+.2f}"
        )
        bound = f"at least {self.lower_bound_thirds:.2f} thirds a deal"
        if self.is_found:
            return f"lower bound on exploitability: {bound} ({figures})"
        return f"no exploit found; lower bound on exploitability: {bound} ({figures})"

    def to_json(self) -> dict[str, Any]:
        """Return the bound and what it rests on as plain numbers and text."""
        return {
            "agent": self.result.opponent,
            "rules": self.result.rules,
            "lower_bound_thirds": self.lower_bound_thirds,
            "is_found": self.is_found,
            "margin_thirds": self.result.margin_thirds.mean,
            "ci95": self.result.margin_thirds.ends,
            "deals": self.result.deals,
            "seed": self.result.seed,
            "result": self.result.to_json(),
        }


def attack_config(
    agent: str,
    rules: str = "playmore",
    *,
    minutes: float | None = None,
    decisions: int | None = None,
    seed: int = 0,
    deals: int = 2000,
    deals_seed: int = 1,
    start_from: str | None = None,
) -> TrainConfig:
    """Return the config of a run that plays nobody but the agent.

    Deals are cut at the empty stock only if the agent is known to play what follows exactly: there
    a best response wins what the solver says, and no more. Against any other agent they are played
    to their end, for its endings may be what it can be beaten by.

    Parameters
    ----------
    agent : str
        Spec.
    rules : str
        Preset.
    minutes, decisions
        The budget; at least one.
    seed : int
        Of the training.
    deals, deals_seed : int
        For the measurement after it (``benchmark``): shuffles, and their own seed.
    start_from : str, optional
        Policy file, run folder or ``champion``, whose policy the learner starts as.

    Raises
    ------
    TressetteError
        If the agent does not exist, does not play the rules, or cheats; if a setting is out of
        range, or the policy to start from is missing or cannot be trained on.
    """
    house = get_rules(rules)
    check_deals(deals, "--deals")
    frozen = as_agent(agent)
    check_rules(frozen, house)
    is_exact = can_end_exactly(house) and plays_endings_exactly(frozen, house)
    settings: dict[str, Any] = {name: dict(section) for name, section in _SETTINGS.items()}
    settings["rollout"]["exact_endings"] = is_exact
    if start_from is not None:
        policy = policy_to_start_from(start_from, house)
        spec = policy.network.spec
        settings["network"] = {"kind": spec.kind, "hidden": list(spec.hidden)}
        if spec.kind != "history":
            settings["network"]["sees"] = policy.layout.kind
        settings["ppo"]["learning_rate"] = _LEARNING_RATE_OF_A_COPY
    settings |= {
        "rules": house.name,
        "seed": seed,
        "decisions": decisions,
        "minutes": None if minutes is None else float(minutes),
        "start_from": start_from,
        "opponents": {"share": 1.0, "agents": {agent: 1.0}, "snapshots": 0.0},
        "benchmark": {"agents": [agent], "deals": deals, "seed": deals_seed},
    }
    return config_from_json(settings, "attack")


def attacked_agent(config: TrainConfig, where: str) -> str:
    """Return the spec of the agent that a run plays alone.

    Raises
    ------
    OptionError
        If it plays others, or itself; the message begins with ``where``.
    """
    opponents = config.opponents
    agents = [spec for spec, weight in opponents.agents.items() if weight > 0]
    if opponents.share < 1 or opponents.snapshots > 0 or len(agents) != 1:
        raise OptionError(
            f"{where}: expected a run that 'tressette attack' has made, against one agent; for "
            "others: tressette train --resume"
        )
    return agents[0]


def measure(
    run: Path,
    agent: Agent,
    rules: str,
    deals: int,
    seed: int,
    on_progress: Callable[[int], None] | None = None,
) -> Attack:
    """Play a run's policy, the most probable card each time, against the agent.

    Parameters
    ----------
    run : Path
    agent : Agent
        As it was in training.
    rules : str
    deals, seed : int
        Not those of the training, whose decks are drawn by other streams.
    on_progress : callable, optional
        As for ``evaluate``.

    Raises
    ------
    TressetteError
        As ``evaluate``.
    """
    # Not by its spec: a "+" in the folder's name would be read as an addition to the agent.
    response = agent_of_file(str(run), f"learned:{run}")
    (result,) = evaluate([response, agent], rules, deals, seed, on_progress=on_progress)
    return Attack(result)
