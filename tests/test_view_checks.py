"""Views that no deal can have shown are refused, by name, before a search takes them for true."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from small_agents import HOUSES

from tressette_agents import make_agent
from tressette_env.batch import BatchTable
from tressette_env.cards import suit_of
from tressette_env.errors import OptionError
from tressette_env.rulesets import PRESETS, RuleSet
from tressette_env.view import View
from tressette_env.view_checks import check_views, view_error

PLAYMORE = PRESETS["playmore"]
SPECS = ["flat:worlds=1", "pimc:worlds=1", "ismcts:iterations=5", "greedy+endings"]


@pytest.mark.parametrize("house", HOUSES, ids=lambda house: house.name)
def test_every_view_of_every_seat_passes(house: RuleSet) -> None:
    table = BatchTable(20, house, 3)
    for ply in range(house.deck_size):
        for relative in range(house.seats):
            views = table.views((table.seats + relative) % house.seats)
            check_views(views, house, np.zeros(20, np.int64))
            assert view_error(View.from_record(views[0], house), house) == ""
        if ply < house.deck_size - 1:
            table.play_randomly(1, ply)


DAMAGE: list[tuple[str, Any, str]] = [
    ("seat", 9, "seat 9"),
    ("seat", -1, "seat -1"),
    ("turn", 1, "turn 1"),
    ("turn", 7, "turn 7"),
    ("leader", 5, "leader 5"),
    ("ply", 3, "ply 3"),
    ("ply", 99, "ply 99"),
    ("table_size", 0, "0 cards on the table"),
    ("stock_left", -2, "-2 to draw"),
    ("stock_left", 100, "100 to draw"),
    ("hand", 0, "do not share out the deck"),
    ("hand", -1, "do not share out the deck"),
    ("unseen", 0, "do not share out the deck"),
    ("known", [0, 1 << 39, 0, 0], "do not share out the deck"),
    ("played", [0, 0, 1, 0], "do not share out the deck"),
    ("plays", [100] * 40, "in the order played"),
    ("plays", [-1] * 40, "in the order played"),
    ("thirds", [30, 0], "in the order played"),
    ("voids", [0, 15, 0, 0], "R6"),
    ("legal", (1 << 40) - 1, "legal"),
    ("legal", 0, "legal"),
    ("legal", -1, "legal"),
]


@pytest.mark.parametrize(("field", "value", "words"), DAMAGE)
def test_a_damaged_view_is_refused_and_named(field: str, value: Any, words: str) -> None:
    """One ply after two tricks: a card is on the table."""
    table = BatchTable(3, PLAYMORE, 2)
    table.play_randomly(5, 1)
    views = table.views()
    views[field][1] = value
    damaged = View.from_record(views[1], PLAYMORE)
    assert words in view_error(damaged, PLAYMORE)
    for spec in SPECS:
        agent = make_agent(spec)
        with pytest.raises(OptionError, match=r"(?s)expected one that make_view.*\(view 1 of 3\)"):
            agent.act_batch(views, PLAYMORE, np.zeros(3, np.int64))
        with pytest.raises(OptionError, match="expected one that make_view makes"):
            agent.act(damaged, 0)


@pytest.mark.parametrize(
    ("field", "value"), [("hand", "D:3"), ("hand", None), ("plays", [1, 2]), ("seat", 1000)]
)
def test_fields_of_another_type_or_size_are_refused(field: str, value: Any) -> None:
    view = BatchTable(1, PLAYMORE, 2).view(0)
    setattr(view, field, value)
    for spec in SPECS:
        with pytest.raises(OptionError, match="a field is of a wrong type or size"):
            make_agent(spec).act(view, 0)


@pytest.mark.parametrize("spec", SPECS[:3])
def test_what_only_the_sampler_finds_is_named_too(spec: str) -> None:
    """All that is public fits, but the opponent would hold eleven cards."""
    views = BatchTable(2, PLAYMORE, 2).views()
    known = sum(1 << card for card in range(40) if views["unseen"][1] >> card & 1)
    while known.bit_count() > 11:
        known &= known - 1
    views["known"][1, 1] = known
    views["unseen"][1] ^= known
    check_views(views, PLAYMORE, np.zeros(2, np.int64))
    with pytest.raises(OptionError, match=r"no hidden cards fit \(view 1 of 2\)"):
        make_agent(spec).act_batch(views, PLAYMORE, np.zeros(2, np.int64))


def test_a_seat_that_is_not_to_act_may_not_have_legal_cards() -> None:
    table = BatchTable(1, PLAYMORE, 2)
    views = table.views(1 - table.seats)
    assert make_agent("flat:worlds=1").act_batch(views, PLAYMORE, np.zeros(1, np.int64)) == [-1]
    views["legal"] = views["hand"]
    with pytest.raises(OptionError, match="legal is not"):
        make_agent("flat:worlds=1").act_batch(views, PLAYMORE, np.zeros(1, np.int64))


def test_a_seat_that_followed_suit_after_it_had_not_is_refused() -> None:
    """Four seats, nobody draws: a discard changes places with an earlier card of the led suit."""
    rules = PRESETS["gamelake_partners"]
    table = BatchTable(20, rules, 4)
    table.play_randomly(24, 1)
    found = set()
    for view in (View.from_record(row, rules) for row in table.views()):
        for late in range(view.ply):
            led, card = view.plays[late - late % 4], view.plays[late]
            seat = next(relative for relative in range(4) if view.played[relative] >> card & 1)
            if suit_of(card) == suit_of(led):
                continue
            for early in range(late - late % 4):
                other, led_before = view.plays[early], view.plays[early - early % 4]
                followed = early % 4 > 0 and suit_of(other) == suit_of(led_before) == suit_of(led)
                if followed and view.played[seat] >> other & 1:
                    swapped = View.from_record(view.to_record()[0], rules)
                    swapped.plays[late], swapped.plays[early] = other, card
                    found.add(view_error(swapped, rules))
    assert "" not in found
    assert any("R6" in error for error in found)


@pytest.mark.parametrize("spec", SPECS)
def test_there_is_a_seed_for_every_view(spec: str) -> None:
    views = BatchTable(3, PLAYMORE, 2).views()
    for seeds in (np.zeros(2, np.int64), np.zeros((3, 1), np.int64)):
        with pytest.raises(OptionError, match="views, seeds: expected VIEW_DTYPE"):
            make_agent(spec).act_batch(views, PLAYMORE, seeds)
    with pytest.raises(OptionError, match="views, seeds: expected VIEW_DTYPE"):
        make_agent(spec).act_batch(np.zeros(3), PLAYMORE, np.zeros(3, np.int64))


BAD_SEEDS: list[Any] = [-1, 1.5, 1 << 63, 1 << 70, "7", True, float("nan"), None]


@pytest.mark.parametrize("spec", SPECS)
def test_seeds_are_whole_numbers_up_to_63_bits(spec: str) -> None:
    table, agent = BatchTable(2, PLAYMORE, 2), make_agent(spec)
    for seed in BAD_SEEDS:
        with pytest.raises(OptionError, match="seeds: expected integers"):
            agent.act_batch(table.views(), PLAYMORE, np.array([seed, seed]))
        with pytest.raises(OptionError, match="seed: expected an integer"):
            agent.act(table.view(0), seed)
    cards = agent.act_batch(table.views(), PLAYMORE, np.array([3, 5]))
    for seeds in ([3, 5], np.array([3, 5], np.uint8), np.array([3, 0, 5, 0])[::2]):
        assert (agent.act_batch(table.views(), PLAYMORE, seeds) == cards).all()  # type: ignore[arg-type]


@pytest.mark.parametrize("spec", SPECS)
def test_a_name_of_rules_and_what_is_no_view_are_refused(spec: str) -> None:
    views = BatchTable(1, PLAYMORE, 2).views()
    for rules in ("playmore", None):
        with pytest.raises(OptionError, match=r"rules: expected a RuleSet, got .*get_rules"):
            make_agent(spec).act_batch(views, rules, np.zeros(1, np.int64))  # type: ignore[arg-type]
    strangers: list[Any] = [None, views[0]]
    for view in strangers:
        with pytest.raises(OptionError, match="view: expected a View, got"):
            make_agent(spec).act(view, 0)
