"""The training loop: collect, improve, log, keep. ``Trainer.train`` is its table of contents."""

from __future__ import annotations

import contextlib
import copy
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor

from tressette_agents.hand_head import HandSpec
from tressette_agents.history_trunk import history_parts
from tressette_agents.networks import ActorCritic, CriticSpec, NetworkSpec
from tressette_agents.policy_file import load_policy, save_policy
from tressette_agents.suit_trunk import suit_parts
from tressette_env.cards import NUM_CARDS
from tressette_env.errors import PolicyFileError
from tressette_env.observation import layout_for
from tressette_env.policies import Agent, as_agent
from tressette_env.rulesets import get_rules
from tressette_train import checkpoint as checkpoints
from tressette_train.checkpoint import Counters
from tressette_train.config import RolloutConfig, TrainConfig
from tressette_train.device import choose_device
from tressette_train.dmc import Dmc
from tressette_train.first_weights import take_first_weights
from tressette_train.learner import DivergedError, Learner, Stats
from tressette_train.metrics import MetricLog
from tressette_train.opponents import SELF, SNAPSHOTS, Group, OpponentPool
from tressette_train.parallel import ShardWorkers, choose_threads, stream_seed
from tressette_train.ppo import Ppo
from tressette_train.ranks import RankLostError, Ranks
from tressette_train.references import References
from tressette_train.rollout import Experience, Results, ShardRollout, hidden_set_count
from tressette_train.run_folder import RunFolder
from tressette_train.tensors import send

__all__ = ["Display", "Trainer", "make_learner", "make_network"]

# Purposes of random streams; rollout.py has 0 to 2.
_WEIGHTS, _SEATING, _ORDER, _TRIAL = range(10, 14)
_TRIAL_DECISIONS = 4096
_MEAN_MARGIN = "mean_margin_thirds"


class Display(Protocol):
    """What a trainer tells a person."""

    def message(self, text: str) -> None:
        """Show a line."""
        ...

    def begin(self, counters: Counters) -> None:
        """Start the clock; ``counters`` are those before the first update."""
        ...

    def progress(self, counters: Counters, config: TrainConfig, row: dict[str, float]) -> None:
        """Show how far training is, after an update; ``row`` is what was logged."""
        ...


@dataclass(frozen=True)
class _Silent:
    """A display that shows nothing."""

    def message(self, text: str) -> None:
        """Show nothing."""

    def begin(self, counters: Counters) -> None:
        """Show nothing."""

    def progress(self, counters: Counters, config: TrainConfig, row: dict[str, float]) -> None:
        """Show nothing."""


def make_network(config: TrainConfig) -> ActorCritic:
    """Return the network of a config with its first weights, decided by the seed.

    It is made on the processor, so that it is the same wherever it is trained.
    """
    rules = get_rules(config.rules)
    layout, kind = layout_for(rules, kind=config.network.observation), config.network.kind
    suits = suit_parts(layout) if kind == "suit_shared" else ()
    history = history_parts(layout) if kind == "history" else None
    spec = NetworkSpec(layout.size, tuple(config.network.hidden), kind, suits, history)
    hidden_inputs = NUM_CARDS * hidden_set_count(config, rules)
    critic = None
    if config.algorithm == "ppo":
        critic = CriticSpec(tuple(config.critic.hidden), hidden_inputs)
    hands = None
    if config.network.predicts_hands:
        hands = HandSpec(rules.seats - 1, layout["unseen"].start)
    generator = torch.Generator().manual_seed(stream_seed(config.seed, _WEIGHTS, 0, 0))
    return ActorCritic(
        spec, critic, generator, in_bfloat16=config.precision == "bfloat16", hands=hands
    )


def make_learner(config: TrainConfig, network: ActorCritic, ranks: Ranks | None = None) -> Learner:
    """Return what trains the network by the config's algorithm."""
    if config.algorithm == "dmc":
        return Dmc(network, config.dmc, ranks)
    return Ppo(network, config.ppo, ranks)


class Trainer:
    """One training run.

    Parameters
    ----------
    config : TrainConfig
    folder : RunFolder
        Made for this run, or opened to resume one.
    display : Display, optional
    ranks : Ranks, optional
        The processes that train together; all are given the same config and folder.

    Raises
    ------
    TressetteError
        If an opponent of the pool cannot be made, or does not play the rules, or the policy to
        start from is missing or does not fit.
    """

    def __init__(
        self,
        config: TrainConfig,
        folder: RunFolder,
        display: Display | None = None,
        ranks: Ranks | None = None,
    ) -> None:
        self.config = config
        self.ranks = ranks or Ranks()
        self.folder = folder
        self.display: Display = display or _Silent()
        self.rules = get_rules(config.rules)
        self.layout = layout_for(self.rules, kind=config.network.observation)
        self.pool = OpponentPool.for_rules(config.opponents, self.rules)
        self.device = choose_device(config.device, self.ranks)
        self.network = make_network(config)
        if config.start_from is not None and not folder.has_checkpoint:
            take_first_weights(self.network.policy, config)
        self.network.to(self.device)
        self.learner = make_learner(config, self.network, self.ranks)
        self.teacher = None if config.warm_start is None else as_agent(config.warm_start)
        if self.teacher is not None:
            self.teacher.check_rules(self.rules)
        self.shards = [
            ShardRollout(config, self.rules, shard, self.device)
            for shard in self.ranks.share(config.shards)
        ]
        self.references = References(config, self.rules, self.layout)
        self.counters = Counters()
        self._best_margin = float("-inf")
        self.stop_requested = False
        self._saved_update = -1

    def resume(self) -> None:
        """Go on from the newest whole checkpoint in the folder.

        A policy file that is lost, damaged or of another update is written again from it.

        Raises
        ------
        RunFolderError, PolicyFileError
            If there is none, or it does not fit the config.
        """
        with self._holding_folder():
            found = checkpoints.newest_checkpoint(self.folder.checkpoints, self.display.message)
            checkpoints.restore(
                found,
                self.network,
                self.learner.optimizer,
                self.learner.magnet,
                self.pool,
                self.rules,
                self.layout,
            )
            self.counters = found.counters
            self._best_margin = self._margin_of_best()
            if self.ranks.is_first and not self._policy_is_current():
                self._save_policy(self.folder.policy)
                self.display.message(
                    f"{self.folder.policy} was lost, damaged or of another update: written again "
                    f"from {found.path.name}"
                )
        self._saved_update = found.counters.update

    @property
    def _progress(self) -> float:
        """Share of the budget that is used up."""
        return self.config.used(self.counters.decisions, self.counters.seconds)

    @property
    def _teacher_now(self) -> Agent | None:
        """The agent of a warm start, while it lasts."""
        return self.teacher if self.counters.update < self.config.warm_start_updates else None

    @property
    def is_finished(self) -> bool:
        """Whether the budget is used up."""
        return self._progress >= 1

    def train(self) -> None:
        """Train until the budget is used up or ``stop_requested`` is set on any rank; then save.

        Raises
        ------
        RankLostError
            If another process of the training is gone; the last checkpoint is whole.
        RunFolderError
            If another process trains in the folder, or a file cannot be written; the last
            checkpoint is whole.
        AgentFailedError
            If an opponent raises, or plays a card that it may not.
        DivergedError
            If a gradient is not finite; the checkpoint from before that update is kept.
        """
        with self._holding_folder(), self.opened_log() as log:
            try:
                self._train(log)
            except RankLostError as error:
                raise RankLostError(
                    f"{error}; update {self._saved_update} in {self.folder.path} is kept: go on "
                    f"with torchrun and 'tressette train --resume {self.folder.path}'"
                ) from error

    def _train(self, log: MetricLog | None) -> None:
        with ShardWorkers(self._choose_threads()) as workers:
            self.save()
            self._warm_up(workers)
            self.display.begin(self.counters)
            while not self.is_finished and not self.ranks.any(self.stop_requested):
                self.run_update(workers, log)
                self.learner.end_update(self.counters.update)
                if self._is_due(self.config.opponents.snapshot_every):
                    self.pool.add_snapshot(self.network.policy, self.counters.update)
                if self._is_due(self.config.checkpoint.every):
                    self.save()
        self.save()

    @contextlib.contextmanager
    def _holding_folder(self) -> Iterator[None]:
        """Keep other trainings out of the folder; the first rank does that for all."""
        if not self.ranks.is_first:
            yield
            return
        with self.folder.locked():
            self.folder.remove_leftovers()
            yield

    def run_update(self, workers: ShardWorkers, log: MetricLog | None) -> None:
        """Collect experience, improve the networks with it, count, measure and log that."""
        started = time.perf_counter()
        groups = self._seat_opponents()
        experiences = self._collect(workers, groups)
        stats = self._improve(workers, experiences)
        # The first rank's clock counts: all must agree on how much time is left.
        seconds = self.ranks.from_first(time.perf_counter() - started)
        played = self.ranks.gather_values(
            [(len(shard.rows), len(shard.cards), shard.results) for shard in experiences]
        )
        results = Results()
        for _, _, of_shard in played:
            results.merge(of_shard)
        if self._teacher_now is None:  # else who won is not the learner's doing
            self.pool.record(results.deals, results.wins)
        targets = torch.cat(
            self.ranks.gather([(one.advantages + one.values)[one.rows] for one in experiences])
        )
        decisions, plays = (
            sum(counts) for counts in zip(*(shard[:2] for shard in played), strict=True)
        )
        self.counters.update += 1
        self.counters.decisions += decisions
        self.counters.plays += plays
        self.counters.seconds += seconds
        measured = {}
        if self.is_finished or self.references.are_due(self.counters.update):
            measured = self._measure()
        speeds = (plays / seconds, decisions / seconds)
        self._log(log, results, targets, stats, measured, speeds)

    def _measure(self) -> dict[str, float]:
        """Measure the policy against the references; keep it if it is the best so far."""
        if not self.references.agents or not self.ranks.is_first:
            return {}
        row: dict[str, float] = {}
        margins = []
        for result in self.references.measure(self.network.policy):
            margin = result.margin_thirds
            margins.append(margin.mean)
            row[f"reference_margin_thirds/{result.opponent}"] = margin.mean
            row[f"reference_half_width/{result.opponent}"] = (margin.high - margin.low) / 2
        mean = sum(margins) / len(margins)
        if mean > self._best_margin:
            self._best_margin = mean
            self._save_policy(self.folder.best_policy, {_MEAN_MARGIN: mean, "margins": row})
        return row

    def _margin_of_best(self) -> float:
        """Return the mean margin of the best policy so far, that of a lost one not known."""
        try:
            training = load_policy(self.folder.best_policy).training
            if training["config"]["evaluation"] != self.config.evaluation.model_dump(mode="json"):
                return float("-inf")  # measured otherwise, not to be compared
            return float(training["evaluation"][_MEAN_MARGIN])
        except (PolicyFileError, KeyError, TypeError, ValueError):
            return float("-inf")

    def _is_due(self, every: int) -> bool:
        return self.counters.update % every == 0

    @contextlib.contextmanager
    def opened_log(self) -> Iterator[MetricLog | None]:
        """Open the run's metrics, to be closed at the end of the block; the first rank has them."""
        if not self.ranks.is_first:
            yield None
            return
        with self.folder.writing("the metrics"):
            log = MetricLog(self.folder.path, self.counters.update, self.display.message)
        try:
            yield log
        finally:
            with self.folder.writing("the metrics"):
                log.close()

    def save(self) -> None:
        """Write a checkpoint and the policy file, unless those of this update are there.

        Raises
        ------
        RunFolderError
            If they cannot be written.
        """
        if self._saved_update == self.counters.update:
            return
        if not self.ranks.is_first:
            self._saved_update = self.counters.update
            return
        with self.folder.writing("a checkpoint"):
            checkpoints.save_checkpoint(
                self.folder.checkpoints,
                self.config,
                self.network,
                self.learner.optimizer,
                self.learner.magnet,
                self.pool,
                self.counters,
                self.rules,
                self.layout,
            )
        self._save_policy(self.folder.policy)
        self._saved_update = self.counters.update

    def _save_policy(self, path: Path, evaluation: dict[str, Any] | None = None) -> None:
        training: dict[str, Any] = {
            "updates": self.counters.update,
            "decisions": self.counters.decisions,
            "plays": self.counters.plays,
            "config": self.config.model_dump(mode="json"),
        }
        if evaluation is not None:
            training["evaluation"] = evaluation
        with self.folder.writing("the policy"):
            save_policy(
                path,
                self.network.policy,
                self.rules,
                self.layout,
                training,
                exact_endings=self.config.rollout.exact_endings,
                outputs=self.learner.outputs,
            )

    def _policy_is_current(self) -> bool:
        """Whether the policy file is whole and of this update."""
        try:
            training = load_policy(self.folder.policy).training
        except PolicyFileError:
            return False
        return training.get("updates") == self.counters.update

    def _warm_up(self, workers: ShardWorkers) -> None:
        """Run everything that an update runs, small, on objects of its own.

        What is compiled or loaded at its first use then takes no time of the first update.
        """
        self.display.message("warming up (the first run on a machine compiles for some seconds)")
        groups = [Group(SELF, slice(0, 2))]
        for spec, agent in self.pool.agents.items():
            start = groups[-1].tables.stop
            groups.append(Group(spec, slice(start, start + 2), agent))
        tables = RolloutConfig(tables=groups[-1].tables.stop)
        config = self.config.model_copy(update={"shards": 1, "rollout": tables})
        network = copy.deepcopy(self.network)
        learner = make_learner(config, network)
        rollout = ShardRollout(config, self.rules, 0, self.device)
        experience = rollout.collect(network, groups, 0, learner.choose(0.0))
        with contextlib.suppress(DivergedError):  # the first update then says so
            learner.update([experience], workers, 0.0, [0])

    def _choose_threads(self) -> int:
        """Return the number of threads: the config's, or the quickest in a short measurement."""
        fixed = self.config.torch_threads
        if isinstance(fixed, int):
            return min(fixed, len(self.shards))
        threads, seconds = choose_threads(len(self.shards), self._trial())
        times = ", ".join(f"{count}: {time_ * 1000:.0f} ms" for count, time_ in seconds.items())
        self.display.message(
            f"threads: {threads} (measured for a piece of an update: {times}; "
            "torch_threads fixes the number, results do not depend on it)"
        )
        return threads

    def _trial(self) -> Callable[[ShardWorkers], None]:
        """Return a piece of real work for all shards; it changes nothing."""
        generator = torch.Generator().manual_seed(stream_seed(self.config.seed, _TRIAL, 0, 0))
        shape = (_TRIAL_DECISIONS, self.layout.size)
        observations = send(
            torch.randint(0, 2, shape, generator=generator, dtype=torch.int8), self.device
        )
        policy, parameters = self.network.policy, list(self.network.policy.parameters())

        def piece(_: int) -> None:
            loss = policy(observations.float()).square().mean()
            torch.autograd.grad(loss, parameters)[0].cpu()  # a GPU is waited for

        def trial(workers: ShardWorkers) -> None:
            workers.map(piece, range(len(self.shards)))

        return trial

    def _seat_opponents(self) -> list[list[Group]]:
        """Return the groups of each shard."""
        update = self.counters.update
        seeds = [stream_seed(self.config.seed, _SEATING, update, one.shard) for one in self.shards]
        return [
            self.pool.seat(shard.num_tables, seed)
            for shard, seed in zip(self.shards, seeds, strict=True)
        ]

    def _collect(self, workers: ShardWorkers, groups: list[list[Group]]) -> list[Experience]:
        self.network.eval()
        update, choose = self.counters.update, self.learner.choose(self._progress)

        def collect(part: tuple[ShardRollout, list[Group]]) -> Experience:
            shard, seated = part
            return shard.collect(self.network, seated, update, choose, self._teacher_now)

        return workers.map(collect, zip(self.shards, groups, strict=True))

    def _improve(self, workers: ShardWorkers, experiences: list[Experience]) -> Stats:
        self.network.train()
        update = self.counters.update
        seeds = [stream_seed(self.config.seed, _ORDER, update, one.shard) for one in self.shards]
        try:
            return self.learner.update(
                experiences,
                workers,
                self._progress,
                seeds,
                imitates=self._teacher_now is not None,
            )
        except DivergedError as error:
            raise DivergedError(
                f"training stopped in update {update + 1}: {error}; the policy and checkpoint of "
                f"update {self._saved_update} in {self.folder.path} are kept"
            ) from None

    def _opponent_names(self) -> dict[str, str]:
        """Return what metrics call each agent of the pool; exact endings are played for it."""
        ending = "+endings" if self.config.rollout.exact_endings else ""
        return {spec: spec if spec.endswith(ending) else spec + ending for spec in self.pool.agents}

    def _log(
        self,
        log: MetricLog | None,
        results: Results,
        targets: Tensor,
        stats: Stats,
        measured: dict[str, float],
        speeds: tuple[float, float],
    ) -> None:
        if log is None:
            return
        row: dict[str, float] = {
            "update": self.counters.update - 1,
            "decisions": self.counters.decisions,
            "seconds": round(self.counters.seconds, 3),
            **_outcomes(results, self._opponent_names()),
            **measured,
            "returns/mean": float(targets.mean()),
            "returns/std": float(targets.std()),
            **stats.metrics(),
            "speed/plays_per_second": speeds[0],
            "speed/decisions_per_second": speeds[1],
        }
        with self.folder.writing("the metrics"):
            log.write(row)
        self.display.progress(self.counters, self.config, row)


def _outcomes(results: Results, names: dict[str, str]) -> dict[str, float]:
    """Return margin and win rate against each opponent, all snapshots together as one."""
    sums: dict[str, list[float]] = {}
    for group, deals in results.deals.items():
        if group == SELF or not deals:
            continue
        opponent = names.get(group, SNAPSHOTS)
        margin, wins = results.margin_thirds[group], results.wins[group]
        before = sums.get(opponent, [0.0, 0.0, 0.0])
        sums[opponent] = [a + b for a, b in zip(before, (deals, margin, wins), strict=True)]
    row: dict[str, float] = {}
    for opponent, (deals, margin, wins) in sums.items():
        row[f"margin_thirds/{opponent}"] = margin / deals
        row[f"win_rate/{opponent}"] = wins / deals
    return row
