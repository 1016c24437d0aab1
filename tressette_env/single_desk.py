"""All that one table needs to go on, in one array, so that a card is a call with few arguments.

From Python, handing over an array costs about as much as playing a card. A desk is int64[N]: the
table and the end of its last episode, the rules, the last step, the seed, the kind of episode.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tressette_env import rules
from tressette_env.batch_step import STEP_DTYPE
from tressette_env.cards import NUM_CARDS
from tressette_env.compiling import compiled
from tressette_env.kernels import deal_anew, is_legal, write_next, write_step
from tressette_env.rulesets import RULES_DTYPE
from tressette_env.state import STATE_DTYPE

__all__ = ["new_desk", "play_on_desk", "set_seed", "step_on", "tables_on"]

_RULES = 2 * STATE_DTYPE.itemsize // 8  # the words at which these begin
_STEP = _RULES + RULES_DTYPE.itemsize // 8
_SEED = _STEP + STEP_DTYPE.itemsize // 8
_MATCHES = _SEED + 1


def new_desk(rules_row: npt.NDArray[np.void], whole_matches: int, seed: int) -> npt.NDArray[Any]:
    """Return a desk, int64[N], whose table has not been dealt."""
    desk = np.zeros(_MATCHES + 1, np.int64)
    desk[_RULES:_STEP] = rules_row.view(np.int64)
    desk[_MATCHES] = whole_matches
    set_seed(desk, seed)
    return desk


def set_seed(desk: npt.NDArray[np.int64], seed: int) -> None:
    """Deal from another seed from the next deal on."""
    desk[_SEED] = seed


def tables_on(desk: npt.NDArray[np.int64]) -> npt.NDArray[np.void]:
    """Return the desk's tables, STATE_DTYPE[2, 1], a view: as ``BatchTable`` keeps them."""
    return desk[:_RULES].view(STATE_DTYPE).reshape(2, 1)


def step_on(desk: npt.NDArray[np.int64]) -> npt.NDArray[np.void]:
    """Return the desk's last step, STEP_DTYPE[1], a view."""
    return desk[_STEP:_SEED].view(STEP_DTYPE)


@compiled
def play_on_desk(desk: Any, listed: Any, card: int) -> tuple[int, bool]:
    """Play one card; return the cards that may be played next, and whether an episode ended.

    Where it ended the table is dealt anew, from ``listed`` as in ``kernels.play_all``. If the card
    may not be played, nothing has changed and the set is -1.
    """
    states = desk[:_RULES].view(STATE_DTYPE).reshape(2, 1)
    rules_row = desk[_RULES:_STEP].view(RULES_DTYPE)
    row = desk[_STEP:_SEED].view(STEP_DTYPE)[0]
    one, rule = states[0, 0], rules_row[0]
    if not is_legal(one, rule, card):
        return -1, False
    result = rules.play_card(one, rule, card)
    write_step(one, row)
    if result == rules.DEAL_OVER:
        deck = np.empty(NUM_CARDS, np.int64)
        deal_anew(states, 0, rules_row, desk[_MATCHES], listed, deck, desk[_SEED], row)
    write_next(one, rule, row)
    return row.legal, row.is_over
