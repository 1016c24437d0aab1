"""The compiled loops with chance in them: random play, and random numbers for many decisions.

Shapes: B tables, A actions, F features, N decisions.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tressette_env import cards, observation, randomness, rules, view
from tressette_env.compiling import compiled, inlined
from tressette_env.fixed_rules import fixed_rules
from tressette_env.intrinsics import local_view, uncounted
from tressette_env.kernels import deal_anew, write_next, write_step

__all__ = ["decision_seeds", "drawn_seats", "play_randomly", "random_words"]


@inlined
def _play_randomly(
    rule: Any,
    is_flat: bool,
    states: Any,
    rules_row: Any,
    whole_matches: int,
    listed: Any,
    seed: int,
    plies: int,
    key: int,
    mask_words: Any,
    observed_words: Any,
    places: Any,
    out: Any,
    low: int,
    high: int,
) -> None:
    deck = np.empty(cards.NUM_CARDS, np.int64)
    look = local_view()
    masks, features, at = uncounted(mask_words), uncounted(observed_words), uncounted(places)
    for ply in range(plies):
        is_last = ply + 1 == plies
        for table in range(low, high):
            one = states[0, table]
            if len(features):
                view.make_view(one, rule, one.turn, look)
            legal = rules.legal_cards(one, rule)
            word = randomness.hash_word((one.deal_number * 64 + one.ply ^ key) & 0xFFFFFFFF)
            card = cards.nth_card(legal, word * cards.bit_count(legal) >> 32)
            result = rules.play_card(one, rule, card)
            # Written only now: a write may touch the table as far as the compiler knows, and it
            # would find out about the table anew.
            if len(features):
                observation.encode(look, rule, at, features[table], is_flat)
            if len(masks):
                observation.write_row(masks[table], 0, legal)
            if is_last:
                write_step(one, out[table])
            if result == rules.DEAL_OVER:
                deal_anew(states, table, rules_row, whole_matches, listed, deck, seed, out[table])
    for table in range(low, high):
        write_next(states[0, table], rule, out[table])


@compiled
def play_randomly(
    states: Any,
    rules_row: Any,
    whole_matches: int,
    listed: Any,
    seed: int,
    plies: int,
    key: int,
    mask_words: Any,
    observed_words: Any,
    places: Any,
    out: Any,
    low: int,
    high: int,
) -> None:
    """Play uniformly random legal cards, ``plies`` at every table.

    A card depends on ``key`` (32 bits), the deal's number and the ply alone, not on how tables are
    shared out. Before each card the legal masks are written to ``mask_words`` (int64[B, A / 8]) and
    the observations to ``observed_words`` (int64[B, F / 8]), unless these have no rows.
    """
    if rules_row[0].seats == 2 and observation.has_flat(places):
        _play_randomly(
            fixed_rules(rules_row[0], 2),
            True,
            states,
            rules_row,
            whole_matches,
            listed,
            seed,
            plies,
            key,
            mask_words,
            observed_words,
            places,
            out,
            low,
            high,
        )
    elif rules_row[0].seats == 2:
        _play_randomly(
            fixed_rules(rules_row[0], 2),
            False,
            states,
            rules_row,
            whole_matches,
            listed,
            seed,
            plies,
            key,
            mask_words,
            observed_words,
            places,
            out,
            low,
            high,
        )
    else:
        _play_randomly(
            fixed_rules(rules_row[0], 4),
            False,
            states,
            rules_row,
            whole_matches,
            listed,
            seed,
            plies,
            key,
            mask_words,
            observed_words,
            places,
            out,
            low,
            high,
        )


@compiled
def random_words(seeds: Any, number: int, out: Any) -> None:
    """Random word ``number`` of each seed (int64[B]) into ``out`` (int64[B])."""
    for row in range(len(seeds)):
        out[row] = randomness.random_word(seeds[row], number)


@compiled
def decision_seeds(seed: int, numbers: Any, plies: Any, out: Any) -> None:
    """``randomness.decision_seed`` for deals and plies (int64[N]) into ``out`` (int64[N])."""
    for row in range(len(out)):
        out[row] = randomness.decision_seed(seed, numbers[row], plies[row])


@compiled
def drawn_seats(seed: int, numbers: Any, seats: int, out: Any) -> None:
    """``randomness.drawn_seat`` for episode numbers (int64[N]) into ``out`` (int64[N])."""
    for row in range(len(out)):
        out[row] = randomness.drawn_seat(seed, numbers[row], seats)
