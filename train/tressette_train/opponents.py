"""The pool of opponents: named agents and earlier snapshots of the learner.

A snapshot owns its weights: training on leaves it as it was. The harder a snapshot is to beat, the
more often it plays: prioritized fictitious self-play, O. Vinyals and others, "Grandmaster level in
StarCraft II using multi-agent reinforcement learning", Nature 575 (2019).
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from tressette_agents.networks import PolicyNetwork
from tressette_env.policies import Agent, as_agent
from tressette_env.rulesets import RuleSet
from tressette_train.config import OpponentsConfig

__all__ = ["SELF", "SNAPSHOTS", "Group", "OpponentPool", "Snapshot"]

SELF = "self"
SNAPSHOTS = "snapshots"
_SNAPSHOTS_AT_ONCE = 2  # snapshots that play in one shard and update; each costs a forward a ply
_REMEMBERED = 0.9  # how much the deals so far weigh when newer ones come
_PRIOR_DEALS = 2.0  # every snapshot starts with as many, half of them won


@dataclass
class Snapshot:
    """The learner as it was.

    Attributes
    ----------
    update : int
        Updates made when it was taken.
    network : PolicyNetwork
        Its own weights, never trained.
    deals, wins : float
        Deals that the learner played against it and won, a tie as a half; the older, the less.
    """

    update: int
    network: PolicyNetwork
    deals: float = 0.0
    wins: float = 0.0

    @property
    def name(self) -> str:
        """What groups of tables against it are called."""
        return f"{SNAPSHOTS} {self.update}"

    @property
    def hardness(self) -> float:
        """Weight among the snapshots: the square of the share of deals that the learner loses."""
        losses = self.deals - self.wins + _PRIOR_DEALS / 2
        return float((losses / (self.deals + _PRIOR_DEALS)) ** 2)


@dataclass(frozen=True)
class Group:
    """Adjacent tables with the same opponent.

    Attributes
    ----------
    name : str
        "self", "snapshots" and the snapshot's update, or an agent's spec.
    tables : slice
    opponent : Agent or Snapshot, optional
        None: the learner plays every seat.
    """

    name: str
    tables: slice
    opponent: Agent | Snapshot | None = None


@dataclass
class OpponentPool:
    """Who the learner plays against.

    Attributes
    ----------
    config : OpponentsConfig
    agents : dict
        Agents by spec, those with a weight.
    snapshots : list of Snapshot
        Oldest first.
    """

    config: OpponentsConfig
    agents: dict[str, Agent]
    snapshots: list[Snapshot] = field(default_factory=list)

    @classmethod
    def for_rules(cls, config: OpponentsConfig, rules: RuleSet) -> OpponentPool:
        """Make the pool's agents.

        Raises
        ------
        AgentSpecError, PolicyFileError, RulesError
            If an agent cannot be made, or does not play the rules.
        """
        agents = {}
        if config.share > 0:
            for spec, weight in config.agents.items():
                if weight > 0:
                    agents[spec] = as_agent(spec)
                    agents[spec].check_rules(rules)
        return cls(config, agents)

    @property
    def names(self) -> list[str]:
        """Names of the groups that play against the learner, for metrics."""
        if self.config.share == 0:
            return []
        return [*self.agents, *([SNAPSHOTS] if self.config.snapshots > 0 else [])]

    def add_snapshot(self, network: PolicyNetwork, update: int) -> None:
        """Keep a copy of the learner as it is now; beyond ``config.keep`` the oldest one goes."""
        frozen = copy.deepcopy(network).eval().requires_grad_(False)
        self.snapshots = [*self.snapshots, Snapshot(update, frozen)][-self.config.keep :]

    def record(self, deals: dict[str, float], wins: dict[str, float]) -> None:
        """Count the deals of an update against each snapshot, by the names of their groups."""
        for snapshot in self.snapshots:
            if snapshot.name in deals:
                snapshot.deals = snapshot.deals * _REMEMBERED + deals[snapshot.name]
                snapshot.wins = snapshot.wins * _REMEMBERED + wins[snapshot.name]

    def _snapshot_chances(self) -> npt.NDArray[np.float64]:
        """Return the probability of each snapshot to be drawn, float64[snapshots]."""
        if self.config.snapshot_choice == "uniform":
            weights = np.ones(len(self.snapshots))
        else:
            weights = np.array([snapshot.hardness for snapshot in self.snapshots])
        chances: npt.NDArray[np.float64] = weights / weights.sum()
        return chances

    def seat(self, num_tables: int, seed: int) -> list[Group]:
        """Give every table an opponent.

        Parameters
        ----------
        num_tables : int
            Tables of the shard.
        seed : int
            Draws which snapshots play.

        Returns
        -------
        list of Group
            From table 0 on: the learner alone first, then each opponent by its weight.
        """
        entries: list[tuple[str, Agent | Snapshot, float]] = [
            (spec, agent, self.config.agents[spec]) for spec, agent in self.agents.items()
        ]
        if self.snapshots and self.config.snapshots > 0:
            count = min(_SNAPSHOTS_AT_ONCE, len(self.snapshots))
            rng = np.random.default_rng(seed)
            drawn = rng.choice(len(self.snapshots), count, False, self._snapshot_chances())
            for index in sorted(drawn.tolist()):
                snapshot = self.snapshots[index]
                entries.append((snapshot.name, snapshot, self.config.snapshots / count))
        against = round(self.config.share * num_tables) if entries else 0
        groups = [Group(SELF, slice(0, num_tables - against))]
        # Cumulative rounding: the sizes add up, and each is within one table of its share.
        total = sum(weight for _, _, weight in entries) or 1.0
        sum_before, start = 0.0, num_tables - against
        for name, opponent, weight in entries:
            sum_before += weight
            end = num_tables - against + round(against * sum_before / total)
            groups.append(Group(name, slice(start, end), opponent))
            start = end
        return [group for group in groups if group.tables.stop > group.tables.start]
