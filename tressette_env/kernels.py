"""The compiled batch loops: rules, match, view and observation, compiled as they stand.

Nothing of the game is written here: numba compiles the functions of those modules. Machine code is
kept on disk under a hash of their sources, so that an edit in any of them is never served stale.
Importing this module loads numba; the first call on a fresh machine compiles for some seconds.

Compiled functions raise nothing: they return codes, which their callers turn into exceptions.
Shapes: B tables or views, F features.
"""

from __future__ import annotations

import getpass
import hashlib
import inspect
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

import numba
import numpy as np
import platformdirs
from numba.extending import register_jitable

from tressette_env import (
    cards,
    deals,
    match,
    observation,
    randomness,
    rules,
    rulesets,
    state,
    view,
)

__all__ = ["compiled", "register_module"]

Function = TypeVar("Function", bound=Callable[..., Any])

_SOURCES = (cards, deals, match, observation, randomness, rules, rulesets, state, view)


def cache_folder(sources: tuple[ModuleType, ...]) -> Path:
    """Folder for machine code compiled from these modules, named by the hash of their sources.

    ``TRESSETTE_CACHE_DIR`` overrides the user's cache folder; where that cannot be written, the
    folder for temporary files is used.
    """
    digest = hashlib.sha256()
    for module in sources:
        digest.update(Path(str(module.__file__)).read_bytes())
    digest.update(f"{numba.__version__} {sys.version}".encode())
    base = os.environ.get("TRESSETTE_CACHE_DIR") or platformdirs.user_cache_dir("tressette")
    folder = Path(base) / "compiled" / digest.hexdigest()[:16]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError:
        folder = (
            Path(tempfile.gettempdir()) / f"tressette-{getpass.getuser()}" / digest.hexdigest()[:16]
        )
    return folder


def register_module(module: ModuleType) -> None:
    """Let compiled functions call the module's functions; interpreted calls stay interpreted."""
    for function in vars(module).values():
        if inspect.isfunction(function) and function.__module__ == module.__name__:
            register_jitable(function)


def compiled(function: Function) -> Function:
    """Compile a function with numba, its machine code cached on disk."""
    # numba reads its cache folder when the dispatcher is made; other users' setting is put back.
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(_CACHE_FOLDER)
    try:
        result: Function = numba.njit(function, cache=True, nogil=True)
    finally:
        numba.config.CACHE_DIR = before
    return result


_CACHE_FOLDER = cache_folder((*_SOURCES, sys.modules[__name__]))
for _module in (cards, randomness, deals, rules, match, view, observation):
    register_module(_module)


@compiled
def _deal_from_seed(one: Any, rule: Any, deck: Any, seed: int, number: int) -> int:
    """Put deal ``number`` of a seed's deck into ``deck``; return the random word for the leader."""
    size = 0
    for card in range(cards.NUM_CARDS):
        if rule.deck_set >> card & 1:
            deck[size] = card
            size += 1
    one.deal_number = number
    return deals.shuffle(deck, size, seed, number)


@compiled
def _next_deal(one: Any, rule: Any, deck: Any, seed: int, number: int) -> None:
    """Deal ``number`` within a match that goes on; the lead passes on (R14)."""
    _deal_from_seed(one, rule, deck, seed, number)
    rules.deal(one, rule, deck, match.next_leader(one, rule))


@compiled
def _first_deal(one: Any, rule: Any, deck: Any, seed: int, number: int) -> None:
    """Deal ``number`` as the first of a match; the leader is drawn with the deck (R14)."""
    word = _deal_from_seed(one, rule, deck, seed, number)
    match.start_match(one)
    rules.deal(one, rule, deck, deals.leader_from(word, rule.seats))


@compiled
def start_deals(states: Any, rules_row: Any, seed: int, first: int) -> None:
    """Deal numbers ``first``, ``first + 1``, ... of a seed to the tables, each a new match."""
    deck = np.empty(cards.NUM_CARDS, np.int64)
    for table in range(len(states)):
        _first_deal(states[table], rules_row[0], deck, seed, first + table)


@compiled
def load_deal(states: Any, rules_row: Any, deck: Any, leader: int) -> None:
    """Deal a given deck (int64) to every table as the first of a match."""
    for table in range(len(states)):
        one = states[table]
        one.deal_number = -1
        match.start_match(one)
        rules.deal(one, rules_row[0], deck, leader)


@compiled
def continue_match(states: Any, rules_row: Any, seed: int, number: int) -> None:
    """Deal ``number`` of a seed to every table within the match it plays."""
    deck = np.empty(cards.NUM_CARDS, np.int64)
    for table in range(len(states)):
        _next_deal(states[table], rules_row[0], deck, seed, number)


@compiled
def end_deal(states: Any, rules_row: Any) -> None:
    """Add the finished deal of every table to its match."""
    for table in range(len(states)):
        match.add_deal(states[table], rules_row[0])


@compiled
def play_one(states: Any, rules_row: Any, card: int) -> int:
    """Play a card at the first table; the code of ``rules.play_card``."""
    return rules.play_card(states[0], rules_row[0], card)


@compiled
def legal_one(states: Any, rules_row: Any) -> int:
    """Legal card set of the first table's seat to act."""
    return _legal(states[0], rules_row[0])


@compiled
def _legal(one: Any, rule: Any) -> int:
    return 0 if rules.is_over(one, rule) else rules.legal_cards(one, rule)


@compiled
def legal_sets(states: Any, rules_row: Any, out: Any) -> None:
    """Legal card sets of the seats to act into ``out`` (int64[B])."""
    for table in range(len(states)):
        out[table] = _legal(states[table], rules_row[0])


@compiled
def spread_sets(sets: Any, out: Any) -> None:
    """Card sets (int64[B]) as masks (bool or int8 [B, A])."""
    for row in range(len(sets)):
        for card in range(cards.NUM_CARDS):
            out[row, card] = sets[row] >> card & 1


@compiled
def first_illegal(states: Any, rules_row: Any, played: Any) -> int:
    """Return the first table whose card may not be played; -1 if all may."""
    for table in range(len(states)):
        card = played[table]
        if card < 0 or card >= cards.NUM_CARDS:
            return table
        if not _legal(states[table], rules_row[0]) >> card & 1:
            return table
    return -1


@compiled
def play_all(
    states: Any,
    rules_row: Any,
    played: Any,
    seed: int,
    whole_matches: int,
    thirds: Any,
    over: Any,
    margins: Any,
) -> None:
    """Play one legal card at every table and deal anew where a deal is over.

    Parameters
    ----------
    played : int64[B]
        Legal card numbers.
    seed : int
        A finished table's next deal has the number of its last one plus B.
    whole_matches : int
        1: a finished deal is followed by the next of its match (R13), 0: by a new one.
    thirds : int64[B, 2]
        Out: thirds of each side in the deal, before any new deal.
    over : bool[B]
        Out: whether the episode (deal, or whole match) ended.
    margins : int64[B]
        Out: where it ended, the margin of side 0: of the deal in the house's unit, or of the match.
    """
    deck = np.empty(cards.NUM_CARDS, np.int64)
    rule = rules_row[0]
    for table in range(len(states)):
        one = states[table]
        result = rules.play_card(one, rule, played[table])
        thirds[table, 0] = one.thirds[0]
        thirds[table, 1] = one.thirds[1]
        over[table] = False
        margins[table] = 0
        if result != rules.DEAL_OVER:
            continue
        number = one.deal_number + len(states)
        if whole_matches:
            match.add_deal(one, rule)
            if one.match_result == match.MATCH_OPEN:
                _next_deal(one, rule, deck, seed, number)
                continue
            margins[table] = match.match_margin(one)
        else:
            margins[table] = match.house_margin(one, rule)
        over[table] = True
        _first_deal(one, rule, deck, seed, number)


@compiled
def make_views(states: Any, rules_row: Any, seats: Any, out: Any) -> None:
    """Write views of the given seats (int64[B]), one a table, into ``out`` (VIEW_DTYPE[B])."""
    for table in range(len(states)):
        view.make_view(states[table], rules_row[0], seats[table], out[table])


@compiled
def encode_views(views: Any, rules_row: Any, places: Any, words: Any) -> None:
    """Observations of views (VIEW_DTYPE[B]) into ``words`` (int8[B, F] viewed as int64)."""
    for row in range(len(views)):
        observation.encode(views[row], rules_row[0], places, words[row])


@compiled
def observe(states: Any, rules_row: Any, seats: Any, places: Any, scratch: Any, words: Any) -> None:
    """Observations of the given seats (int64[B]) into ``words`` (int8[B, F] viewed as int64).

    ``scratch`` is one row of VIEW_DTYPE.
    """
    for table in range(len(states)):
        view.make_view(states[table], rules_row[0], seats[table], scratch[0])
        observation.encode(scratch[0], rules_row[0], places, words[table])


@compiled
def view_one(states: Any, rules_row: Any, seat: int, out: Any) -> None:
    """View of a seat at the first table into the first row of ``out`` (VIEW_DTYPE)."""
    view.make_view(states[0], rules_row[0], seat, out[0])


@compiled
def observe_one(
    states: Any, rules_row: Any, seat: int, places: Any, scratch: Any, words: Any, mask: Any
) -> None:
    """Observation (int8[F] viewed as int64) and mask (int8[A]) of a seat at the first table."""
    view.make_view(states[0], rules_row[0], seat, scratch[0])
    observation.encode(scratch[0], rules_row[0], places, words)
    for card in range(cards.NUM_CARDS):
        mask[card] = scratch[0].legal >> card & 1


@compiled
def random_words(seeds: Any, number: int, out: Any) -> None:
    """Random word ``number`` of each seed (int64[B]) into ``out`` (int64[B])."""
    for row in range(len(seeds)):
        out[row] = randomness.random_word(seeds[row], number)


@compiled
def count_sequences(stack: Any, rules_row: Any, depth: int) -> int:
    """Sequences of ``depth`` legal cards from the first of ``depth + 1`` rows of STATE_DTYPE."""
    rule = rules_row[0]
    if depth == 0:
        return 1
    untried = np.zeros(depth, np.int64)  # for each ply, the legal cards not yet played there
    untried[0] = _legal(stack[0], rule)
    count = 0
    ply = 0
    while ply >= 0:
        if untried[ply] == 0:
            ply -= 1
            continue
        card = cards.bit_count((untried[ply] & -untried[ply]) - 1)
        untried[ply] &= untried[ply] - 1
        stack[ply + 1] = stack[ply]
        rules.play_card(stack[ply + 1], rule, card)
        if ply + 1 == depth:
            count += 1
        else:
            ply += 1
            untried[ply] = _legal(stack[ply], rule)
    return count
