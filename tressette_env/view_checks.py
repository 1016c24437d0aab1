"""Whether views are such that ``make_view`` makes them: for agents whose compiled code trusts them.

A view that was written by hand, or damaged, may have places out of range, cards in two hands or
tricks that nobody could have played; a search in its worlds would not end, or read beside its
arrays. The checks cover what everybody has seen. Whether hidden cards can be dealt so that they fit
is for ``worlds_plan.make_plan`` to say.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from tressette_env import cards
from tressette_env.cards import NUM_CARDS, NUM_SUITS, bit_count, card_worth, suit_of, suit_set
from tressette_env.errors import OptionError, shown
from tressette_env.randomness import check_seeds
from tressette_env.rulesets import LAST_TRICK_THIRDS, RuleSet
from tressette_env.view import VIEW_DTYPE, View

__all__ = [
    "check_shapes",
    "check_views",
    "impossible_view",
    "problem_of",
    "to_record",
    "view_error",
]

# What problem_of returns: the view is sound, or what is wrong with it.
_SOUND, _PLACES, _CARDS, _TRICKS, _SUITS, _LEGAL = range(6)

_WORDS = {
    _PLACES: "seat {0.seat}, turn {0.turn}, leader {0.leader}, {0.table_size} cards on the table "
    "and {0.stock_left} to draw do not go together at ply {0.ply}",
    _CARDS: "its sets of cards do not share out the deck, or are too large or small",
    _TRICKS: "the cards in the order played are not the tricks and thirds of its seats",
    _SUITS: "a seat holds or played a suit that it had not followed, or its voids are others (R6)",
    _LEGAL: "legal is not the set of cards that the seat may play now (R6; empty if not to act)",
}


def _places_fit(view: Any, rules: Any) -> bool:
    """Whether all numbers but the thirds are in range and agree."""
    last = rules.seats - 1
    if view.seat < 0 or view.seat > last or view.ply < 0 or view.ply > rules.deck_size:
        return False
    if view.leader < 0 or view.leader > last or view.turn < 0 or view.turn > last:
        return False
    on_table = view.ply & last
    drawn = min(view.ply - on_table, rules.stock_size)
    return bool(
        view.table_size == on_table
        and view.turn == (view.leader + on_table & last)
        and view.stock_left == rules.stock_size - drawn
    )


def _cards_fit(view: Any, rules: Any) -> bool:
    """Whether the sets of cards are parts of one deck, and those of the viewer as many as due."""
    everywhere = view.hand | view.unseen
    count = bit_count(view.hand & rules.deck_set) + bit_count(view.unseen & rules.deck_set)
    for relative in range(4):
        held = view.played[relative]
        if relative == 0:
            if view.known[0] & ~view.hand:
                return False
        else:
            held |= view.known[relative]
            count += bit_count(view.known[relative] & rules.deck_set)
        if relative >= rules.seats and held:
            return False
        everywhere |= held
        count += bit_count(view.played[relative] & rules.deck_set)
    drawn = (rules.stock_size - view.stock_left) // rules.seats
    size = rules.hand_size + drawn - bit_count(view.played[0] & rules.deck_set)
    return bool(
        everywhere == rules.deck_set and count == rules.deck_size and bit_count(view.hand) == size
    )


def _tricks_problem(view: Any, rules: Any) -> int:
    """Play the deal over again, card by card: whose it was, who took the trick, who followed."""
    last = rules.seats - 1
    leader = 0 + view.leader
    for place in range(view.ply):
        if not 0 <= view.plays[place] < NUM_CARDS:
            return _TRICKS
    if view.ply:
        for relative in range(rules.seats):
            if view.played[relative] >> view.plays[0] & 1:
                leader = relative
    seen = 0
    voids = 0  # four bits a seat: suits that it has not followed since it last drew
    thirds = 0  # of the viewer's side
    total = 0
    for first in range(0, view.ply, rules.seats):
        led = view.plays[first]
        best = 0 + led
        winner = 0
        worth = 0
        size = min(rules.seats, view.ply - first)
        for offset in range(size):
            card = view.plays[first + offset]
            seat = leader + offset & last
            if seen >> card & 1 or not view.played[seat] >> card & 1:
                return _TRICKS
            seen |= 1 << card
            worth += card_worth(card)
            if voids >> 4 * seat + suit_of(card) & 1:
                return _SUITS
            if suit_of(card) != suit_of(led):
                if rules.follow_always or first >= rules.stock_size:
                    voids |= 1 << 4 * seat + suit_of(led)
            elif card > best:
                best = 0 + card
                winner = offset
        if size < rules.seats:
            break
        leader = leader + winner & last
        if first + rules.seats == rules.deck_size:
            worth += LAST_TRICK_THIRDS
        total += worth
        if leader & 1 == 0:
            thirds += worth
        if first < rules.stock_size:
            voids = 0  # every seat has drawn a card, which may be of any suit
    if bit_count(seen) != view.ply or leader != view.leader:
        return _TRICKS
    for relative in range(rules.seats):
        if view.played[relative] & ~seen:
            return _TRICKS
    if view.thirds[0] != thirds or view.thirds[1] != total - thirds:
        return _TRICKS
    return _SOUND if _voids_fit(view, rules, voids) else _SUITS


def _voids_fit(view: Any, rules: Any, voids: int) -> bool:
    """Whether the suits that seats surely lack are those that play has shown, and not in hand.

    Shown draws clear single suits, in an order that the view does not tell: there may be more.
    """
    for relative in range(4):
        shown_here = voids >> 4 * relative & 0xF
        more = view.voids[relative] & ~shown_here
        if shown_here & ~view.voids[relative] or (more and not rules.draws_shown) or more > 0xF:
            return False
        held = view.hand if relative == 0 else view.known[relative]
        for suit in range(NUM_SUITS):
            if view.voids[relative] >> suit & 1 and held & suit_set(suit):
                return False
    return True


def _is_legal_right(view: Any, rules: Any) -> bool:
    """Whether ``legal`` is what R5 and R6 allow; it is empty when another seat is to act."""
    legal = 0 + view.hand if view.turn == 0 else 0
    if view.table_size and (rules.follow_always or view.stock_left == 0):
        same_suit = legal & suit_set(suit_of(view.plays[view.ply - view.table_size]))
        legal = same_suit if same_suit else legal
    return bool(view.legal == legal)


def problem_of(view: Any, rules: Any) -> int:
    """Return 0 for a sound view, else a code; plain, or compiled within a caller.

    Parameters
    ----------
    view : View or record of VIEW_DTYPE
    rules : RuleSet or record of RULES_DTYPE
    """
    if not _places_fit(view, rules):
        return _PLACES
    if not _cards_fit(view, rules):
        return _CARDS
    problem = _tricks_problem(view, rules)
    if problem == _SOUND and not _is_legal_right(view, rules):
        return _LEGAL
    return problem


def _first_problem(views: Any, rules_row: Any) -> int:
    for row in range(len(views)):
        if problem_of(views[row], rules_row[0]):
            return row
    return -1


@cache
def _compiled() -> Callable[[Any, Any], int]:
    from tressette_env.compiling import compiled  # loads numba

    return compiled(_first_problem, sys.modules[__name__], cards)


def view_error(view: View, rules: RuleSet) -> str:
    """Say why no deal can have shown a view; empty if all that is public fits."""
    try:
        record = View.from_record(view.to_record()[0], rules)  # integers within their types
    except (TypeError, ValueError, OverflowError) as error:
        return f"a field is of a wrong type or size ({error})"
    problem = problem_of(record, rules)
    return _WORDS[problem].format(record) if problem else ""


def to_record(view: View) -> npt.NDArray[np.void]:
    """Copy a view into an array of one row; ``OptionError`` if its fields do not go in."""
    if not isinstance(view, View):
        raise OptionError(f"view: expected a View, got {shown(view)}")
    try:
        return view.to_record()
    except (TypeError, ValueError, OverflowError):
        raise impossible_view(view.rules, view_error(view, view.rules)) from None


def impossible_view(rules: RuleSet, problem: str) -> OptionError:
    """Return the error for a view that no deal of the rules can have shown."""
    return OptionError(
        f"view: expected one that make_view makes of a deal of rules {rules.name!r}; in this "
        f"one: {problem}"
    )


def check_shapes(
    views: npt.NDArray[np.void], rules: RuleSet, seeds: npt.ArrayLike
) -> npt.NDArray[np.int64]:
    """Return the seeds as int64[B]; ``OptionError`` unless there is one for each of ``views``."""
    if not isinstance(rules, RuleSet):
        raise OptionError(
            f"rules: expected a RuleSet, got {shown(rules)}; get_rules gives a house's by its name"
        )
    numbers = check_seeds(seeds)
    is_views = getattr(views, "dtype", None) == VIEW_DTYPE and np.ndim(views) == 1
    if not is_views or numbers.shape != views.shape:
        raise OptionError(
            "views, seeds: expected VIEW_DTYPE[B] and int64[B], got "
            f"{shown(views)} and {shown(seeds)}"
        )
    return numbers


def check_views(
    views: npt.NDArray[np.void], rules: RuleSet, seeds: npt.ArrayLike
) -> npt.NDArray[np.int64]:
    """Return the seeds as int64[B], if there is one for each view and all views are sound.

    Parameters
    ----------
    views : VIEW_DTYPE[B]
    rules : RuleSet
    seeds : int64[B]
        From 0 to ``2**63 - 1``.

    Raises
    ------
    OptionError
        If not.
    """
    numbers = check_shapes(views, rules, seeds)
    row = _compiled()(np.ascontiguousarray(views), rules.row)
    if row >= 0:
        problem = view_error(View.from_record(views[row], rules), rules)
        raise impossible_view(rules, f"{problem} (view {row} of {len(views)})")
    return numbers
