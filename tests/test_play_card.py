"""``BatchTable.play_card``: one table without arrays plays as ``play`` does."""

from __future__ import annotations

import copy
import pickle
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tressette_env import BatchTable
from tressette_env.cards import card_list
from tressette_env.errors import IllegalCardError, OptionError
from tressette_env.rulesets import playable_presets


def play_both(one: BatchTable, other: BatchTable, plies: int, seed: int) -> int:
    """Play the same cards with ``play_card`` and with ``play``; return the episodes that ended."""
    luck, ended = random.Random(seed), 0
    legal = int(one.legal_sets[0])
    for _ in range(plies):
        card = luck.choice(card_list(legal))
        legal, is_over = one.play_card(card)
        step = other.play([card])
        assert (legal, is_over) == (int(step.legal_sets[0]), bool(step.is_over[0]))
        assert one.last_step.rows == step.rows
        assert (one.states == other.states).all()
        ended += is_over
    last = [table.observe(last=True) for table in (one, other)]
    assert (last[0] == last[1]).all()
    return ended


@pytest.mark.parametrize("episode", ["deal", "match"])
@pytest.mark.parametrize("rules", playable_presets())
def test_cards_bring_what_they_bring_in_play(rules: str, episode: str) -> None:
    one, other = (BatchTable(1, rules, 3, episode=episode) for _ in range(2))
    assert play_both(one, other, 130, 1) >= (episode == "deal")


def test_listed_deals_are_dealt_in_their_order() -> None:
    rng = random.Random(2)
    deals = [(rng.sample(range(40), 40), 1), (rng.sample(range(40), 40), 0)]
    one, other = (BatchTable(1, "playmore", deals=deals) for _ in range(2))
    assert play_both(one, other, 130, 3) == 3


COPIES: dict[str, Callable[[BatchTable], BatchTable]] = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda table: pickle.loads(pickle.dumps(table)),
}


@pytest.mark.parametrize("name", COPIES)
def test_a_copy_goes_on_by_itself(name: str) -> None:
    table = BatchTable(1, "gamelake", 4)
    play_both(table, BatchTable(1, "gamelake", 4), 25, 5)
    twin = COPIES[name](table)
    before = table.states
    play_both(twin, COPIES[name](table), 60, 6)
    assert (table.states == before).all()
    play_both(table, COPIES[name](table), 60, 6)
    assert (table.states == twin.states).all()


def test_a_restored_table_deals_from_the_seed_of_its_snapshot() -> None:
    table, other = BatchTable(1, "playmore", 7), BatchTable(1, "playmore", 8)
    table.restore(other.snapshot())
    assert play_both(table, other, 90, 9) == 2


def test_a_restored_table_deals_from_the_list_of_its_snapshot() -> None:
    rng = random.Random(4)
    deals = [(rng.sample(range(40), 40), 0) for _ in range(3)]
    for kept, given in ((None, deals), (deals, None), (deals[:1], deals[1:])):
        table, other = (BatchTable(1, "playmore", 7, deals=one) for one in (kept, given))
        table.restore(other.snapshot())
        assert play_both(table, other, 130, 9) == 3


def test_the_last_step_says_who_won_how_much() -> None:
    table, ended = BatchTable(1, "gamelake_short", 2, episode="match"), 0
    legal = int(table.legal_sets[0])
    while ended < 3:
        legal, is_over = table.play_card(card_list(legal)[-1])
        step = table.last_step
        assert step.is_over.tolist() == [is_over] and step.legal_sets.tolist() == [legal]
        assert (step.margins[0] in (-1, 1)) is is_over
        ended += is_over


def test_a_table_keeps_its_seed() -> None:
    table = BatchTable(1, seed=7)
    with pytest.raises(AttributeError, match="seed"):
        table.seed = 8  # type: ignore[misc]
    assert table.seed == 7


def test_without_a_card_of_its_own_the_last_step_is_empty() -> None:
    table = BatchTable(1, seed=7)
    assert not table.last_step.legal_sets.any()
    legal, _ = table.play_card(card_list(int(table.legal_sets[0]))[0])
    kept = table.last_step
    table.restore(table.snapshot())
    assert not table.last_step.legal_sets.any() and not copy.copy(table).last_step.thirds.any()
    assert kept.legal_sets == legal


def test_it_may_be_mixed_with_play_and_observing() -> None:
    one, other = BatchTable(1, "playmore", 1), BatchTable(1, "playmore", 1)
    for _ in range(60):
        card = card_list(int(one.legal_sets[0]))[-1]
        one.play([card])
        other.play_card(card)
        card = card_list(int(other.legal_sets[0]))[0]
        one.play_card(card)
        other.play([card])
        assert (one.observations == other.observations).all()
        assert one.view(0) == other.view(0)


@pytest.mark.parametrize("card", [0, np.int64(0), np.uint8(0), True])
def test_any_kind_of_integer_is_a_card_but_a_bool(card: Any) -> None:
    table = BatchTable(1, deals=[(range(40), 0)])
    if card is True:
        with pytest.raises(OptionError, match="integer"):
            table.play_card(card)
    else:
        assert table.play_card(card)[1] is False


@pytest.mark.parametrize("card", [40, -1, 10, 2**63 - 1, -(2**63), 2**64, -(2**70)])
def test_a_card_that_may_not_be_played_is_named_and_nothing_moves(card: int) -> None:
    table = BatchTable(1, deals=[(range(40), 0)])
    before = table.states
    with pytest.raises(
        IllegalCardError, match=r"table 0, seat 0: expected one of .*; got "
    ) as info:
        table.play_card(card)
    assert (table.states == before).all()
    assert info.value.record == table.record(0)


@pytest.mark.parametrize("card", [None, "3", 1.0, [3], [3, [4]], np.zeros(2, np.int64)])
def test_what_is_no_integer_is_refused(card: Any) -> None:
    with pytest.raises(OptionError, match="card: expected an"):
        BatchTable(1, seed=1).play_card(card)


def test_more_tables_than_one_are_refused() -> None:
    table = BatchTable(2, seed=1)
    with pytest.raises(OptionError, match=r"one table, got 2; play\(\)"):
        table.play_card(0)
    with pytest.raises(OptionError, match="one table, got 2"):
        _ = table.last_step
