"""The training loop: it learns, the seed decides everything, and nothing is lost when it stops."""

from __future__ import annotations

import json
import math
import time
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import torch

from tressette_agents.policy_file import load_policy
from tressette_env import BatchTable, RuleSet, get_rules
from tressette_env.errors import RunFolderError, TressetteError
from tressette_env.policies import Agent
from tressette_train.charts import draw_learning_curve, learning_figure
from tressette_train.checkpoint import Counters
from tressette_train.config import TrainConfig
from tressette_train.config_file import read_config
from tressette_train.evaluate import evaluate
from tressette_train.learner import DivergedError
from tressette_train.metrics import METRICS, MetricLog, glossary, read_metrics
from tressette_train.opponents import Group, OpponentPool
from tressette_train.parallel import ShardWorkers, choose_threads, stream_seed
from tressette_train.ppo import Ppo, UpdateStats
from tressette_train.rollout import Experience, ShardRollout
from tressette_train.run_folder import RunFolder
from tressette_train.trainer import Trainer

ROOT = Path(__file__).parent.parent
PER_UPDATE = 1536  # decisions of an update of the smoke config


def smoke(*overrides: str) -> TrainConfig:
    return read_config(ROOT / "configs" / "smoke.yaml", ["torch_threads=1", *overrides])


def small(updates: int, *overrides: str) -> TrainConfig:
    common = ["network.hidden=[16]", "opponents.snapshot_every=2", "checkpoint.every=2"]
    return smoke(f"decisions={updates * PER_UPDATE}", *common, *overrides)


def run(path: Path, config: TrainConfig) -> Trainer:
    trainer = Trainer(config, RunFolder.create(path, config))
    trainer.train()
    return trainer


def same(one: Path, other: Path) -> bool:
    """Whether two runs' newest checkpoints hold the same tensors, bit for bit."""
    from safetensors.torch import load_file

    newest = [load_file(max((path / "checkpoints").iterdir())) for path in (one, other)]
    assert newest[0].keys() == newest[1].keys()
    return all(torch.equal(value, newest[1][name]) for name, value in newest[0].items())


class StopAfter:
    """A display that asks the trainer to stop, as Ctrl-C does."""

    def __init__(self, update: int) -> None:
        self.update = update
        self.trainer: Trainer | None = None

    def message(self, text: str) -> None:
        pass

    def begin(self, counters: Counters) -> None:
        pass

    def progress(self, counters: Counters, config: TrainConfig, row: dict[str, float]) -> None:
        if counters.update == self.update and self.trainer:
            self.trainer.stop_requested = True


# Learning


def test_the_smoke_config_learns(tmp_path: Path) -> None:
    config = smoke()
    trainer = run(tmp_path / "run", config)
    assert trainer.counters.decisions >= config.decisions
    policy = f"learned:{tmp_path / 'run'}"
    (against_random,) = evaluate([policy, "random"], config.rules, 500, seed=1)
    assert against_random.margin_thirds.low > 0.25
    untrained = tmp_path / "untrained"
    untrained.mkdir()
    none = Trainer(config, RunFolder(untrained))
    (untrained / "checkpoints").mkdir()
    none.save()
    (learned,) = evaluate([policy, f"learned:{untrained}"], config.rules, 500, seed=1)
    assert learned.margin_thirds.low > 0.15


# One seed, one result


def test_the_seed_decides_everything_and_threads_nothing(tmp_path: Path) -> None:
    run(tmp_path / "a", small(4))
    run(tmp_path / "b", small(4))
    run(tmp_path / "threads", small(4, "torch_threads=2"))
    run(tmp_path / "auto", small(4, "torch_threads=auto"))
    run(tmp_path / "seed", small(4, "seed=8"))
    assert same(tmp_path / "a", tmp_path / "b")
    assert same(tmp_path / "a", tmp_path / "threads")
    assert same(tmp_path / "a", tmp_path / "auto")
    assert not same(tmp_path / "a", tmp_path / "seed")


@pytest.mark.parametrize(
    ("stop", "settings"),
    [
        (1, ["critic.hidden=[8]", "critic.sees=hands"]),
        (3, ["critic.hidden=[8]", "critic.sees=hands"]),
        (4, ["critic.hidden=[8]", "critic.sees=hands"]),
        (3, ["network.predicts_hands=true"]),
    ],
)
def test_a_stopped_run_goes_on_exactly(tmp_path: Path, stop: int, settings: list[str]) -> None:
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    config = small(6, *settings)
    run(whole, config)
    display = StopAfter(stop)
    trainer = Trainer(config, RunFolder.create(parts, config), display)
    display.trainer = trainer
    trainer.train()
    assert trainer.counters.update == stop and not trainer.is_finished
    again = Trainer(config, RunFolder.open(parts))
    again.resume()
    again.train()
    assert same(whole, parts)
    timeless = [
        [{k: v for k, v in row.items() if k != "seconds" and "speed" not in k} for row in rows]
        for rows in (read_metrics(whole), read_metrics(parts))
    ]
    assert timeless[0] == timeless[1]
    assert [row["update"] for row in timeless[0]] == list(range(6))


def test_rows_after_the_checkpoint_are_dropped_when_a_killed_run_goes_on(tmp_path: Path) -> None:
    config = small(3)
    run(tmp_path / "run", config)
    newest = tmp_path / "run" / "checkpoints" / "00000003.safetensors"
    newest.unlink()  # as if killed between the update and its checkpoint
    with (tmp_path / "run" / "metrics.jsonl").open("a") as file:
        file.write('{"update": 3, "deci')
    again = Trainer(config, RunFolder.open(tmp_path / "run"))
    again.resume()
    assert again.counters.update == 2
    again.train()
    assert [row["update"] for row in read_metrics(tmp_path / "run")] == [0, 1, 2]


def test_every_update_has_deals_seats_dice_and_an_order_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: dict[str, list[Any]] = {"deals": [], "dice": [], "seats": [], "order": []}
    collect, update, seat = ShardRollout.collect, Ppo.update, OpponentPool.seat

    class Dice(Agent):
        def act_batch(self, views: Any, rules: RuleSet, seeds: Any) -> Any:
            drawn["dice"] += seeds.tolist()
            return np.log2(views["legal"] & -views["legal"]).astype(np.int64)

    def collected(self: ShardRollout, *arguments: Any) -> Experience:
        found = collect(self, *arguments)
        drawn["deals"] += [row.tobytes() for row in self.observations[0]]
        return found

    def updated(self: Ppo, *arguments: Any, **options: bool) -> UpdateStats:
        drawn["order"] += arguments[-1]
        return update(self, *arguments, **options)

    def seated(self: OpponentPool, num_tables: int, seed: int) -> list[Group]:
        drawn["seats"].append(seed)
        return seat(self, num_tables, seed)

    monkeypatch.setattr(ShardRollout, "collect", collected)
    monkeypatch.setattr(Ppo, "update", updated)
    monkeypatch.setattr(OpponentPool, "seat", seated)
    # A whole deck: few openings look the same by chance.
    config = small(3, "rules=playmore", "decisions=1600", "rollout.tables=16")
    trainer = Trainer(config, RunFolder.create(tmp_path / "run", config))
    trainer.pool.agents["greedy"] = Dice()
    monkeypatch.setattr(trainer, "_warm_up", lambda workers: None)
    trainer.train()
    assert trainer.counters.update == 4
    assert {name: len(values) for name, values in drawn.items() if name != "dice"} == {
        "deals": 4 * 16,
        "order": 4 * 2,
        "seats": 4 * 2,
    }
    assert len(drawn["dice"]) > 4 * 20
    for name, values in drawn.items():
        assert len(set(values)) == len(values), name


def test_streams_of_random_numbers_are_all_different() -> None:
    seeds = {
        stream_seed(seed, purpose, update, shard)
        for seed in range(3)
        for purpose in range(5)
        for update in range(5)
        for shard in range(3)
    }
    assert len(seeds) == 3 * 5 * 5 * 3
    assert stream_seed(7, 1, 2, 3) == stream_seed(7, 1, 2, 3)


def test_training_and_benchmark_play_different_deals(tmp_path: Path) -> None:
    trainer = Trainer(small(1), RunFolder(tmp_path))
    seeds = {shard.deal_seed for shard in trainer.shards}
    assert len(seeds) == 2 and trainer.config.benchmark.seed not in seeds
    assert trainer.config.seed not in seeds


# What is kept


def test_metrics_are_those_of_the_table(tmp_path: Path) -> None:
    settings = ["evaluation.every=3", "evaluation.agents=[random]", "evaluation.deals=10"]
    trainer = run(tmp_path / "run", small(3, *settings, "network.predicts_hands=true"))
    rows = read_metrics(tmp_path / "run")
    opponents = trainer.pool.names
    assert opponents == ["greedy", "random", "snapshots"]
    expected = {
        metric.tag.replace("{opponent}", name)
        for metric in METRICS
        for name in (["random"] if metric.tag.startswith("reference_") else opponents)
        if not metric.formula.startswith("dmc: ")
    }
    assert set(rows[-1]) - {"update", "decisions", "seconds"} == expected
    assert all(math.isfinite(value) for row in rows for value in row.values())
    rates = [row["optimiser/learning_rate"] for row in rows]
    first = trainer.config.ppo.learning_rate  # falls to a tenth over the budget
    assert rates == pytest.approx([first, 0.7 * first, 0.4 * first])
    assert [row["decisions"] for row in rows] == [PER_UPDATE, 2 * PER_UPDATE, 3 * PER_UPDATE]


class Experiences:
    """What the rollouts of each update gave, and the row that was logged for it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.shards: list[dict[str, Any]] = []
        self.rows: list[dict[str, float]] = []
        self.counters: list[Counters] = []
        collect = ShardRollout.collect

        def collected(shard: ShardRollout, network: Any, groups: Any, *others: Any) -> Experience:
            found = collect(shard, network, groups, *others)
            sides = np.full(shard.num_tables, -1)
            names = np.full(shard.num_tables, "self", object)
            for group in groups:
                names[group.tables] = group.name.partition(" ")[0]  # all snapshots as one
                if group.opponent is not None:
                    sides[group.tables] = np.arange(group.tables.start, group.tables.stop) % 2
            lead = 10 * shard.rewards.sum(0)  # reward.scale is 10
            self.shards.append(
                {
                    "names": names,
                    "margins": np.where(sides == 1, -lead, lead),
                    "targets": (found.advantages + found.values)[found.rows].numpy(),
                    "decisions": len(found.rows),
                    "plays": shard.rewards.size,
                }
            )
            return found

        monkeypatch.setattr(ShardRollout, "collect", collected)

    def message(self, text: str) -> None:
        pass

    def begin(self, counters: Counters) -> None:
        self.shards.clear()  # those of warming up

    def progress(self, counters: Counters, config: TrainConfig, row: dict[str, float]) -> None:
        self.rows.append(row)
        self.counters.append(Counters(**vars(counters)))


def test_a_row_says_what_was_played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = Experiences(monkeypatch)
    config = small(3)
    Trainer(config, RunFolder.create(tmp_path / "run", config), seen).train()
    assert len(seen.rows) == 3 and len(seen.shards) == 6
    seconds = 0.0
    for update, (row, counters) in enumerate(zip(seen.rows, seen.counters, strict=True)):
        shards = seen.shards[2 * update : 2 * update + 2]
        names = np.concatenate([shard["names"] for shard in shards])
        margins = np.concatenate([shard["margins"] for shard in shards])
        for name in set(names) - {"self"}:
            own = np.round(margins[names == name])
            assert row[f"margin_thirds/{name}"] == pytest.approx(own.mean(), abs=1e-4)
            won = (np.sign(own) + 1) / 2
            assert row[f"win_rate/{name}"] == pytest.approx(won.mean())
        assert "margin_thirds/self" not in row
        targets = np.concatenate([shard["targets"] for shard in shards])
        assert row["returns/mean"] == pytest.approx(targets.mean(), abs=1e-5)
        assert row["returns/std"] == pytest.approx(targets.std(ddof=1), rel=1e-4)
        took, seconds = counters.seconds - seconds, counters.seconds
        plays, decisions = (sum(s[key] for s in shards) for key in ("plays", "decisions"))
        assert plays == 256 * 8 and decisions == PER_UPDATE
        assert row["speed/plays_per_second"] == pytest.approx(plays / took)
        assert row["speed/decisions_per_second"] == pytest.approx(decisions / took)
    assert {"snapshots"} <= set(np.concatenate([shard["names"] for shard in seen.shards[4:]]))


@pytest.mark.parametrize(("every", "updates"), [(3, [3, 6]), (1, [5, 6, 7])])
def test_snapshots_are_taken_as_often_as_told(
    tmp_path: Path, every: int, updates: list[int]
) -> None:
    trainer = run(tmp_path / "run", small(7, f"opponents.snapshot_every={every}"))
    assert [snapshot.update for snapshot in trainer.pool.snapshots] == updates


def test_compiling_is_told_and_takes_no_time_of_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []

    class Slow(Agent):
        """Takes a second once, as what is compiled does."""

        calls = 0

        def act_batch(self, views: Any, rules: RuleSet, seeds: Any) -> Any:
            if not self.calls:
                assert told[-1].startswith("warming up")
                time.sleep(1)
            self.calls += 1
            return np.log2(views["legal"] & -views["legal"]).astype(np.int64)

    class Display(StopAfter):
        def message(self, text: str) -> None:
            told.append(text)

        def begin(self, counters: Counters) -> None:
            assert slow.calls > 0
            told.append("begin")

    slow = Slow()
    config = small(1, "rollout.tables=16", "decisions=96")
    trainer = Trainer(config, RunFolder.create(tmp_path / "run", config), Display(-1))
    trainer.pool.agents["greedy"] = slow
    before = time.perf_counter()
    trainer.train()
    assert time.perf_counter() - before > 1
    assert told[-1] == "begin" and trainer.counters.seconds < 0.5


FULL = [
    "rollout.exact_endings=true",
    "critic.hidden=[8]",
    "critic.sees=hands_and_stock",
    "network.kind=suit_shared",
    "network.sees=leads",
    "ppo.magnet=0.3",
    "ppo.magnet_every=3",
]


def test_every_setting_goes_on_exactly_after_a_stop(tmp_path: Path) -> None:
    """The magnet, renewed after 3 and 6 updates, and all else: 7 updates are 4 and 3."""
    config = small(7, *FULL)
    run(tmp_path / "whole", config)
    trainer = Trainer(config, RunFolder.create(tmp_path / "parts", config), StopAfter(4))
    cast(StopAfter, trainer.display).trainer = trainer
    trainer.train()
    assert trainer.counters.update == 4
    again = Trainer(config, RunFolder.open(tmp_path / "parts"))
    again.resume()
    again.train()
    assert same(tmp_path / "whole", tmp_path / "parts")


def test_measuring_changes_no_weight_and_keeps_the_best(tmp_path: Path) -> None:
    settings = ["evaluation.agents=[random, greedy]", "evaluation.deals=20"]
    plain = run(tmp_path / "plain", small(5, "rollout.exact_endings=true"))
    measured = run(
        tmp_path / "measured",
        small(5, "rollout.exact_endings=true", "evaluation.every=4", *settings),
    )
    assert same(tmp_path / "plain", tmp_path / "measured")
    assert not plain.folder.best_policy.exists()
    rows = read_metrics(tmp_path / "measured")
    tag = "reference_margin_thirds/"
    found = {
        int(row["update"]) + 1: [row[tag + name] for name in ("random", "greedy")]
        for row in rows
        if tag + "random" in row
    }
    assert list(found) == [4, 8, 10]  # the last update is always measured
    assert all(row.get("reference_half_width/greedy", 1) > 0 for row in rows)
    means = {update: sum(margins) / 2 for update, margins in found.items()}
    best = load_policy(measured.folder.best_policy)
    assert best.training["updates"] == max(means, key=lambda update: means[update])
    assert best.training["evaluation"]["mean_margin_thirds"] == max(means.values())
    # What was measured last is what the evaluation says of the policy.
    results = [
        evaluate([f"learned:{measured.folder.path}", agent], "mini_2x4", 20, 2)[0].margin_thirds
        for agent in ("random", "greedy")
    ]
    assert found[10] == [result.mean for result in results]


def test_a_resumed_run_knows_its_best_policy(tmp_path: Path) -> None:
    settings = ["evaluation.every=1", "evaluation.deals=20"]
    trainer = run(tmp_path / "run", small(2, *settings))
    again = Trainer(small(4, *settings), RunFolder.open(tmp_path / "run"))
    again.resume()
    assert again._best_margin == trainer._best_margin > float("-inf")


def test_opponents_whose_endings_are_exact_are_called_so(tmp_path: Path) -> None:
    run(tmp_path / "run", small(2, "rollout.exact_endings=true"))
    (row, *_) = read_metrics(tmp_path / "run")
    assert {tag for tag in row if tag.startswith("margin_thirds/")} >= {
        "margin_thirds/greedy+endings"
    }
    assert "margin_thirds/greedy" not in row


def test_warming_up_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = ["critic.hidden=[8]", "critic.sees=hands", "ppo.epochs=2"]
    run(tmp_path / "warm", small(3, *settings))
    monkeypatch.setattr(Trainer, "_warm_up", lambda self, workers: None)
    run(tmp_path / "cold", small(3, *settings))
    assert same(tmp_path / "warm", tmp_path / "cold")


def test_tensorboard_has_one_event_a_step_after_a_killed_run_goes_on(tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    config = small(5, "checkpoint.every=3")
    trainer = run(tmp_path / "run", config)
    folder = trainer.folder.checkpoints
    for kept in (3, 0):  # killed after the checkpoint of that update
        for path in folder.glob("*.safetensors"):
            if int(path.stem) > kept:
                path.unlink()
        again = Trainer(config, RunFolder.open(tmp_path / "run"))
        again.resume()
        assert again.counters.update == kept
        again.train()
        events = EventAccumulator(str(trainer.folder.tensorboard))
        events.Reload()
        steps = [event.step for event in events.Scalars("policy/entropy")]
        assert steps == [update * PER_UPDATE for update in range(1, 6)]


def test_a_log_keeps_the_rows_before_an_update_only(tmp_path: Path) -> None:
    for first in (0, 2, 1):
        log = MetricLog(tmp_path, first)
        for update in range(first, 3):
            log.write({"update": update, "decisions": 10 * update + first, "policy/kl": 0.5})
        log.close()
    assert [row["decisions"] for row in read_metrics(tmp_path)] == [0, 11, 21]


@pytest.mark.parametrize(
    "damage", [b"{cut", b"\xff\xfe", b"5", b"{}", b'{"update": "x"}', b"[" * 9999]
)
def test_a_damaged_row_costs_no_other_row(tmp_path: Path, damage: bytes) -> None:
    rows = [json.dumps({"update": n, "decisions": 10 * n}).encode() for n in range(4)]
    file = tmp_path / "metrics.jsonl"
    file.write_bytes(b"\n".join([rows[0], damage, *rows[1:]]) + b"\n")
    told: list[str] = []
    MetricLog(tmp_path, 3, told.append).close()
    assert [row["update"] for row in read_metrics(tmp_path)] == [0, 1, 2]
    assert told == [f"{file}: 1 of 5 lines are damaged and were skipped"]


def test_the_rows_survive_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "metrics.jsonl"
    file.write_text('{"update": 0, "decisions": 1}\n')
    whole = file.read_bytes()

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        MetricLog(tmp_path, 1)
    assert file.read_bytes() == whole


def test_tensorboard_has_them_all(tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    trainer = run(tmp_path / "run", small(3))
    events = EventAccumulator(str(trainer.folder.tensorboard))
    events.Reload()
    rows = read_metrics(tmp_path / "run")
    assert set(events.Tags()["scalars"]) == {tag for row in rows for tag in row if "/" in tag}
    entropy = [(event.step, event.value) for event in events.Scalars("policy/entropy")]
    assert entropy == [
        (row["decisions"], pytest.approx(row["policy/entropy"], rel=1e-6)) for row in rows
    ]


def test_the_glossary_in_the_docs_is_the_table_of_metrics() -> None:
    assert glossary() in (ROOT / "docs" / "training.md").read_text(encoding="utf-8")


def test_the_chart_is_a_picture(tmp_path: Path) -> None:
    run(tmp_path / "run", small(3))
    chart = draw_learning_curve(tmp_path / "run", "a run")
    assert chart is not None
    assert chart.read_bytes().startswith(b"\x89PNG") and chart.stat().st_size > 10_000
    (tmp_path / "none").mkdir()
    assert draw_learning_curve(tmp_path / "none", "nothing yet") is None


def test_the_chart_shows_what_was_measured() -> None:
    rows: list[dict[str, float]] = [
        {
            "update": update,
            "decisions": 500_000 * (update + 1),
            "margin_thirds/greedy": update - 30.0,
            "margin_thirds/random": 2.0 * update,
            "win_rate/greedy": 0.25,
            "policy/entropy": 1.5 - 0.01 * update,
            "critic/explained_variance": 0.01 * update,
            "policy/kl": 0.001 * update,
        }
        for update in range(40)
    ]
    figure = learning_figure(rows, "a run")
    margins, *measures = figure.axes
    assert figure.get_suptitle() == "a run"
    assert margins.get_ylabel() == "thirds a deal over the opponent"
    legend = margins.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["greedy", "random"]
    lines = {line.get_label(): line for line in margins.get_lines()}
    # A tenth of 40 rows are averaged: the first four margins, at the mean of their places.
    np.testing.assert_allclose(lines["greedy"].get_xdata()[[0, -1]], [1.25, 19.25])
    np.testing.assert_allclose(lines["greedy"].get_ydata()[[0, -1]], [-28.5, 7.5])
    np.testing.assert_allclose(lines["random"].get_ydata()[[0, -1]], [3.0, 75.0])
    titles = [axes.get_title(loc="left") for axes in measures]
    assert titles == ["entropy (nats)", "explained variance", "KL of an update (nats)"]
    assert {axes.get_xlabel() for axes in (margins, *measures)} == {"million decisions"}
    for axes, tag in zip(
        measures, ("policy/entropy", "critic/explained_variance", "policy/kl"), strict=True
    ):
        every = axes.get_lines()[0]
        np.testing.assert_allclose(every.get_xdata(), [row["decisions"] / 1e6 for row in rows])
        np.testing.assert_allclose(every.get_ydata(), [row[tag] for row in rows])


def test_counters_count(tmp_path: Path) -> None:
    trainer = run(tmp_path / "run", small(2))
    assert trainer.counters.plays == 2 * 256 * get_rules("mini_2x4").deck_size
    assert trainer.counters.decisions == 2 * PER_UPDATE  # half of the tables alone, half of 8 plies
    policy = json.loads((tmp_path / "run" / "metrics.jsonl").read_text().splitlines()[-1])
    assert policy["decisions"] == trainer.counters.decisions


# What goes wrong


def test_a_diverged_run_keeps_the_last_good_policy(tmp_path: Path) -> None:
    config = small(6)
    display = StopAfter(-1)
    trainer = Trainer(config, RunFolder.create(tmp_path / "run", config), display)
    kept: list[bytes] = []

    def break_it(counters: Counters, total: int, row: dict[str, float]) -> None:
        if counters.update == 3:
            kept.append(trainer.folder.policy.read_bytes())
            assert trainer.network.critic_head is not None
            with torch.no_grad():
                trainer.network.critic_head.bias.fill_(float("nan"))

    display.progress = break_it  # type: ignore[method-assign]
    with pytest.raises(DivergedError, match=r"stopped in update 4: .*update 2 in .*run are kept"):
        trainer.train()
    assert trainer.folder.policy.read_bytes() == kept[0]
    again = Trainer(config, RunFolder.open(tmp_path / "run"))
    again.resume()
    assert again.counters.update == 2


def test_two_processes_do_not_train_in_one_folder(tmp_path: Path) -> None:
    config = small(2)
    folder = RunFolder.create(tmp_path / "run", config)
    other = Trainer(config, RunFolder.open(tmp_path / "run"))
    with folder.locked(), folder.locked():
        before = sorted((tmp_path / "run").rglob("*"))
        with pytest.raises(RunFolderError, match=r"run: another process is training in it") as one:
            other.train()
        assert "\n" not in str(one.value)
        with pytest.raises(RunFolderError, match="another process is training in it"):
            other.resume()
        assert sorted((tmp_path / "run").rglob("*")) == before
    other.train()
    assert other.is_finished
    with folder.locked():  # given back when training ends
        pass


def test_opponents_that_cannot_play_are_refused_before_anything_starts(tmp_path: Path) -> None:
    run(tmp_path / "mini", small(1))
    agents = f"opponents.agents={{'learned:{tmp_path / 'mini'}': 1.0}}"
    with pytest.raises(TressetteError, match="trained for 'mini_2x4' and cannot play 'playmore'"):
        Trainer(small(1, "rules=playmore", agents), RunFolder(tmp_path / "none"))


@pytest.mark.parametrize("rules", ["gamelake", "gamelake_partners", "mini_2x5_stock_empty"])
def test_every_kind_of_house_trains(tmp_path: Path, rules: str) -> None:
    config = small(1, f"rules={rules}", "rollout.tables=16", "reward.kind=house")
    trainer = run(tmp_path / "run", config)
    assert trainer.is_finished
    (result,) = evaluate([f"learned:{tmp_path / 'run'}", "random"], rules, 8, seed=0)
    assert result.deals == 8


# Threads


def test_threads_are_put_back_and_results_keep_their_order() -> None:
    before = torch.get_num_threads()
    with ShardWorkers(3) as workers:
        assert torch.get_num_threads() == 1
        assert workers.map(lambda item: item * item, range(10)) == [i * i for i in range(10)]
    assert torch.get_num_threads() == before


def test_the_measurement_takes_the_quicker_number(monkeypatch: pytest.MonkeyPatch) -> None:
    import time

    monkeypatch.setattr("tressette_train.parallel.available_cores", lambda: 4)

    def trial(seconds: dict[int, float]) -> int:
        threads, measured = choose_threads(
            4, lambda workers: time.sleep(seconds[workers.threads]), repeats=3
        )
        assert set(measured) == {1, 2, 4}
        return threads

    assert trial({1: 0.03, 2: 0.01, 4: 0.02}) == 2
    assert trial({1: 0.02, 2: 0.02, 4: 0.02}) == 4
    assert trial({1: 0.01, 2: 0.02, 4: 0.03}) == 1
    assert trial({1: 0.04, 2: 0.02, 4: 0.01}) == 4


def test_deals_of_training_are_those_of_batch_table(tmp_path: Path) -> None:
    shard = Trainer(small(1), RunFolder(tmp_path)).shards[0]
    table = BatchTable(shard.num_tables, shard.rules, shard.deal_seed, first_deal=0)
    assert table.deal_numbers.tolist() == list(range(shard.num_tables))
