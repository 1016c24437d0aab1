"""Deep Monte Carlo: targets by hand, the loss by autograd, how it chooses, and that it learns."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from test_trainer import StopAfter, same

from tressette_agents import make_agent
from tressette_agents.learned import LearnedAgent
from tressette_agents.networks import ActorCritic, NetworkSpec
from tressette_agents.policy_file import load_policy
from tressette_env import BatchTable, get_rules
from tressette_env.cards import card_list, card_set
from tressette_env.errors import AgentSpecError
from tressette_env.observation import layout_for
from tressette_train.charts import learning_figure
from tressette_train.config import (
    DmcConfig,
    NetworkConfig,
    OpponentsConfig,
    RolloutConfig,
    TrainConfig,
)
from tressette_train.dmc import Dmc, choose_epsilon_greedy
from tressette_train.evaluate import evaluate
from tressette_train.learner import DivergedError
from tressette_train.metrics import METRICS, read_metrics
from tressette_train.opponents import Group
from tressette_train.parallel import ShardWorkers
from tressette_train.rollout import Experience, Results, ShardRollout
from tressette_train.run_folder import RunFolder
from tressette_train.trainer import Trainer, make_network

TABLES = 16
FEATURES, DECISIONS = 12, 64


def config_for(rules: str, **changes: object) -> TrainConfig:
    values: dict[str, object] = {
        "algorithm": "dmc",
        "rules": rules,
        "decisions": 1000,
        "shards": 1,
        "rollout": RolloutConfig(tables=TABLES),
        "network": NetworkConfig(hidden=[16]),
    }
    return TrainConfig.model_validate(values | changes)


# Targets


def hand_worked(
    rules: str, seats: list[int], rewards: list[float], deals: int, ends: list[int]
) -> list[float]:
    """Targets of one table whose first plies are given; side 0's rewards; the rest pays nothing."""
    config = config_for(rules, rollout=RolloutConfig(tables=2, deals=deals))
    shard = ShardRollout(config, get_rules(rules), 0)
    shard.seats[: len(seats), 0] = seats
    shard.rewards[: len(rewards), 0] = rewards
    shard.is_over[[*ends, -1]] = True
    found = shard._experience(Results()).advantages.view(shard.num_plies, 2)
    return [round(value, 5) for value in found[: len(seats), 0].tolist()]


def test_hand_worked_returns_where_a_winner_leads_again() -> None:
    # Tricks (0, 1), (0, 1), (1, 0): seat 0 wins the first and leads again, seat 1 wins the second.
    # Side 0 gets +3, then -1, then -2. Each decision is worth what its side gets from there on.
    seats = [0, 1, 0, 1, 1, 0]
    rewards = [0, 3, 0, -1, 0, -2]
    assert hand_worked("mini_2x4", seats, rewards, 1, []) == [
        3 - 1 - 2,
        -3 + 1 + 2,
        -1 - 2,
        1 + 2,
        2,
        -2,
    ]


def test_hand_worked_returns_of_partners_share_a_sign() -> None:
    # Seat 2 leads and its partner 0 wins for +5; then 0 leads and 3 wins for the others: -4.
    seats = [2, 3, 0, 1, 0, 1, 2, 3]
    rewards = [0, 0, 0, 5, 0, 0, 0, -4]
    found = hand_worked("gamelake_partners", seats, rewards, 1, [])
    assert found == [1, -1, 1, -1, -4, 4, -4, 4]


def test_hand_worked_returns_end_with_the_deal() -> None:
    seats = [0, 1, 1, 0]
    assert hand_worked("mini_2x4", seats, [0, 1, 0, 7], 2, [1]) == [1, -1, -7, 7]


@pytest.mark.parametrize(
    ("name", "exact"),
    [("playmore", False), ("playmore", True), ("gamelake_partners", False), ("mini_2x5", True)],
)
def test_targets_are_the_thirds_still_to_come(name: str, exact: bool) -> None:
    """The stored cards are played again, to the end of the deal: who leads when by how much."""
    config = config_for(
        name,
        rollout=RolloutConfig(tables=TABLES, exact_endings=exact),
        opponents=OpponentsConfig(share=0.0),
    )
    rules = get_rules(name)
    shard = ShardRollout(config, rules, 0)
    alone = [Group("self", slice(0, TABLES))]
    choose = Dmc(make_network(config), DmcConfig(epsilon=0.5)).choose(0.0)
    experience = shard.collect(make_network(config), alone, 0, choose)
    table = BatchTable(TABLES, rules, shard.deal_seed)
    ending = make_agent("random+endings" if exact else "random")
    leads = []
    for ply in range(rules.deck_size):
        thirds = table.states["thirds"].astype(int)
        leads.append(thirds[:, 0] - thirds[:, 1])
        if ply < shard.num_plies:
            cards = shard.cards[ply]
        else:
            cards = ending.act_batch(table.views(), rules, np.zeros(TABLES, np.int64))
        step = table.play(cards)
    last = step.thirds[:, 0].astype(int) - step.thirds[:, 1]
    found = experience.advantages.view(shard.num_plies, TABLES).numpy()
    for ply in range(shard.num_plies):
        to_come = np.where(shard.seats[ply] % 2 == 1, leads[ply] - last, last - leads[ply])
        np.testing.assert_allclose(found[ply], to_come / 10, atol=1e-5)
    assert not experience.values.any()


# How cards are chosen


def rows_of(count: int) -> tuple[npt.NDArray[np.float32], list[int], npt.NDArray[np.int64]]:
    """Rows alike: five legal cards, of which 17 is the best; an illegal card has more."""
    legal = [3, 8, 17, 21, 39]
    values = np.zeros((count, 40), np.float32)
    values[:, legal] = [-5, 1, 2, -1, 0]
    values[:, 4] = 9
    return values, legal, np.full(count, card_set(legal))


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.5, 1.0])
def test_each_card_is_played_as_often_as_epsilon_says(epsilon: float) -> None:
    count = 40_000
    values, legal, sets = rows_of(count)
    points = np.random.default_rng(0).random(count)
    cards, logarithms = choose_epsilon_greedy(values, sets, points, epsilon)
    for card in range(40):
        expected = (card in legal) * epsilon / 5 + (card == 17) * (1 - epsilon)
        share = float((cards == card).mean())
        assert share == pytest.approx(expected, abs=5 * (expected / count) ** 0.5)
        np.testing.assert_allclose(np.exp(logarithms[cards == card]), expected, rtol=1e-5)


def test_the_ends_of_the_unit_interval_choose_legal_cards() -> None:
    values, _, sets = rows_of(5)
    below_one = np.nextafter(1.0, 0.0)
    points = np.array([0.0, 0.2999999, 0.3, below_one, 0.0])
    cards, _ = choose_epsilon_greedy(values, sets, points, 0.3)
    assert cards.tolist() == [3, 39, 17, 17, 3]
    assert choose_epsilon_greedy(values, sets, points, 1.0)[0][3] == 39
    only = np.array([card_set([30])] * 5)
    assert choose_epsilon_greedy(values, only, points, 0.3)[0].tolist() == [30] * 5


def test_rollouts_explore_as_told_and_less_over_the_budget() -> None:
    config = config_for("playmore", rollout=RolloutConfig(tables=400))
    network = make_network(config)
    dmc = Dmc(network, DmcConfig(epsilon=0.6, epsilon_final=0.25))
    shard = ShardRollout(config, get_rules("playmore"), 0)
    alone = [Group("self", slice(0, 400))]
    for progress, epsilon in ((0.0, 0.6), (0.5, 0.375), (1.0, 0.15), (1.2, 0.15)):
        assert dmc.epsilon(progress) == pytest.approx(epsilon)
        found = shard.collect(network, alone, 0, dmc.choose(progress))
        with torch.no_grad():
            values, _ = network(found.observations.float())
        legal = (found.legal_sets[:, None] >> torch.arange(40)) & 1
        best = values.masked_fill(legal == 0, float("-inf")).argmax(1)
        counts = legal.sum(1)
        other = float((found.cards != best).double().mean())
        expected = float((epsilon * (1 - 1 / counts)).mean())
        assert other == pytest.approx(expected, abs=0.02)
        assert all(
            card in card_list(one)
            for card, one in zip(found.cards.tolist(), found.legal_sets.tolist(), strict=True)
        )


# The update


def network(seed: int = 0) -> ActorCritic:
    spec = NetworkSpec(FEATURES, (16,))
    return ActorCritic(spec, None, torch.Generator().manual_seed(seed))


def experience(seed: int) -> Experience:
    """Random decisions of which every second one is the learner's."""
    generator = torch.Generator().manual_seed(seed)
    rows = 2 * DECISIONS
    return Experience(
        torch.randint(0, 2, (rows, FEATURES), generator=generator, dtype=torch.int8),
        torch.zeros((rows, 0), dtype=torch.int64),
        torch.full((rows,), (1 << 40) - 1),
        torch.randint(0, 40, (rows,), generator=generator),
        torch.zeros(rows),
        torch.zeros(rows),
        torch.randn(rows, generator=generator),
        torch.arange(0, rows, 2),
        Results(),
    )


def test_without_a_critic_there_is_only_the_policy() -> None:
    model = network()
    assert {name.partition(".")[0] for name, _ in model.named_parameters()} == {"policy"}
    outputs, values = model(torch.ones(3, FEATURES))
    assert torch.equal(outputs, model.policy(torch.ones(3, FEATURES)))
    assert values.tolist() == [0.0] * 3


def test_gradients_are_those_of_a_plain_reading_of_the_loss() -> None:
    model = network()
    shard = experience(1)
    chosen = [5, 9, 9, 40]
    found, loss = Dmc(model, DmcConfig()).gradients(shard, torch.tensor(chosen))
    errors = []
    for index in chosen:
        row = 2 * index
        value = model.policy(shard.observations[row : row + 1].float())[0, int(shard.cards[row])]
        errors.append((value - float(shard.advantages[row])) ** 2)
    expected_loss = sum(errors[1:], errors[0]) / 2 / len(chosen)
    expected = torch.autograd.grad(expected_loss, list(model.parameters()))
    torch.testing.assert_close(loss, expected_loss.detach())
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, atol=1e-6, rtol=1e-4)


def test_figures_of_an_update_are_those_of_all_its_decisions() -> None:
    model = network()
    shards = [experience(1), experience(2)]
    shards[1] = dataclasses.replace(shards[1], advantages=3 * shards[1].advantages)
    config = DmcConfig(
        learning_rate=1e-9, learning_rate_final=0.5, epsilon=0.4, epsilon_final=0.5, minibatch=32
    )
    with ShardWorkers(1) as workers:
        found = Dmc(model, config).update(shards, workers, 0.5, [3, 4])
    targets = torch.cat([shard.advantages[::2] for shard in shards])
    with torch.no_grad():
        values = torch.cat(
            [
                model.policy(shard.observations[::2].float()).gather(1, shard.cards[::2, None])[
                    :, 0
                ]
                for shard in shards
            ]
        )
    error = float((values - targets).square().mean())
    assert found.value_loss == pytest.approx(error / 2, rel=1e-4)
    assert found.explained_variance == pytest.approx(1 - error / float(targets.var()), abs=1e-4)
    assert found.learning_rate == pytest.approx(0.75e-9)
    assert found.epsilon == pytest.approx(0.3)
    assert set(found.metrics()) <= {metric.tag for metric in METRICS}


def test_values_become_the_mean_returns() -> None:
    """One position, three cards played: each card's value is the mean of what it brought."""
    model = network()
    shard = experience(3)
    cards = torch.arange(2 * DECISIONS) // 2 % 3
    shard = dataclasses.replace(
        shard, observations=torch.ones_like(shard.observations), cards=cards
    )
    dmc = Dmc(model, DmcConfig(learning_rate=0.02, learning_rate_final=1.0))
    with ShardWorkers(1) as workers:
        for update in range(300):
            dmc.update([shard], workers, 0.0, [update])
    with torch.no_grad():
        values = model.policy(torch.ones(1, FEATURES))[0]
    for card in range(3):
        mean = shard.advantages[::2][cards[::2] == card].mean()
        assert float(values[card]) == pytest.approx(float(mean), abs=0.01)


def test_a_loss_that_is_no_number_stops_before_the_step() -> None:
    model = network()
    shard = experience(0)
    shard.advantages[shard.rows[3]] = float("nan")
    before = [parameter.detach().clone() for parameter in model.parameters()]
    message = r"not a finite number.*a smaller dmc\.learning_rate"
    with ShardWorkers(1) as workers, pytest.raises(DivergedError, match=message):
        Dmc(model, DmcConfig()).update([shard], workers, 0.0, [0])
    assert all(torch.equal(a, b) for a, b in zip(before, model.parameters(), strict=True))


# Training


def mini(updates: int, **changes: object) -> TrainConfig:
    """Updates of 1,536 decisions on the reduced deck."""
    values: dict[str, object] = {
        "decisions": updates * 1536,
        "shards": 2,
        "torch_threads": 1,
        "rollout": RolloutConfig(tables=256),
        "network": NetworkConfig(hidden=[32, 32]),
        "dmc": DmcConfig(learning_rate=1e-2, minibatch=512),
        "opponents": OpponentsConfig(snapshot_every=2),
    }
    return config_for("mini_2x4", **{**values, **changes})


def run(path: Path, config: TrainConfig) -> Trainer:
    trainer = Trainer(config, RunFolder.create(path, config))
    trainer.train()
    return trainer


def test_it_learns(tmp_path: Path) -> None:
    config = mini(40)
    trainer = run(tmp_path / "run", config)
    assert trainer.is_finished
    policy = f"learned:{tmp_path / 'run'}"
    for opponent, least in (("random", 1.0), ("greedy", 0.0)):
        (result,) = evaluate([policy, opponent], config.rules, 500, seed=1)
        assert result.margin_thirds.low > least
    rows = read_metrics(tmp_path / "run")
    assert rows[-1]["values/explained_variance"] > rows[0]["values/explained_variance"] + 0.2
    assert rows[-1]["policy/epsilon"] < 0.02 < rows[0]["policy/epsilon"] == 0.1
    assert not {"losses/policy", "policy/entropy", "critic/explained_variance"} & rows[-1].keys()
    _, *measures = learning_figure(rows, "a run").axes
    titles = [axes.get_title(loc="left") for axes in measures]
    assert titles == ["explained variance", "value loss", "epsilon"]


@pytest.mark.parametrize("exact", [False, True])
def test_a_stopped_run_goes_on_exactly_and_threads_change_nothing(
    tmp_path: Path, exact: bool
) -> None:
    rollout = RolloutConfig(tables=256, exact_endings=exact)
    config = mini(6, rollout=rollout, dmc=DmcConfig(minibatch=512, epochs=2, epsilon=0.3))
    run(tmp_path / "whole", config)
    run(tmp_path / "threads", config.model_copy(update={"torch_threads": 2}))
    display = StopAfter(3)
    trainer = Trainer(config, RunFolder.create(tmp_path / "parts", config), display)
    display.trainer = trainer
    trainer.train()
    assert trainer.counters.update == 3 and not trainer.is_finished
    again = Trainer(config, RunFolder.open(tmp_path / "parts"))
    again.resume()
    again.train()
    assert same(tmp_path / "whole", tmp_path / "parts")
    assert same(tmp_path / "whole", tmp_path / "threads")


# The policy


def test_the_policy_plays_the_card_with_the_highest_value(tmp_path: Path) -> None:
    trainer = run(tmp_path / "run", mini(2))
    loaded = load_policy(tmp_path / "run")
    assert loaded.outputs == "values"
    table = BatchTable(200, "mini_2x4", seed=5)
    table.play_randomly(2, seed=1)
    rules = get_rules("mini_2x4")
    cards = make_agent(f"learned:{tmp_path / 'run'}").act_batch(
        table.views(), rules, np.zeros(200, np.int64)
    )
    observations = torch.from_numpy(table.observations).float()
    assert observations.shape[1] == layout_for(rules).size
    with torch.no_grad():
        values: Any = trainer.network.policy(observations).numpy()
    for row, card in enumerate(cards):
        legal = np.flatnonzero(table.legal_masks[row])
        assert card == max(legal, key=lambda one: values[row, one])


def test_there_is_nothing_to_sample_from(tmp_path: Path) -> None:
    run(tmp_path / "run", mini(1))
    with pytest.raises(AgentSpecError, match=r"expected a policy with probabilities.*values cards"):
        make_agent(f"learned:{tmp_path / 'run'},sample=true")
    with pytest.raises(AgentSpecError, match="leave out sample=true"):
        LearnedAgent(load_policy(tmp_path / "run"), "mine", sample=True)
