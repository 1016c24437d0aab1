"""The training loop: it learns, the seed decides everything, and nothing is lost when it stops."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
import torch

from tressette_env import BatchTable, get_rules
from tressette_env.errors import TressetteError
from tressette_train.charts import draw_learning_curve
from tressette_train.checkpoint import Counters
from tressette_train.config import TrainConfig
from tressette_train.config_file import read_config
from tressette_train.evaluate import evaluate
from tressette_train.metrics import METRICS, glossary, read_metrics
from tressette_train.parallel import ShardWorkers, choose_threads, stream_seed
from tressette_train.ppo import DivergedError
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

    def progress(self, counters: Counters, total: int, row: dict[str, float]) -> None:
        if counters.update == self.update and self.trainer:
            self.trainer.stop_requested = True


# Learning


def test_the_smoke_config_learns(tmp_path: Path) -> None:
    config = smoke()
    trainer = run(tmp_path / "run", config)
    assert trainer.counters.decisions >= config.decisions
    policy = f"learned:{tmp_path / 'run'}"
    (against_random,) = evaluate([policy, "random"], config.rules, 500, seed=1)
    assert against_random.margin_thirds.low > 0.5
    untrained = tmp_path / "untrained"
    untrained.mkdir()
    none = Trainer(config, RunFolder(untrained))
    (untrained / "checkpoints").mkdir()
    none.save()
    (learned,) = evaluate([policy, f"learned:{untrained}"], config.rules, 500, seed=1)
    assert learned.margin_thirds.low > 0.3


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


@pytest.mark.parametrize("stop", [1, 3, 4])
def test_a_stopped_run_goes_on_exactly(tmp_path: Path, stop: int) -> None:
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    config = small(6, "critic.hidden=[8]", "critic.sees_all_hands=true")
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
    trainer = run(tmp_path / "run", small(3))
    rows = read_metrics(tmp_path / "run")
    opponents = trainer.pool.names
    assert opponents == ["greedy", "random", "snapshots"]
    expected = {metric.tag.replace("{opponent}", name) for metric in METRICS for name in opponents}
    assert set(rows[-1]) - {"update", "decisions", "seconds"} == expected
    assert all(math.isfinite(value) for row in rows for value in row.values())
    rates = [row["optimiser/learning_rate"] for row in rows]
    first = trainer.config.ppo.learning_rate  # falls to a tenth over the budget
    assert rates == pytest.approx([first, 0.7 * first, 0.4 * first])
    assert [row["decisions"] for row in rows] == [PER_UPDATE, 2 * PER_UPDATE, 3 * PER_UPDATE]


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
            with torch.no_grad():
                trainer.network.critic_head.bias.fill_(float("nan"))

    display.progress = break_it  # type: ignore[method-assign]
    with pytest.raises(DivergedError, match=r"stopped in update 4: .*update 2 in .*run are kept"):
        trainer.train()
    assert trainer.folder.policy.read_bytes() == kept[0]
    again = Trainer(config, RunFolder.open(tmp_path / "run"))
    again.resume()
    assert again.counters.update == 2


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
