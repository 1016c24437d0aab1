"""Rule sets: the presets field by field, what a rule set refuses, and smaller decks."""

from __future__ import annotations

import dataclasses
import pickle
from typing import Any

import numpy as np
import pytest

from tressette_env import BatchTable, SingleSeatEnv, tressette_v0
from tressette_env.cards import ALL_CARDS, set_worth
from tressette_env.errors import RulesError
from tressette_env.notation import deck_text, parse_deck
from tressette_env.rulesets import PRESETS, RULES_DTYPE, RuleSet, get_rules, playable_presets

# The table of the houses: seats, follow, draws, scoring, target, declarations, cappotto.
HOUSES = {
    "playmore": (2, "always", "hidden", "points", 21, "none", "none"),
    "yeeqia": (2, "always", "hidden", "thirds", None, "none", "none"),
    "gamelake": (2, "stock_empty", "hidden", "points", 21, "none", "none"),
    "gamelake_short": (2, "stock_empty", "hidden", "points", 11, "none", "none"),
    "gamelake_partners": (4, "always", None, "points", 21, "none", "none"),
    "gamelake_partners_short": (4, "always", None, "points", 11, "none", "none"),
    "cuperativa": (2, "always", "shown", "points", 21, "none", "none"),
    "spizzichino": (2, "always", "shown", "points", 21, "any_turn", "none"),
    "fitres": (4, "always", None, "points", 21, "opening", "all_points"),
}
# Name: ranks of both suits, hand, stock, follow.
MINIS = {
    "mini_2x4": ("7KA3", 2, 4, "always"),
    "mini_2x4_stock_empty": ("7KA3", 2, 4, "stock_empty"),
    "mini_2x5": ("67KA3", 3, 4, "always"),
    "mini_2x5_stock_empty": ("67KA3", 3, 4, "stock_empty"),
}


@pytest.mark.parametrize("name", HOUSES)
def test_a_house_is_what_its_published_rules_say(name: str) -> None:
    rules = PRESETS[name]
    seats, follow, draws, scoring, target, declarations, cappotto = HOUSES[name]
    assert rules.name == name
    assert rules.seats == seats
    assert rules.follow == follow
    assert draws is None or rules.draws == draws
    assert rules.scoring == scoring
    assert rules.target == target
    assert rules.declarations == declarations
    assert rules.cappotto == cappotto
    assert rules.objective == "most"
    assert rules.deck == tuple(range(40))
    assert rules.hand_size == 10
    assert rules.stock_size == (20 if seats == 2 else 0)
    assert rules.sides == 2
    assert rules.total_thirds == 35
    assert rules.num_actions == 40
    assert rules.source


@pytest.mark.parametrize("name", MINIS)
def test_a_small_deck_is_what_it_says(name: str) -> None:
    rules = PRESETS[name]
    ranks, hand_size, stock_size, follow = MINIS[name]
    assert rules.name == name
    assert rules.deck == parse_deck(" ".join(rank + suit for suit in "DC" for rank in ranks))
    assert rules.hand_size == hand_size
    assert rules.stock_size == stock_size
    assert rules.deck_size == 2 * len(ranks) == 2 * hand_size + stock_size
    assert rules.follow == follow
    assert (rules.seats, rules.draws, rules.scoring) == (2, "shown", "thirds")
    assert (rules.target, rules.declarations, rules.cappotto) == (None, "none", "none")
    assert rules.total_thirds == 13  # two suits of A + 3 + K, and the last trick
    assert rules.num_actions == 40


def test_these_are_all_presets_and_the_default_is_playmore() -> None:
    assert set(PRESETS) == {*HOUSES, *MINIS}
    assert playable_presets() == (
        *("playmore", "yeeqia", "gamelake", "gamelake_short", "gamelake_partners"),
        *("gamelake_partners_short", "cuperativa", *MINIS),
    )
    assert RuleSet() == dataclasses.replace(PRESETS["playmore"], name="custom", source="")
    assert tressette_v0.raw_env().rules is PRESETS["playmore"]
    assert BatchTable(1, seed=0).rules is PRESETS["playmore"]


@pytest.mark.parametrize("name", playable_presets())
def test_the_compiled_rules_are_the_rule_set_field_by_field(name: str) -> None:
    rules = PRESETS[name]
    row = rules.row[0]
    assert rules.row.dtype == RULES_DTYPE
    for field in RULES_DTYPE.names or ():
        assert int(row[field]) == int(getattr(rules, field)), field
    assert row["deck_set"] == sum(1 << card for card in rules.deck)
    assert row["follow_always"] == (rules.follow == "always")
    assert row["draws_shown"] == (rules.draws == "shown")
    assert row["scored_in_points"] == (rules.scoring == "points")
    assert row["target_total"] == (rules.target or 0)
    assert not rules.row.flags.writeable


@pytest.mark.parametrize(
    ("typo", "meant"),
    [
        ("playmor", "playmore"),
        ("Cuperativa", "cuperativa"),
        ("gamelake-short", "gamelake_short"),
        ("mini2x4", "mini_2x4"),
    ],
)
def test_an_unknown_preset_is_refused_with_the_closest_name(typo: str, meant: str) -> None:
    makers: list[Any] = [
        get_rules,
        lambda rules: tressette_v0.env(rules=rules),
        lambda rules: BatchTable(2, rules),
        lambda rules: SingleSeatEnv("random", rules=rules),
    ]
    for make in makers:
        with pytest.raises(RulesError, match=f"unknown rule set '{typo}'; did you mean '{meant}'"):
            make(typo)


def test_an_unknown_preset_names_all_that_play() -> None:
    with pytest.raises(RulesError) as caught:
        get_rules("xyz")
    for name in playable_presets():
        assert name in str(caught.value)
    assert "did you mean" not in str(caught.value)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize("wrong", [None, 3, b"playmore", ["playmore"]])
def test_rules_of_another_type_are_refused(wrong: Any) -> None:
    with pytest.raises(RulesError, match="expected a preset name or a RuleSet, got"):
        get_rules(wrong)


@pytest.mark.parametrize("name", ["spizzichino", "fitres"])
def test_a_house_with_declarations_names_itself_and_says_that_it_does_not_play_yet(
    name: str,
) -> None:
    expected = f"rule set '{name}' has declarations .* cannot be played yet"
    for make in (
        get_rules,
        lambda rules: BatchTable(2, rules),
        lambda r: tressette_v0.env(rules=r),
    ):
        with pytest.raises(RulesError, match=expected) as caught:
            make(name)
        assert "playmore" in str(caught.value)
    with pytest.raises(RulesError, match=expected):
        get_rules(PRESETS[name])


@pytest.mark.parametrize("other", [{"scoring": "thirds"}, {"objective": "fewest"}])
def test_all_points_of_a_deal_win_only_where_points_are_scored_and_more_wins(
    other: dict[str, str],
) -> None:
    with pytest.raises(RulesError, match=r"^RuleSet cappotto: 'all_points' is about all points"):
        PRESETS["fitres"].replace(declarations="none", **other)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("seats", 3),
        ("seats", 1),
        ("seats", "2"),
        ("seats", 2.0),
        ("follow", "never"),
        ("draws", "open"),
        ("scoring", "point"),
        ("declarations", "yes"),
        ("cappotto", "all"),
        ("objective", "least"),
        ("target", 0),
        ("target", -21),
        ("target", 21.0),
        ("target", "21"),
        ("target", True),
        ("hand_size", 0),
        ("hand_size", 11),
        ("hand_size", -1),
        ("hand_size", 10.0),
    ],
)
def test_a_field_out_of_range_is_refused_by_its_name(field: str, value: object) -> None:
    with pytest.raises(RulesError, match=rf"^RuleSet {field}: expected ") as caught:
        PRESETS["playmore"].replace(**{field: value})
    assert str(value) in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"hand_size": 9}, "leave a stock of 22; expected 0 to 20"),
        ({"deck": tuple(range(39))}, "39 cards for 2 hands of 10 leave a stock of 19; expected"),
        ({"deck": tuple(range(18))}, "leave a stock of -2"),
        ({"seats": 4, "hand_size": 9}, "four seats play without a stock"),
        ({"deck": (1, 0, *range(2, 40))}, "expected card numbers in ascending order"),
        ({"deck": tuple(range(40))[::-1]}, "expected card numbers in ascending order"),
        (
            {"deck": PRESETS["mini_2x4"].deck, "hand_size": 2},
            "use scoring='thirds' with this deck",
        ),
    ],
)
def test_fields_that_contradict_each_other_are_refused(changes: Any, message: str) -> None:
    with pytest.raises(RulesError, match=message):
        PRESETS["playmore"].replace(**changes)


@pytest.mark.parametrize(
    "deck",
    [
        (0, 0, *range(1, 39)),
        (*range(39), 40),
        (-1, *range(39)),
        (*range(39), 39.0),
        (*range(39), "3D"),
        list(range(40)),
        None,
    ],
)
def test_a_deck_of_wrong_or_repeated_cards_is_refused(deck: Any) -> None:
    with pytest.raises(RulesError, match=r"^RuleSet deck: expected"):
        RuleSet(deck=deck)


def test_replace_changes_what_it_is_told_and_renames() -> None:
    changed = PRESETS["playmore"].replace(follow="stock_empty", target=31)
    assert changed == RuleSet(
        name="custom", follow="stock_empty", target=31, source=PRESETS["playmore"].source
    )
    assert PRESETS["playmore"].follow == "always"
    assert changed.replace(name="mine").name == "mine"
    assert changed.row["follow_always"] == 0  # nothing computed is carried over
    with pytest.raises(TypeError, match="colour"):
        PRESETS["playmore"].replace(colour="red")


def test_a_rule_set_cannot_be_changed_and_goes_into_other_processes() -> None:
    rules = PRESETS["gamelake_partners"]
    with pytest.raises(dataclasses.FrozenInstanceError):
        rules.target = 11  # type: ignore[misc]
    assert rules.row is not None
    copied = pickle.loads(pickle.dumps(rules))
    assert copied == rules
    assert not copied.row.flags.writeable
    assert hash(copied) == hash(rules)


@pytest.mark.parametrize(
    ("changes", "thirds"),
    [
        ({}, 13),
        ({"deck": parse_deck("4D 7D KD AD 3D 4C 7C KC AC 3C 4S 7S KS AS"), "hand_size": 5}, 17),
        ({"deck": tuple(range(12)), "hand_size": 3, "seats": 4}, 11),
    ],
)
def test_a_deck_of_ones_own_plays_to_the_end(changes: dict[str, Any], thirds: int) -> None:
    rules = PRESETS["mini_2x4"].replace(**changes)
    assert rules.total_thirds == thirds == set_worth(sum(1 << card for card in rules.deck)) + 3
    table = BatchTable(50, rules, seed=1)
    for _ in range(rules.deck_size - 1):
        assert not table.play(table.legal_masks.argmax(1)).is_over.any()
    step = table.play(table.legal_masks.argmax(1))
    assert step.is_over.all()
    assert (step.thirds.sum(1) == thirds).all()
    assert np.isin(np.flatnonzero(table.legal_masks.any(0)), rules.deck).all()


def test_a_deck_that_a_house_plays_is_the_full_one() -> None:
    assert PRESETS["playmore"].deck_set == ALL_CARDS
    assert deck_text(PRESETS["mini_2x5"].deck) == "6D 7D KD AD 3D 6C 7C KC AC 3C"
