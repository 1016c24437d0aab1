"""Ask an agent for cards, and refuse what is not a legal card for every view.

Whoever lets agents play (environments, training, match play) goes through here, so that an agent
that fails is named, with what it was shown, wherever it plays. Shapes: N views.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tressette_env.card_notation import card_text
from tressette_env.cards import NUM_CARDS, card_list
from tressette_env.errors import AgentFailedError, shown
from tressette_env.policies import Agent, CheatingAgent
from tressette_env.rulesets import RuleSet

__all__ = ["ask", "failure_text"]


def ask(
    agent: Agent,
    views: npt.NDArray[np.void],
    rules: RuleSet,
    seeds: npt.NDArray[np.int64],
    states: npt.NDArray[np.void] | None = None,
) -> npt.NDArray[np.int64]:
    """Return the agent's card for every view.

    Parameters
    ----------
    agent : Agent
    views : VIEW_DTYPE[N]
    rules : RuleSet
    seeds : int64[N]
    states : STATE_DTYPE[N], optional
        What the views are of; only a ``CheatingAgent`` gets them, in place of the views.

    Returns
    -------
    int64[N]
        Each legal in its view.

    Raises
    ------
    AgentFailedError
        If the agent raises, or answers anything else. ``row`` says at which view.
    """
    choose: Any = agent.act_batch
    shown_rows = views
    if isinstance(agent, CheatingAgent) and states is not None:
        choose = agent.act_on_states
        shown_rows = states
    try:
        answer: Any = choose(shown_rows, rules, seeds)
    except AgentFailedError as error:  # it has said how it failed, and at which view
        raise AgentFailedError(f"{error}; {_where(views[error.row])}", error.row) from error
    except (Exception, SystemExit) as error:
        row, one = _culprit(choose, shown_rows, rules, seeds, error)
        raise AgentFailedError(
            f"agent {agent.spec!r} raised {failure_text(one)}; {_where(views[row])}",
            row,
        ) from error
    cards = _as_array(answer)
    if cards is None or cards.dtype.kind not in "iu" or cards.shape != (len(views),):
        raise AgentFailedError(
            f"agent {agent.spec!r}: expected an integer array of shape ({len(views)},) from "
            f"act_batch, a card number a view; got {_in_words(answer)}; {_where(views[0])}"
        )
    is_card = (cards >= 0) & (cards < NUM_CARDS)
    chosen = np.where(is_card, cards, 0).astype(np.int64)
    legal = is_card & ((views["legal"] >> chosen) & 1).astype(np.bool_)
    if not legal.all():
        row = int(np.argmin(legal))
        raise AgentFailedError(_illegal(agent, views[row], int(cards[row])), row)
    return chosen


def failure_text(error: BaseException) -> str:
    """Say how an agent failed, on one short line: the exception's type and message."""
    try:
        message = " ".join(str(error).split())
    except Exception:  # a stranger's exception may fail at telling what it is
        message = ""
    text = f"{type(error).__name__}: {message}" if message else type(error).__name__
    return text if len(text) <= 200 else f"{text[:197]}..."


def _as_array(answer: object) -> npt.NDArray[Any] | None:
    """Return an agent's answer as an array; None if it is none."""
    try:
        return np.asarray(answer)
    except Exception:  # a ragged list, a tensor that needs a gradient, anything
        return None


def _in_words(answer: object) -> str:
    try:
        array = np.asarray(answer)
    except Exception as error:
        return f"a {type(answer).__name__} that is no array ({failure_text(error)})"
    return f"{array.dtype}{list(array.shape)}"


def _culprit(
    choose: Any, rows: Any, rules: RuleSet, seeds: Any, error: BaseException
) -> tuple[int, BaseException]:
    """Find the first row that the agent fails on by itself, and how; else give ``error``."""
    for row in range(min(len(rows), 1000)):
        try:
            choose(rows[row : row + 1], rules, seeds[row : row + 1])
        except (Exception, SystemExit) as one:
            return row, one
    return 0, error


def _illegal(agent: Agent, view: np.void, card: int) -> str:
    came = card_text(card) if 0 <= card < NUM_CARDS else "no card"
    legal = " ".join(f"{card_text(c)} ({c})" for c in card_list(int(view["legal"])))
    return (
        f"agent {agent.spec!r} played {came} ({shown(card)}), not legal; expected one of {legal}; "
        f"{_where(view)}"
    )


def _where(view: np.void) -> str:
    return f"seat {view['seat']}, ply {view['ply']}"
