"""All that one table needs to go on, in one array, so that a card is a call with few arguments.

From Python, handing over an array costs about as much as playing a card. A desk is int64[N]: the
table and the end of its last episode, the rules, the last step, the seed, the kind of episode, and
the deals to play if they are listed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tressette_env import rules
from tressette_env.batch_step import STEP_DTYPE
from tressette_env.cards import NUM_CARDS
from tressette_env.compiling import compiled
from tressette_env.intrinsics import uncounted
from tressette_env.kernels import deal_anew, write_next, write_step
from tressette_env.rulesets import RULES_DTYPE
from tressette_env.state import STATE_DTYPE

__all__ = ["new_desk", "play_on_desk", "step_on", "tables_on"]

_RULES = 2 * STATE_DTYPE.itemsize // 8  # the words at which these begin
_STEP = _RULES + RULES_DTYPE.itemsize // 8
_SEED = _STEP + STEP_DTYPE.itemsize // 8
_MATCHES = _SEED + 1
_LISTED = _MATCHES + 1


def new_desk(
    states: npt.NDArray[np.void],
    rules_row: npt.NDArray[np.void],
    whole_matches: int,
    listed: npt.NDArray[np.int64],
    seed: int,
) -> npt.NDArray[np.int64]:
    """Return a desk, int64[N].

    Parameters
    ----------
    states : STATE_DTYPE[2, 1]
        The table, and the end of its last episode.
    rules_row : RULES_DTYPE[1]
    whole_matches : int
        1: an episode is a match; 0: a deal.
    listed : int64[M, deck size + 1]
        Decks and leaders to deal from; empty: the seed's stream.
    seed : int
    """
    step = np.zeros(1, STEP_DTYPE).view(np.int64)
    words = (states.ravel().view(np.int64), rules_row.view(np.int64), step)
    return np.concatenate([*words, [seed, whole_matches], listed.ravel()])


def tables_on(desk: npt.NDArray[np.int64]) -> npt.NDArray[np.void]:
    """Return the desk's tables, STATE_DTYPE[2, 1], a view: as ``BatchTable`` keeps them."""
    return desk[:_RULES].view(STATE_DTYPE).reshape(2, 1)


def step_on(desk: npt.NDArray[np.int64]) -> npt.NDArray[np.void]:
    """Return the desk's last step, STEP_DTYPE[1], a view."""
    return desk[_STEP:_SEED].view(STEP_DTYPE)


@compiled
def play_on_desk(desk: Any, card: int) -> tuple[int, bool]:
    """Play one card; return the cards that may be played next, and whether an episode ended.

    Where it ended the table is dealt anew, as in ``kernels.play_all``. If the card may not be
    played, nothing has changed and the set is -1.
    """
    words = uncounted(desk)
    states = words[:_RULES].view(STATE_DTYPE).reshape(2, 1)
    rules_row = words[_RULES:_STEP].view(RULES_DTYPE)
    row = words[_STEP:_SEED].view(STEP_DTYPE)[0]
    one, rule = states[0, 0], rules_row[0]
    result = rules.play_card(one, rule, card)
    if result == rules.ILLEGAL:
        return -1, False
    write_step(one, row)
    if result == rules.DEAL_OVER:
        deck = np.empty(NUM_CARDS, np.int64)
        size = rule.deck_size + 1
        listed = words[_LISTED:].reshape((len(words) - _LISTED) // size, size)
        deal_anew(states, 0, rules_row, words[_MATCHES], listed, deck, words[_SEED], row)
    write_next(one, rule, row)
    return row.legal, row.is_over
