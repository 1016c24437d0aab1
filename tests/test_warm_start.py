"""A warm start: an agent's cards are learned first, then the learner plays its own."""

from __future__ import annotations

import copy
from pathlib import Path

import numpy as np
import pytest
import torch
from test_trainer import StopAfter, same

from tressette_agents import make_agent
from tressette_agents.networks import mask_logits
from tressette_env import BatchTable, TressetteError, get_rules
from tressette_env.cards import NUM_CARDS
from tressette_train.config import TrainConfig
from tressette_train.opponents import SELF, Group, OpponentPool
from tressette_train.rollout import ShardRollout
from tressette_train.run_folder import RunFolder
from tressette_train.trainer import Trainer, make_learner, make_network

PER_UPDATE = 64 * 8 // 2 * 2  # decisions: 64 tables, deals of 8 cards, the learner in both seats


def config(**changes: object) -> TrainConfig:
    values: dict[str, object] = {
        "rules": "mini_2x4",
        "decisions": 6 * PER_UPDATE,
        "torch_threads": 1,
        "warm_start": "greedy",
        "warm_start_updates": 3,
        "rollout": {"tables": 64},
        "network": {"hidden": [32]},
        "opponents": {"share": 0.0},
        "checkpoint": {"every": 1},
    }
    return TrainConfig.model_validate(values | changes)


def test_the_teacher_plays_and_the_learner_says_how_likely_its_cards_were() -> None:
    settings = config(shards=1)
    rollout, network = ShardRollout(settings, get_rules("mini_2x4"), 0), make_network(settings)
    teacher = make_agent("greedy")
    experience = rollout.collect(network, [Group(SELF, slice(0, 64))], 0, teacher=teacher)
    table = BatchTable(64, "mini_2x4", rollout.deal_seed)
    masks = []
    for ply in range(8):
        cards = teacher.act_batch(table.views(), table.rules, np.zeros(64, np.int64))
        np.testing.assert_array_equal(rollout.cards[ply], cards)
        masks.append(table.legal_masks.copy())
        table.play(cards)
    logits, _ = network(experience.observations.float())
    masked = mask_logits(logits, torch.from_numpy(np.concatenate(masks)[:, :NUM_CARDS]))
    expected = masked.log_softmax(1).gather(1, experience.cards[:, None])[:, 0]
    torch.testing.assert_close(experience.log_probabilities, expected)


def test_imitation_descends_the_cross_entropy_of_the_teachers_cards() -> None:
    settings = config(shards=1, ppo={"value_weight": 0.0, "entropy": 1.0})
    rollout, network = ShardRollout(settings, get_rules("mini_2x4"), 0), make_network(settings)
    learner = make_learner(settings, network)
    groups = [Group(SELF, slice(0, 64))]
    experience = rollout.collect(network, groups, 0, teacher=make_agent("greedy"))
    chosen = torch.arange(len(experience.rows))
    found, stats = learner.gradients(  # type: ignore[attr-defined]
        experience, chosen, torch.zeros(len(chosen)), None, 1.0, imitates=True
    )
    logits, values = network(experience.observations.float())
    masks = torch.from_numpy(
        (experience.legal_sets.numpy()[:, None] >> np.arange(NUM_CARDS) & 1).astype(np.bool_)
    )
    loss = torch.nn.functional.cross_entropy(mask_logits(logits, masks), experience.cards)
    expected = torch.autograd.grad(loss + 0 * values.sum(), learner.parameters)
    assert float(stats[0]) == pytest.approx(float(loss.detach()))
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, atol=1e-6, rtol=1e-4)


@pytest.mark.parametrize("algorithm", ["ppo", "dmc"])
def test_after_it_the_learner_plays_its_own_cards(algorithm: str, tmp_path: Path) -> None:
    settings = config(algorithm=algorithm)
    trainer = Trainer(settings, RunFolder.create(tmp_path / "run", settings))
    teacher, asked = trainer.teacher, []
    assert teacher is not None
    play = teacher.act_batch
    teacher.act_batch = lambda *views: asked.append(trainer.counters.update) or play(*views)  # type: ignore[func-returns-value, method-assign]
    trainer.train()
    assert set(asked) == {0, 1, 2} and trainer.counters.update == 6


def test_the_magnet_is_what_the_teacher_has_taught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = config(
        decisions=4 * PER_UPDATE, warm_start_updates=2, ppo={"magnet": 1.0, "magnet_every": 50}
    )
    trainer = Trainer(settings, RunFolder.create(tmp_path / "run", settings))
    policy, end_update = trainer.network.policy, trainer.learner.end_update
    policies = [copy.deepcopy(policy.state_dict())]  # after each number of updates

    def ended(updates: int) -> None:
        end_update(updates)
        policies.append(copy.deepcopy(policy.state_dict()))

    monkeypatch.setattr(trainer.learner, "end_update", ended)
    trainer.train()
    magnet = trainer.learner.magnet
    assert magnet is not None and len(policies) == 5
    weights = magnet.state_dict()
    equal = [all(torch.equal(one[name], weights[name]) for name in weights) for one in policies]
    assert equal == [False, False, True, False, False]


def test_the_teachers_results_say_nothing_of_the_snapshots(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = config(opponents={"share": 0.5, "agents": {}, "snapshot_every": 1})
    trainer = Trainer(settings, RunFolder.create(tmp_path / "run", settings))
    recorded: list[int] = []
    monkeypatch.setattr(OpponentPool, "record", lambda *_: recorded.append(trainer.counters.update))
    trainer.train()
    assert trainer.counters.update > 3 and recorded == [*range(3, trainer.counters.update)]


def test_the_teachers_cards_become_the_likely_ones(tmp_path: Path) -> None:
    settings = config(
        decisions=40 * PER_UPDATE, warm_start_updates=1000, ppo={"learning_rate": 1e-2, "epochs": 4}
    )
    trainer = Trainer(settings, RunFolder.create(tmp_path / "run", settings))
    trainer.train()
    policy = make_agent(f"learned:{tmp_path / 'run'}")
    table, agreed, asked = BatchTable(200, "mini_2x4", 99), 0, 0
    for _ply in range(8):
        views, seeds = table.views(), np.zeros(200, np.int64)
        cards = make_agent("greedy").act_batch(views, table.rules, seeds)
        several = views["legal"] & (views["legal"] - 1) != 0
        agreed += int((policy.act_batch(views, table.rules, seeds) == cards)[several].sum())
        asked += int(several.sum())
        table.play(cards)
    assert agreed > 0.85 * asked


@pytest.mark.parametrize("updates", [2, 3, 4])  # within, at the end, and after it
def test_a_stop_changes_nothing(updates: int, tmp_path: Path) -> None:
    settings = config()
    Trainer(settings, RunFolder.create(tmp_path / "one", settings)).train()
    stopping = StopAfter(updates)
    two = RunFolder.create(tmp_path / "two", settings)
    first = Trainer(settings, two, stopping)
    stopping.trainer = first
    first.train()
    assert first.counters.update == updates
    second = Trainer(settings, RunFolder.open(tmp_path / "two"))
    second.resume()
    second.train()
    assert same(tmp_path / "one", tmp_path / "two")


def test_a_teacher_that_does_not_play_the_house_is_refused_at_once(tmp_path: Path) -> None:
    settings = config(rules="gamelake_partners", warm_start="greedy+endings")
    with pytest.raises(TressetteError, match=r"greedy\+endings.*gamelake_partners"):
        Trainer(settings, RunFolder(tmp_path / "run"))


def test_an_agent_that_is_not_installed_is_refused_with_the_config() -> None:
    with pytest.raises(ValueError, match="unknown agent 'gredy'"):
        config(warm_start="gredy")


def test_the_update_of_a_warm_start_does_not_depend_on_threads(tmp_path: Path) -> None:
    for threads in (1, 2):
        settings = config(torch_threads=threads, decisions=4 * PER_UPDATE)
        path = tmp_path / str(threads)
        Trainer(settings, RunFolder.create(path, settings)).train()
    assert same(tmp_path / "1", tmp_path / "2")
