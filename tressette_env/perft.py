"""Counting the sequences of legal cards from a position: one number that checks a rules engine.

The method is that of chess programs (https://www.chessprogramming.org/Perft): two engines that give
the same counts from the same positions agree on what may be played, on whose turn it is and on the
draws. Draws come from the position's own stock, so nothing is random.
"""

from __future__ import annotations

import numpy as np

from tressette_env import kernels
from tressette_env.cards import card_list
from tressette_env.errors import OptionError
from tressette_env.rules import is_over, legal_cards, play_card
from tressette_env.rulesets import RuleSet
from tressette_env.state import STATE_DTYPE, State, new_state, state_to_record

__all__ = ["divide", "interpreted_perft", "perft"]


def perft(state: State, rules: RuleSet, depth: int) -> int:
    """Count the sequences of ``depth`` legal cards from a position, compiled.

    Parameters
    ----------
    state : State
        Unchanged.
    rules : RuleSet
    depth : int
        Plies, from 0 up; deeper than what is left of the deal, the count is 0.

    Raises
    ------
    OptionError
        If ``depth`` is not an integer from 0 up.
    """
    depth = _check_depth(depth, 0)
    if depth > rules.deck_size - state.ply:
        return 0
    stack = np.zeros(depth + 1, STATE_DTYPE)
    stack[0] = state_to_record(state)[0]
    return int(kernels.count_sequences(stack, rules.row, depth))


def divide(state: State, rules: RuleSet, depth: int) -> dict[int, int]:
    """Count the sequences of ``depth`` legal cards separately for each first card.

    Where two engines differ, playing the card whose counts differ and dividing again leads to the
    position where they disagree.

    Returns
    -------
    dict of int to int
        Card number to count, in ascending order of cards; the counts add up to ``perft``.

    Raises
    ------
    OptionError
        If ``depth`` is not an integer from 1 up.
    """
    depth = _check_depth(depth, 1)
    return {
        card: perft(_after(state, rules, card), rules, depth - 1) for card in _legal(state, rules)
    }


def interpreted_perft(state: State, rules: RuleSet, depth: int) -> int:
    """Count as ``perft`` does, slowly: the reference, without compiled code."""
    if _check_depth(depth, 0) == 0:
        return 1
    return sum(
        interpreted_perft(_after(state, rules, card), rules, depth - 1)
        for card in _legal(state, rules)
    )


def _legal(state: State, rules: RuleSet) -> list[int]:
    return [] if is_over(state, rules) else card_list(legal_cards(state, rules))


def _after(state: State, rules: RuleSet, card: int) -> State:
    """Return a copy of the position after a legal card."""
    following = new_state()
    for name in State.__slots__:
        value = getattr(state, name)
        setattr(following, name, value[:] if isinstance(value, list) else value)
    play_card(following, rules, card)
    return following


def _check_depth(depth: object, least: int) -> int:
    is_integer = isinstance(depth, (int, np.integer)) and not isinstance(depth, bool)
    if not is_integer or int(depth) < least:  # type: ignore[call-overload]
        raise OptionError(f"depth: expected an integer from {least} up, got {depth!r}")
    return int(depth)  # type: ignore[call-overload, no-any-return]
