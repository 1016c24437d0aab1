"""The compiled loops over tables: deal, play, count; rules and match, compiled as they stand.

Nothing of the game is written here. Functions return codes, which their callers turn into
exceptions. They take rows ``low`` to ``high - 1``, so that threads can share a batch.
Shapes: B tables, A actions.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tressette_env import cards, deals, match, rules
from tressette_env.compiling import compiled, inlined
from tressette_env.fixed_rules import fixed_rules

__all__ = [
    "check_and_play",
    "continue_match",
    "count_sequences",
    "deal_anew",
    "end_deal",
    "first_illegal",
    "legal_one",
    "legal_sets",
    "load_deal",
    "play_all",
    "play_at",
    "play_one",
    "start_deals",
    "write_next",
    "write_step",
]


@compiled
def _take_deck(one: Any, rule: Any, deck: Any, listed: Any, seed: int, number: int) -> int:
    """Put deal ``number`` into ``deck``; return the seat that leads if it opens a match (R14).

    ``listed`` holds decks, each with its leader last; the deal is entry ``number`` modulo their
    count. Without entries it is a deal of the seed.
    """
    size = rule.deck_size
    one.deal_number = number
    if len(listed):
        entry = listed[number % len(listed)]
        for place in range(size):
            deck[place] = entry[place]
        return int(entry[size])
    place = 0
    for card in range(cards.NUM_CARDS):
        if rule.deck_set >> card & 1:
            deck[place] = card
            place += 1
    return deals.leader_from(deals.shuffle(deck, size, seed, number), rule.seats)


@compiled
def _next_deal(one: Any, rule: Any, deck: Any, listed: Any, seed: int, number: int) -> None:
    """Deal ``number`` within a match that goes on; the lead passes on (R14)."""
    _take_deck(one, rule, deck, listed, seed, number)
    rules.deal(one, rule, deck, match.next_leader(one, rule))


@compiled
def _first_deal(one: Any, rule: Any, deck: Any, listed: Any, seed: int, number: int) -> None:
    """Deal ``number`` as the first of a match."""
    leader = _take_deck(one, rule, deck, listed, seed, number)
    match.start_match(one)
    rules.deal(one, rule, deck, leader)


@compiled
def start_deals(states: Any, rules_row: Any, listed: Any, seed: int, first: int) -> None:
    """Deal numbers ``first``, ``first + 1``, ... to the tables, each a new match.

    From ``listed`` (int64[N, deck size + 1], leader last) if it has entries, else from the seed.
    """
    deck = np.empty(cards.NUM_CARDS, np.int64)
    for table in range(len(states)):
        _first_deal(states[table], rules_row[0], deck, listed, seed, first + table)


@compiled
def load_deal(states: Any, rules_row: Any, deck: Any, leader: int) -> None:
    """Deal a given deck (int64) to every table as the first of a match."""
    for table in range(len(states)):
        one = states[table]
        one.deal_number = -1
        match.start_match(one)
        rules.deal(one, rules_row[0], deck, leader)


@compiled
def continue_match(states: Any, rules_row: Any, listed: Any, seed: int, number: int) -> None:
    """Deal ``number`` to every table within the match it plays."""
    deck = np.empty(cards.NUM_CARDS, np.int64)
    for table in range(len(states)):
        _next_deal(states[table], rules_row[0], deck, listed, seed, number)


@compiled
def end_deal(states: Any, rules_row: Any) -> None:
    """Add the finished deal of every table to its match."""
    for table in range(len(states)):
        match.add_deal(states[table], rules_row[0])


@compiled
def play_one(states: Any, rules_row: Any, card: int) -> tuple[int, int]:
    """Play a card at the first table: the code of ``rules.play_card``, and who is to act then."""
    result = rules.play_card(states[0], rules_row[0], card)
    return result, int(states[0].turn)


@compiled
def legal_one(states: Any, rules_row: Any) -> int:
    """Legal card set of the first table's seat to act."""
    return _legal(states[0], rules_row[0])


@inlined
def _legal(one: Any, rule: Any) -> int:
    return 0 if rules.is_over(one, rule) else rules.legal_cards(one, rule)


@compiled
def legal_sets(states: Any, rules_row: Any, out: Any) -> None:
    """Legal card sets of the seats to act into ``out`` (int64[B])."""
    for table in range(len(states)):
        out[table] = _legal(states[table], rules_row[0])


@inlined
def _is_legal(one: Any, rule: Any, card: int) -> bool:
    return 0 <= card < cards.NUM_CARDS and (_legal(one, rule) >> card & 1) == 1


@compiled
def first_illegal(states: Any, rules_row: Any, played: Any, low: int, high: int) -> int:
    """Return the first table whose card may not be played; -1 if all may."""
    rule = fixed_rules(rules_row[0], rules_row[0].seats)
    for table in range(low, high):
        if not _is_legal(states[table], rule, played[table]):
            return table
    return -1


@inlined
def write_step(one: Any, row: Any) -> None:
    """Begin a table's row of the step with a card that was played."""
    row.thirds[0] = one.thirds[0]
    row.thirds[1] = one.thirds[1]
    row.margin = 0
    row.is_over = False


@inlined
def write_next(one: Any, rule: Any, row: Any) -> None:
    """Finish a table's row of the step: who is to act, and what may be played."""
    row.seat = one.turn
    row.legal = rules.legal_cards(one, rule)  # never over: finished tables are dealt anew


@compiled
def deal_anew(
    states: Any,
    table: int,
    rules_row: Any,
    whole_matches: int,
    listed: Any,
    deck: Any,
    seed: int,
    row: Any,
) -> None:
    """Score a finished deal into the table's row of the step, keep its end, deal the next."""
    one, rule = states[0, table], rules_row[0]
    number = one.deal_number + states.shape[1]
    if whole_matches:
        match.add_deal(one, rule)
        if one.match_result == match.MATCH_OPEN:
            _next_deal(one, rule, deck, listed, seed, number)
            return
        row.margin = match.match_margin(one)
    else:
        row.margin = match.house_margin(one, rule)
    row.is_over = True
    states[1, table] = one
    _first_deal(one, rule, deck, listed, seed, number)


@inlined
def _play_all(
    rule: Any,
    states: Any,
    rules_row: Any,
    played: Any,
    whole_matches: int,
    listed: Any,
    seed: int,
    out: Any,
    low: int,
    high: int,
) -> None:
    deck = np.empty(cards.NUM_CARDS, np.int64)
    for table in range(low, high):
        # Not a function of its own: handing arrays on counts references, dearer than a play.
        one = states[0, table]
        result = rules.play_card(one, rule, played[table])
        write_step(one, out[table])
        if result == rules.DEAL_OVER:
            deal_anew(states, table, rules_row, whole_matches, listed, deck, seed, out[table])
        write_next(one, rule, out[table])


@compiled
def play_all(
    states: Any,
    rules_row: Any,
    played: Any,
    whole_matches: int,
    listed: Any,
    seed: int,
    out: Any,
    low: int,
    high: int,
) -> None:
    """Play one legal card at every table and deal anew where an episode is over.

    Parameters
    ----------
    states : STATE_DTYPE[2, B]
        Row 0: the tables; row 1: for each, the end of its last finished episode.
    rules_row : RULES_DTYPE[1]
    played : int64[B]
        Legal card numbers.
    whole_matches : int
        1: a finished deal is followed by the next of its match (R13); 0: every deal is an episode.
    listed : int64[N, deck size + 1]
        Decks and leaders to deal from; empty: the seed's stream.
    seed : int
        A finished table's next deal has the number of its last one plus B.
    out : STEP_DTYPE[B]
        Filled.
    """
    if rules_row[0].seats == 2:
        rule = fixed_rules(rules_row[0], 2)
        _play_all(rule, states, rules_row, played, whole_matches, listed, seed, out, low, high)
    else:
        rule = fixed_rules(rules_row[0], 4)
        _play_all(rule, states, rules_row, played, whole_matches, listed, seed, out, low, high)


@compiled
def check_and_play(
    states: Any,
    rules_row: Any,
    played: Any,
    whole_matches: int,
    listed: Any,
    seed: int,
    out: Any,
) -> int:
    """``first_illegal`` and, if there is none, ``play_all``, for every table in one call."""
    tables = states.shape[1]
    illegal = first_illegal(states[0], rules_row, played, 0, tables)
    if illegal < 0:
        play_all(states, rules_row, played, whole_matches, listed, seed, out, 0, tables)
    return illegal


@inlined
def _play_at(
    rule: Any,
    states: Any,
    rules_row: Any,
    tables: Any,
    played: Any,
    whole_matches: int,
    listed: Any,
    seed: int,
    out: Any,
) -> int:
    for place in range(len(tables)):
        if not _is_legal(states[0, tables[place]], rule, played[place]):
            return place
    deck = np.empty(cards.NUM_CARDS, np.int64)
    for place in range(len(tables)):
        table = tables[place]
        one = states[0, table]
        result = rules.play_card(one, rule, played[place])
        write_step(one, out[place])
        if result == rules.DEAL_OVER:
            deal_anew(states, table, rules_row, whole_matches, listed, deck, seed, out[place])
        write_next(one, rule, out[place])
    return -1


@compiled
def play_at(
    states: Any,
    rules_row: Any,
    tables: Any,
    played: Any,
    whole_matches: int,
    listed: Any,
    seed: int,
    out: Any,
) -> int:
    """Play cards (int64[N]) at some tables (int64[N], different ones); ``out`` is STEP_DTYPE[N].

    Returns the first place whose card may not be played, and nothing has moved; else -1.
    """
    if rules_row[0].seats == 2:
        rule = fixed_rules(rules_row[0], 2)
        return _play_at(rule, states, rules_row, tables, played, whole_matches, listed, seed, out)
    rule = fixed_rules(rules_row[0], 4)
    return _play_at(rule, states, rules_row, tables, played, whole_matches, listed, seed, out)


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
