"""The pool of opponents: shares of the tables, and snapshots that stay what they were."""

from __future__ import annotations

import pytest
import torch

from tressette_agents.networks import NetworkSpec, PolicyNetwork
from tressette_env import TressetteError, get_rules
from tressette_train.config import OpponentsConfig
from tressette_train.opponents import OpponentPool, Snapshot

RULES = get_rules("playmore")


def policy(seed: int = 0) -> PolicyNetwork:
    return PolicyNetwork(NetworkSpec(6, (4,)), torch.Generator().manual_seed(seed))


def pool(**settings: object) -> OpponentPool:
    return OpponentPool.for_rules(OpponentsConfig.model_validate(settings), RULES)


def sizes(one: OpponentPool, num_tables: int, seed: int = 0) -> dict[str, int]:
    found: dict[str, int] = {}
    for group in one.seat(num_tables, seed):
        found[group.name] = found.get(group.name, 0) + group.tables.stop - group.tables.start
    return found


def test_half_of_the_tables_by_weight() -> None:
    one = pool(agents={"greedy": 2.0, "random": 1.0}, snapshots=1.0)
    assert sizes(one, 96) == {"self": 48, "greedy": 32, "random": 16}
    one.add_snapshot(policy(), 1)
    assert sizes(one, 96) == {"self": 48, "greedy": 24, "random": 12, "snapshots 1": 12}


def test_the_snapshots_that_play_share_their_weight() -> None:
    one = pool(agents={"greedy": 1.0}, snapshots=1.0)
    one.add_snapshot(policy(), 1)
    one.add_snapshot(policy(1), 2)
    assert sizes(one, 96) == {"self": 48, "greedy": 24, "snapshots 1": 12, "snapshots 2": 12}


@pytest.mark.parametrize("num_tables", [2, 7, 100, 1021])
@pytest.mark.parametrize("share", [0.0, 0.3, 0.5, 1.0])
def test_every_table_is_in_one_group(num_tables: int, share: float) -> None:
    one = pool(share=share)
    for update in range(3):
        one.add_snapshot(policy(), update)
    groups = one.seat(num_tables, 1)
    tables = [table for group in groups for table in range(num_tables)[group.tables]]
    assert tables == list(range(num_tables))
    alone = sum(group.tables.stop for group in groups if group.opponent is None)
    assert alone == num_tables - round(share * num_tables)


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_no_group_is_empty(share: float) -> None:
    groups = pool(share=share).seat(2, 0)
    assert all(group.tables.stop > group.tables.start for group in groups)


def test_without_opponents_yet_the_learner_plays_alone() -> None:
    assert sizes(pool(agents={}, snapshots=1.0), 10) == {"self": 10}


def test_a_snapshot_does_not_change_when_training_goes_on() -> None:
    one, live = pool(), policy()
    one.add_snapshot(live, 5)
    frozen = one.snapshots[0].network
    before = {name: value.clone() for name, value in frozen.state_dict().items()}
    optimizer = torch.optim.Adam(live.parameters(), 0.1)
    live(torch.ones(3, 6)).sum().backward()
    optimizer.step()
    for name, value in frozen.state_dict().items():
        assert torch.equal(value, before[name])
        assert not torch.equal(value, live.state_dict()[name])
        assert value.data_ptr() != live.state_dict()[name].data_ptr()
    assert not any(parameter.requires_grad for parameter in frozen.parameters())
    assert all(parameter.requires_grad for parameter in live.parameters())


def test_the_oldest_snapshots_go() -> None:
    one = pool(keep=3)
    for update in range(5):
        one.add_snapshot(policy(), update)
    assert [snapshot.update for snapshot in one.snapshots] == [2, 3, 4]


def test_the_seed_draws_the_snapshots_and_all_have_their_turn() -> None:
    one = pool(keep=5)
    for update in range(5):
        one.add_snapshot(policy(), update)

    def drawn(seed: int) -> list[int]:
        groups = one.seat(64, seed)
        return [g.opponent.update for g in groups if isinstance(g.opponent, Snapshot)]

    assert drawn(3) == drawn(3)
    assert {update for seed in range(30) for update in drawn(seed)} == set(range(5))
    assert all(len(set(drawn(seed))) == 2 for seed in range(30))


def test_agents_without_weight_are_not_made() -> None:
    assert list(pool(agents={"greedy": 1.0, "learned:nowhere": 0.0}).agents) == ["greedy"]


def test_without_a_share_no_agent_is_made() -> None:
    assert pool(share=0.0).agents == {}


def test_agents_that_cannot_be_made_are_refused() -> None:
    with pytest.raises(TressetteError, match="no such file or run folder"):
        pool(agents={"learned:nowhere": 1.0})
    with pytest.raises(TressetteError, match="option"):
        pool(agents={"greedy:wild": 1.0})


def play(one: OpponentPool, wins: dict[int, float], deals: float = 100.0) -> None:
    """Record deals against each snapshot, by its update."""
    names = {update: f"snapshots {update}" for update in wins}
    one.record(
        {names[update]: deals for update in wins},
        {names[update]: deals * share for update, share in wins.items()},
    )


def drawn_how_often(one: OpponentPool, draws: int = 600) -> dict[int, float]:
    """Share of the draws in which each snapshot sits at tables, by its update."""
    count = dict.fromkeys((snapshot.update for snapshot in one.snapshots), 0)
    for seed in range(draws):
        for group in one.seat(64, seed):
            if isinstance(group.opponent, Snapshot):
                count[group.opponent.update] += 1
    return {update: times / draws for update, times in count.items()}


def test_the_snapshot_that_wins_most_plays_most() -> None:
    one = pool(keep=5, agents={})
    for update in range(5):
        one.add_snapshot(policy(), update)
    for _ in range(30):
        play(one, {0: 0.9, 1: 0.9, 2: 0.5, 3: 0.9, 4: 0.9})
    often = drawn_how_often(one)
    # Weights .1 ** 2 four times and .5 ** 2: the hard one is missed by both draws in 3 of 100.
    assert often[2] > 0.9
    assert all(0.15 < share < 0.4 for update, share in often.items() if update != 2)


def test_hardness_is_the_square_of_the_share_lost_with_old_deals_fading() -> None:
    one = pool(agents={})
    one.add_snapshot(policy(), 7)
    assert one.snapshots[0].hardness == pytest.approx(0.25)  # nothing known: as if one of two won
    play(one, {7: 0.75}, deals=8)
    assert (one.snapshots[0].deals, one.snapshots[0].wins) == (8, 6)
    assert one.snapshots[0].hardness == pytest.approx((3 / 10) ** 2)
    play(one, {7: 1.0}, deals=10)
    assert one.snapshots[0].deals == pytest.approx(0.9 * 8 + 10)
    assert one.snapshots[0].wins == pytest.approx(0.9 * 6 + 10)


def test_deals_against_others_do_not_count() -> None:
    one = pool(agents={"greedy": 1.0})
    one.add_snapshot(policy(), 7)
    one.record(
        {"greedy": 5, "self": 3, "snapshots 8": 4}, {"greedy": 1, "self": 1, "snapshots 8": 1}
    )
    assert one.snapshots[0].deals == 0


def test_uniform_choice_does_not_ask_who_wins() -> None:
    one = pool(keep=4, agents={}, snapshot_choice="uniform")
    for update in range(4):
        one.add_snapshot(policy(), update)
    for _ in range(30):
        play(one, {0: 0.0, 1: 1.0, 2: 1.0, 3: 1.0})
    assert all(0.4 < share < 0.6 for share in drawn_how_often(one).values())
