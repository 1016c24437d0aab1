"""The compiled loops over what seats may know: views, observations, masks.

Shapes: B tables or views, A actions, F features, N chosen tables.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tressette_env import observation, view
from tressette_env.compiling import compiled, inlined
from tressette_env.fixed_rules import fixed_rules
from tressette_env.intrinsics import local_view, uncounted

__all__ = [
    "encode_views",
    "make_views",
    "observe",
    "observe_one",
    "spread_sets",
    "view_one",
    "views_at",
]


@compiled
def make_views(states: Any, rules_row: Any, seats: Any, out: Any) -> None:
    """Write views of seats (int64[B]; empty: those to act) into ``out`` (VIEW_DTYPE[B])."""
    for table in range(len(states)):
        seat: Any = seats[table] if len(seats) else np.int64(states[table].turn)
        view.make_view(states[table], rules_row[0], seat, out[table])


@compiled
def views_at(states: Any, rules_row: Any, tables: Any, out: Any) -> None:
    """Write views of the seats to act at some tables (int64[N]) into ``out`` (VIEW_DTYPE[N])."""
    for place in range(len(tables)):
        one = states[tables[place]]
        view.make_view(one, rules_row[0], one.turn, out[place])


@compiled
def view_one(states: Any, rules_row: Any, seat: int, out: Any) -> None:
    """View of a seat at the first table into the first row of ``out`` (VIEW_DTYPE)."""
    view.make_view(states[0], rules_row[0], seat, out[0])


@compiled
def encode_views(views: Any, rules_row: Any, places: Any, words: Any) -> None:
    """Observations of views (VIEW_DTYPE[B]) into ``words`` (int8[B, F] viewed as int64)."""
    for row in range(len(views)):
        observation.encode(views[row], rules_row[0], places, words[row])


@inlined
def _observe(
    rule: Any,
    is_flat: bool,
    states: Any,
    seats: Any,
    places: Any,
    words: Any,
    low: int,
    high: int,
) -> None:
    look = local_view()
    features, at = uncounted(words), uncounted(places)
    for table in range(low, high):
        seat: Any = seats[table] if len(seats) else np.int64(states[table].turn)
        view.make_view(states[table], rule, seat, look)
        observation.encode(look, rule, at, features[table], is_flat)


@compiled
def observe(
    states: Any, rules_row: Any, seats: Any, places: Any, words: Any, low: int, high: int
) -> None:
    """Observations of seats (int64[B]; empty: those to act) into ``words`` (int64[B, F / 8])."""
    if rules_row[0].seats == 2 and observation.has_flat(places):
        _observe(fixed_rules(rules_row[0], 2), True, states, seats, places, words, low, high)
    elif rules_row[0].seats == 2:
        _observe(fixed_rules(rules_row[0], 2), False, states, seats, places, words, low, high)
    else:
        _observe(fixed_rules(rules_row[0], 4), False, states, seats, places, words, low, high)


@compiled
def observe_one(
    states: Any, rules_row: Any, seat: int, places: Any, scratch: Any, out: Any, mask: Any
) -> None:
    """Observation (int8[F]) and mask (int8[A]) of a seat at the first table."""
    view.make_view(states[0], rules_row[0], seat, scratch[0])
    observation.encode(scratch[0], rules_row[0], places, out.view(np.int64))
    observation.write_row(mask.view(np.int64), 0, scratch[0].legal)


@compiled
def spread_sets(sets: Any, words: Any) -> None:
    """Card sets (int64[B]) as masks of one byte an action, viewed as words (int64[B, A / 8])."""
    for row in range(len(sets)):
        observation.write_row(words[row], 0, sets[row])
