"""The signature of behaviour: integers that an optimisation must leave alone.

A number here changes only with a change that agents can notice. If that was meant, write the new
numbers (``tressette bench --signature``) together with an entry in the change log; if not, the
column says where to look: perft (what may be played), decks (the shuffle), plays (turns, draws,
scores, the random choice), observations, match (totals and history in observations).
"""

from __future__ import annotations

import json

import pytest

from tressette_env.rulesets import playable_presets
from tressette_train.bench.signature import COLUMNS, signature_of

NAMES = ("perft", "decks", "plays", "observations", "match")

PINNED = {
    "playmore": (180996, 249100091, 3986599089, 2011264481, 2603296550),
    "yeeqia": (180996, 249100091, 3109223879, 2257916530, 2234353853),
    "gamelake": (8000000, 249100091, 4228632390, 384292672, 2577291178),
    "gamelake_short": (8000000, 249100091, 4228632390, 384292672, 2601951700),
    "gamelake_partners": (35581, 1932354880, 1156887115, 1760450442, 1076690283),
    "gamelake_partners_short": (35581, 1932354880, 1156887115, 1760450442, 1690236452),
    "cuperativa": (180996, 249100091, 3986599089, 2752337912, 3139389672),
    "mini_2x4": (148, 3995801827, 27383653, 2426170298, 3473406077),
    "mini_2x4_stock_empty": (376, 3995801827, 2766817204, 3262332775, 3115118503),
    "mini_2x5": (6810, 1360399474, 3556798923, 3687310369, 1684125891),
    "mini_2x5_stock_empty": (11564, 1360399474, 55045977, 3274967970, 2040951346),
}


def test_every_playable_house_is_pinned() -> None:
    assert tuple(PINNED) == playable_presets()
    assert tuple(COLUMNS) == NAMES


@pytest.mark.parametrize("rules", PINNED)
def test_behaviour_is_what_it_was(rules: str) -> None:
    assert signature_of(rules) == dict(zip(NAMES, PINNED[rules], strict=True))


def test_numbers_are_exact_integers_everywhere() -> None:
    numbers = signature_of("mini_2x4")
    assert json.loads(json.dumps(numbers)) == numbers
    assert all(type(number) is int and 0 <= number < 2**53 for number in numbers.values())


def test_a_column_changes_with_what_it_stands_for() -> None:
    """Two houses that differ in whether draws are shown: only observations differ."""
    hidden, shown = (dict(zip(NAMES, PINNED[name], strict=True)) for name in HIDDEN_AND_SHOWN)
    assert [name for name in NAMES if hidden[name] != shown[name]] == ["observations", "match"]


HIDDEN_AND_SHOWN = ("playmore", "cuperativa")
