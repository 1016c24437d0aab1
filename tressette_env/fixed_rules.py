"""Rules that compiled loops keep in registers, where a record would be read after every write."""

from __future__ import annotations

from typing import Any, NamedTuple

from tressette_env.compiling import inlined

__all__ = ["FixedRules", "fixed_rules"]


class FixedRules(NamedTuple):
    """The fields of RULES_DTYPE, in its order."""

    deck_set: int
    seats: int
    hand_size: int
    stock_size: int
    deck_size: int
    follow_always: int
    draws_shown: int
    scored_in_points: int
    target_total: int
    wins_match_with_all: int
    fewest_wins: int
    total_thirds: int


@inlined
def fixed_rules(row: Any, seats: int) -> FixedRules:
    """Return the rules of a record of RULES_DTYPE, whose seats are known.

    With a constant for ``seats``, what depends on it dissolves; so a loop over tables stands twice
    in machine code, for two seats and for four.
    """
    return FixedRules(
        row.deck_set,
        seats,
        row.hand_size,
        row.stock_size,
        row.deck_size,
        row.follow_always,
        row.draws_shown,
        row.scored_in_points,
        row.target_total,
        row.wins_match_with_all,
        row.fewest_wins,
        row.total_thirds,
    )
