"""Scoring of a deal, deals to a target: totals, the next leader, who won (R11-R14, R18, R19).

Like ``rules.py``, these functions run interpreted on a ``State`` and compiled on a record.
"""

from __future__ import annotations

from typing import Any

__all__ = [
    "MATCH_DRAWN",
    "MATCH_OPEN",
    "add_deal",
    "house_margin",
    "house_score",
    "house_total",
    "match_margin",
    "next_leader",
    "opening_leader",
    "start_match",
    "winning_side",
]

# Values of state.match_result; 1 + side for a match that a side has won.
MATCH_OPEN = 0
MATCH_DRAWN = 3


def house_score(thirds: int, rules: Any) -> int:
    """Score of one side's thirds in the house's unit: whole points (R12) or thirds (R11)."""
    return thirds // 3 if rules.scored_in_points else thirds


def house_total(rules: Any) -> int:
    """Return what both sides score together: 11 points or 35 thirds with the full deck."""
    return house_score(rules.total_thirds, rules)


def house_margin(state: Any, rules: Any) -> int:
    """Margin of side 0 in a finished deal, in the house's unit; negated if less wins (R19)."""
    margin = house_score(state.thirds[0], rules) - house_score(state.thirds[1], rules)
    return -margin if rules.fewest_wins else margin


def start_match(state: Any) -> None:
    """Set the totals to zero and the result to undecided."""
    state.totals[0] = 0
    state.totals[1] = 0
    state.match_result = MATCH_OPEN


def add_deal(state: Any, rules: Any) -> None:
    """Add a finished deal to the totals and decide whether the match is over (R13, R18).

    Fractions are dropped deal by deal, never carried (R12).
    """
    for side in range(2):
        state.totals[side] += house_score(state.thirds[side], rules)
    ahead = winning_side(state.totals[0], state.totals[1], rules)
    if rules.wins_match_with_all:
        for side in range(2):
            if house_score(state.thirds[side], rules) == house_total(rules):
                state.match_result = 1 + side
                return
    if rules.target_total == 0:
        state.match_result = 1 + ahead if ahead >= 0 else MATCH_DRAWN
    elif ahead >= 0 and max(state.totals[0], state.totals[1]) >= rules.target_total:
        state.match_result = 1 + ahead


def winning_side(score_0: int, score_1: int, rules: Any) -> int:
    """Side that is ahead, or -1 if level; with fewest_wins the lower score is ahead (R19)."""
    if score_0 == score_1:
        return -1
    return 0 if (score_0 > score_1) != rules.fewest_wins else 1


def match_margin(state: Any) -> int:
    """+1 if side 0 has won the match, -1 if side 1 has, else 0."""
    if state.match_result == 1:
        return 1
    return -1 if state.match_result == 2 else 0


def opening_leader(state: Any, rules: Any) -> int:
    """Seat that led the first trick of the deal: the one after the dealer (R14)."""
    return (state.dealer + 1) % rules.seats  # type: ignore[no-any-return]


def next_leader(state: Any, rules: Any) -> int:
    """Seat that leads the next deal: the deal passes on every deal (R14)."""
    return (state.dealer + 2) % rules.seats  # type: ignore[no-any-return]
