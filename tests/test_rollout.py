"""Rollouts: what is stored is what was played, and rewards are the margins of the deals."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch

from tressette_agents import make_agent
from tressette_agents.networks import (
    ActorCritic,
    CriticSpec,
    NetworkSpec,
    PolicyNetwork,
    mask_logits,
)
from tressette_env import BatchTable, RuleSet, get_rules
from tressette_env.batch_views import masks_of
from tressette_env.card_notation import card_text
from tressette_env.cards import card_list, card_set
from tressette_env.errors import AgentFailedError
from tressette_env.observation import layout_for
from tressette_env.policies import Agent
from tressette_train.config import (
    CriticConfig,
    OpponentsConfig,
    RewardConfig,
    RolloutConfig,
    TrainConfig,
)
from tressette_train.opponents import Group, OpponentPool, Snapshot
from tressette_train.rollout import (
    Experience,
    Results,
    ShardRollout,
    hidden_set_count,
    mask_tensor,
)

TABLES = 24


def config_for(rules: str, **changes: object) -> TrainConfig:
    values: dict[str, object] = {
        "rules": rules,
        "decisions": 1000,
        "shards": 1,
        "seed": 3,
        "rollout": RolloutConfig(tables=TABLES),
        "opponents": OpponentsConfig(agents={"greedy": 1.0, "random": 1.0}),
    }
    return TrainConfig.model_validate(values | changes)


def network_for(rules: RuleSet, hidden_inputs: int = 0) -> ActorCritic:
    critic = CriticSpec((8,), hidden_inputs) if hidden_inputs else CriticSpec()
    spec = NetworkSpec(layout_for(rules).size, (16,))
    return ActorCritic(spec, critic, torch.Generator().manual_seed(1))


def collected(
    config: TrainConfig, rules: RuleSet | None = None, update: int = 0
) -> tuple[ShardRollout, list[Group], Experience, ActorCritic]:
    rules = rules or get_rules(config.rules)
    pool = OpponentPool.for_rules(config.opponents, rules)
    others = hidden_set_count(config, rules)
    network = network_for(rules, 40 * others)
    if config.opponents.snapshots:
        pool.add_snapshot(network.policy, 0)
    rollout = ShardRollout(config, rules, 0)
    groups = pool.seat(TABLES, seed=5)
    return rollout, groups, rollout.collect(network, groups, update), network


HOUSES = ["playmore", "gamelake", "gamelake_partners", "mini_2x4"]


@pytest.mark.parametrize("name", HOUSES)
@pytest.mark.parametrize("deals", [1, 2])
def test_playing_the_stored_cards_again_meets_everything_that_was_stored(
    name: str, deals: int
) -> None:
    config = config_for(
        name,
        rollout=RolloutConfig(tables=TABLES, deals=deals),
        critic=CriticConfig(hidden=[8], sees="hands"),
    )
    rollout, groups, _, _ = collected(config)
    rules = rollout.rules
    greedy = make_agent("greedy")
    table = BatchTable(TABLES, rules, rollout.deal_seed)
    lead = np.zeros(TABLES)
    for ply in range(deals * rules.deck_size):
        seats = table.seats
        np.testing.assert_array_equal(rollout.seats[ply], seats)
        np.testing.assert_array_equal(rollout.observations[ply], table.observations)
        np.testing.assert_array_equal(rollout.legal_sets[ply], table.legal_sets)
        for after in range(1, rules.seats):
            hands = table.views((seats + after) % rules.seats)["hand"]
            np.testing.assert_array_equal(rollout.hidden_sets[ply, :, after - 1], hands)
        by_greedy = greedy.act_batch(table.views(), rules, np.zeros(TABLES, np.int64))
        for group in groups:
            place = group.tables
            decides = rollout.is_learner[ply, place]
            if group.opponent is None:
                assert decides.all()
                continue
            learner_side = np.arange(place.start, place.stop) % 2
            np.testing.assert_array_equal(decides, seats[place] % 2 == learner_side)
            if group.name == "greedy":
                chosen, expected = rollout.cards[ply, place], by_greedy[place]
                np.testing.assert_array_equal(chosen[~decides], expected[~decides])
        step = table.play(rollout.cards[ply])  # raises if a card was illegal
        now = step.thirds[:, 0] - step.thirds[:, 1]
        np.testing.assert_allclose(rollout.rewards[ply], (now - lead) / 10, atol=1e-6)
        np.testing.assert_array_equal(rollout.is_over[ply], step.is_over)
        lead = np.where(step.is_over, 0, now)
    assert rollout.is_over[-1].all()


@pytest.mark.parametrize("name", ["playmore", "gamelake", "mini_2x5"])
@pytest.mark.parametrize("deals", [1, 2])
def test_exact_endings_end_the_deal_with_the_stock(name: str, deals: int) -> None:
    """What is paid is what two seats that play exactly take: the deals are played to their end."""
    config = config_for(name, rollout=RolloutConfig(tables=TABLES, deals=deals, exact_endings=True))
    rollout, groups, _, _ = collected(config)
    rules = rollout.rules
    assert rollout.num_plies == deals * rules.stock_size
    last = np.arange(1, deals + 1) * rules.stock_size - 1
    assert rollout.is_over[last].all() and rollout.is_over.sum() == deals * TABLES
    exact = make_agent("random+endings")
    margins = np.zeros((deals, TABLES))
    for deal in range(deals):
        table = BatchTable(TABLES, rules, rollout.deal_seed, first_deal=deal * TABLES)
        for ply in range(rules.deck_size):
            if ply < rules.stock_size:
                cards = rollout.cards[deal * rules.stock_size + ply]
            else:
                cards = exact.act_batch(table.views(), rules, np.zeros(TABLES, np.int64))
            step = table.play(cards)
        margins[deal] = step.thirds[:, 0] - step.thirds[:, 1]
    paid = rollout.rewards.reshape(deals, rules.stock_size, TABLES).sum(1)
    np.testing.assert_allclose(10 * paid, margins, atol=1e-4)
    results = rollout.collect(network_for(rules), groups, 0).results
    alone = groups[0].tables
    assert results.margin_thirds["self"] == pytest.approx(margins[:, alone].sum(), abs=1e-2)


def test_the_critic_sees_the_stock_in_the_order_of_the_draws() -> None:
    config = config_for("playmore", critic=CriticConfig(hidden=[8], sees="hands_and_stock"))
    rollout, _, _, _ = collected(config)
    table = BatchTable(TABLES, rollout.rules, rollout.deal_seed)
    for ply in range(rollout.num_plies):
        for number, state in enumerate(table.states):
            left = [int(card) for card in state["stock"][state["drawn"] :]]
            parts = [left[0:1], left[1:2], left[2:4], left[4:8], left[8:]]
            expected = [int(state["hands"][1 - state["turn"]]), *map(card_set, parts)]
            assert rollout.hidden_sets[ply, number].tolist() == expected
        table.play(rollout.cards[ply])
    assert hidden_set_count(config, get_rules("gamelake_partners")) == 3  # there is no stock


def test_the_critic_sees_the_stock_of_a_small_deck() -> None:
    config = config_for("mini_2x5", critic=CriticConfig(hidden=[8], sees="hands_and_stock"))
    rollout, _, _, _ = collected(config)
    table = BatchTable(TABLES, rollout.rules, rollout.deal_seed)
    for ply in range(rollout.num_plies):
        for number, state in enumerate(table.states):
            stock = state["stock"][: rollout.rules.stock_size]
            left = [int(card) for card in stock[state["drawn"] :]]
            parts = [left[0:1], left[1:2], left[2:4], left[4:8], left[8:]]
            assert rollout.hidden_sets[ply, number, 1:].tolist() == [*map(card_set, parts)]
        table.play(rollout.cards[ply])


@pytest.mark.parametrize("name", HOUSES)
def test_the_learners_decisions_and_their_probabilities(name: str) -> None:
    rollout, groups, experience, network = collected(config_for(name))
    plies = rollout.num_plies
    alone = groups[0].tables.stop
    assert len(experience.rows) == alone * plies + (TABLES - alone) * plies // 2
    assert {group.name for group in groups} == {"self", "greedy", "random", "snapshots 0"}
    rows = experience.rows
    with torch.no_grad():
        logits, values = network(experience.observations[rows].float())
        expected = mask_logits(logits, mask_tensor(experience.legal_sets[rows])).log_softmax(1)
    found = expected.gather(1, experience.cards[rows, None])[:, 0]
    torch.testing.assert_close(experience.log_probabilities[rows], found, atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(experience.values[rows], values, atol=1e-4, rtol=1e-4)
    assert float(found.min()) > -20  # no illegal card was drawn


def test_results_are_the_learners_margins() -> None:
    rollout, groups, experience, _ = collected(config_for("playmore"))
    margins = 10 * rollout.rewards.sum(0)
    for group in groups:
        own = margins[group.tables]
        if group.opponent is not None:
            sides = np.arange(group.tables.start, group.tables.stop) % 2
            own = np.where(sides == 1, -own, own)
        assert experience.results.deals[group.name] == len(own)
        assert experience.results.margin_thirds[group.name] == pytest.approx(own.sum(), abs=1e-3)
        assert experience.results.wins[group.name] == (own > 0).sum()


def test_a_tie_counts_half() -> None:
    results, others = Results(), Results()
    results.add("greedy", np.array([1, 0, -2, 0, 3], np.float32))
    results.add("random", np.array([-1], np.float32))
    others.add("greedy", np.array([0], np.float32))
    results.merge(others)
    assert results.deals == {"greedy": 6, "random": 1}
    assert results.wins == {"greedy": 3.5, "random": 0}
    assert results.margin_thirds == {"greedy": 2, "random": -1}


def test_house_rewards_are_the_margin_in_points_at_the_end() -> None:
    config = config_for("playmore", reward=RewardConfig(kind="house", scale=11.0))
    rollout, _, _, _ = collected(config)
    assert not rollout.rewards[:-1].any()
    margins = np.round(11 * rollout.rewards[-1]).astype(int)
    assert set((np.abs(margins) % 2).tolist()) == {1}  # 11 points: 6-5, 7-4, ...
    assert np.abs(margins).max() <= 11


def test_where_fewest_win_rewards_are_turned_round() -> None:
    rules = get_rules("playmore").replace(objective="fewest", cappotto="none")
    config = config_for("playmore")
    shard = ShardRollout(config, rules, 0)
    table = BatchTable(TABLES, rules, shard.deal_seed)
    shard.collect(network_for(rules), [Group("self", slice(0, TABLES))], 0)
    for ply in range(40):
        thirds = table.play(shard.cards[ply]).thirds
    lead = (thirds[:, 0] - thirds[:, 1]) / 10
    np.testing.assert_allclose(shard.rewards.sum(0), -lead, atol=1e-5)


def test_house_rewards_where_fewest_win() -> None:
    rules = get_rules("playmore").replace(objective="fewest", cappotto="none")
    shard = ShardRollout(config_for("playmore", reward=RewardConfig(kind="house")), rules, 0)
    shard.collect(network_for(rules), [Group("self", slice(0, TABLES))], 0)
    table = BatchTable(TABLES, rules, shard.deal_seed)
    for ply in range(40):
        thirds = table.play(shard.cards[ply]).thirds.astype(int)
    lead = thirds[:, 1] - thirds[:, 0]
    clear = np.abs(lead) > 3  # no rounding to points turns it round
    assert clear.any()
    np.testing.assert_array_equal(np.sign(shard.rewards[-1])[clear], np.sign(lead)[clear])


def test_an_update_draws_the_same_whatever_came_before() -> None:
    config = config_for("mini_2x5")
    rollout, groups, first, network = collected(config, update=2)
    cards = first.cards.clone()
    rollout.collect(network, groups, 0)
    assert not torch.equal(cards, first.cards)  # the arrays are the rollout's own
    again = rollout.collect(network, groups, 2)
    assert torch.equal(again.cards, cards)
    fresh = ShardRollout(config, rollout.rules, 0).collect(network, groups, 2)
    assert torch.equal(fresh.cards, cards)


def test_updates_and_shards_draw_their_cards_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same deals at every table: what differs is drawn."""
    rules = get_rules("playmore")
    monkeypatch.setattr(
        ShardRollout, "_new_table", lambda self, *_: BatchTable(self.num_tables, rules, 1)
    )
    network, groups = network_for(rules), [Group("self", slice(0, TABLES))]
    drawn = set()
    for seed, shard, update in ((3, 0, 0), (4, 0, 0), (3, 1, 0), (3, 0, 1), (3, 0, 1)):
        config = config_for(
            "playmore", shards=2, rollout=RolloutConfig(tables=2 * TABLES), seed=seed
        )
        rollout = ShardRollout(config, rules, shard)
        rollout.collect(network, groups, update)
        drawn.add(rollout.cards.tobytes())
    assert len(drawn) == 4


def test_updates_and_shards_play_different_deals() -> None:
    config = config_for("playmore", shards=2, rollout=RolloutConfig(tables=2 * TABLES))
    rules = get_rules("playmore")
    network, groups = network_for(rules), [Group("self", slice(0, TABLES))]
    hands = set()
    for shard in range(2):
        rollout = ShardRollout(config, rules, shard)
        for update in range(3):
            rollout.collect(network, groups, update)
            hands |= {row[:40].tobytes() for row in rollout.observations[0]}
    assert len(hands) == 2 * 3 * TABLES


def test_deals_of_an_update_are_no_other_updates() -> None:
    config = config_for("mini_2x4", rollout=RolloutConfig(tables=TABLES, deals=3))
    rollout = ShardRollout(config, get_rules("mini_2x4"), 0)
    hands = {
        rollout._new_table(update, deal).states["hands"].tobytes()
        for update in range(3)
        for deal in range(3)
    }
    assert len(hands) == 9


# Opponents


class Dice(Agent):
    """``random`` that remembers its seeds."""

    spec = "dice"

    def __init__(self) -> None:
        self.inner = make_agent("random")
        self.seeds: list[int] = []

    def act_batch(self, views: Any, rules: RuleSet, seeds: Any) -> npt.NDArray[np.int64]:
        self.seeds += seeds.tolist()
        return self.inner.act_batch(views, rules, seeds)


def test_the_dice_of_opponents_vary_and_fall_again_the_same() -> None:
    rules = get_rules("playmore")
    network = network_for(rules)

    def thrown(update: int = 2, shard: int = 0, seed: int = 3) -> tuple[list[int], bytes]:
        config = config_for(
            "playmore", shards=2, rollout=RolloutConfig(tables=2 * TABLES), seed=seed
        )
        dice = Dice()
        rollout = ShardRollout(config, rules, shard)
        rollout.collect(network, [Group("dice", slice(0, TABLES), dice)], update)
        return dice.seeds, rollout.cards.tobytes()

    first = thrown()
    assert len(first[0]) == TABLES * 20
    assert thrown() == first
    every = first[0] + thrown(update=3)[0] + thrown(shard=1)[0] + thrown(seed=4)[0]
    assert len(set(every)) == 4 * TABLES * 20
    assert 0 <= min(every) < 1 << 60 and 1 << 62 < max(every) < 1 << 63


def test_a_snapshot_plays_by_its_own_network() -> None:
    config = config_for("playmore")
    rules = get_rules("playmore")
    spec = NetworkSpec(layout_for(rules).size, (16,))
    snapshots = []
    for seed in (7, 8):
        sharp = PolicyNetwork(spec, torch.Generator().manual_seed(seed))
        with torch.no_grad():
            sharp.head.weight.mul_(1e7)  # its best card is certain
        snapshots.append(Snapshot(seed, sharp.eval().requires_grad_(False)))
    half = TABLES // 2
    places = (slice(0, half), slice(half, TABLES))
    groups = [Group("snapshots", place, one) for place, one in zip(places, snapshots, strict=True)]
    rollout = ShardRollout(config, rules, 0)
    rollout.collect(network_for(rules), groups, 0)
    for place, own, other in (
        (places[0], snapshots[0], snapshots[1]),
        (places[1], snapshots[1], snapshots[0]),
    ):
        theirs = ~rollout.is_learner[:, place]
        observations = torch.from_numpy(rollout.observations[:, place][theirs]).float()
        masks = masks_of(rollout.legal_sets[:, place][theirs])
        cards = rollout.cards[:, place][theirs]
        assert len(cards) == half * 20
        free = masks.sum(1) > 1
        shares = [
            (np.where(masks, one.network(observations).numpy(), -np.inf).argmax(1) == cards)[free]
            for one in (own, other)
        ]
        assert shares[0].mean() > 0.99 and shares[1].mean() < 0.6


@pytest.mark.parametrize("wrong", ["played", "none", "negative"])
def test_an_opponent_that_plays_an_illegal_card_is_named(wrong: str) -> None:
    class Cheat(Agent):
        spec = "cheat"

        def act_batch(self, views: Any, rules: RuleSet, seeds: Any) -> npt.NDArray[np.int64]:
            cards = np.array([card_list(int(legal))[0] for legal in views["legal"]])
            late = np.flatnonzero(views["ply"] >= 6)
            if len(late):
                view = views[late[-1]]
                illegal = next(c for c in range(40) if not int(view["legal"]) >> c & 1)
                cards[late[-1]] = {"played": illegal, "none": 40, "negative": -1}[wrong]
                self.legal = card_list(int(view["legal"]))
                self.name = card_text(illegal) if wrong == "played" else "no card"
                self.card = int(cards[late[-1]])
            return cards

    cheat = Cheat()
    rules = get_rules("playmore")
    rollout = ShardRollout(config_for("playmore"), rules, 0)
    groups = [
        Group("self", slice(0, 8)),
        Group("greedy", slice(8, 12), make_agent("greedy")),
        Group("cheat", slice(12, 18), cheat),
        Group("random", slice(18, TABLES), make_agent("random")),
    ]
    with pytest.raises(AgentFailedError) as caught:
        rollout.collect(network_for(rules), groups, 0)
    message = str(caught.value)
    legal = " ".join(f"{card_text(card)} ({card})" for card in cheat.legal)
    assert message.startswith(
        f"agent 'cheat' played {cheat.name} ({cheat.card}), not legal; expected one of {legal}; "
    )
    assert "\n" not in message
