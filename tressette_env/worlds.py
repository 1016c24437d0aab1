"""Worlds: full states consistent with what one seat has seen, exactly uniform over the deals.

Search agents play on from such states with the ordinary rules. Every deck that would have shown the
seat the same cards, plays and draws is equally likely, and no other can come out: a suit that a
player has shown to lack, for instance, can only have come to it with a later draw.
``docs/worlds.md`` has the derivation, and the form for use inside compiled functions.
"""

from __future__ import annotations

from fractions import Fraction
from math import comb, factorial
from typing import Any

import numpy as np
import numpy.typing as npt

from tressette_env import worlds_kernels as kernels
from tressette_env.cards import bit_count, card_set
from tressette_env.errors import OptionError, shown
from tressette_env.randomness import check_seed
from tressette_env.rulesets import RuleSet
from tressette_env.state import STATE_DTYPE
from tressette_env.view import View
from tressette_env.view_checks import check_shapes
from tressette_env.worlds_plan import PLAN_DTYPE, view_problem

__all__ = ["WorldSampler", "sample_worlds"]


class WorldSampler:
    """Samples worlds of one view.

    Parameters
    ----------
    view : View
        What the seat knows, at any time of a deal; it need not be to act.

    Raises
    ------
    OptionError
        If no deal of the view's rules can have shown it.

    Examples
    --------
    >>> from tressette_env import BatchTable
    >>> table = BatchTable(num_tables=1, rules="playmore", seed=0)
    >>> worlds = WorldSampler(table.view(0)).sample(1000, seed=1)
    """

    def __init__(self, view: View) -> None:
        if not isinstance(view, View):
            raise OptionError(f"view: expected a View, got {type(view).__name__}")
        self.rules = view.rules
        self.view = view
        problem = view_problem(view, view.rules)
        self._plans = np.zeros(1, PLAN_DTYPE)
        self._public = np.zeros(1, STATE_DTYPE)
        if not problem:
            row = view.to_record()
            if not kernels.plan_view(row, self.rules.row, self._plans, self._public):
                problem = "the cards unseen cannot be where they would have to be"
        if problem:
            raise OptionError(
                f"view: expected one that make_view makes of a deal of rules {self.rules.name!r}; "
                f"in this one: {problem}"
            )

    def sample(self, n: int, seed: int, first: int = 0) -> npt.NDArray[np.void]:
        """Sample worlds, independent of each other.

        Parameters
        ----------
        n : int
            How many.
        seed : int
            From 0 to ``2**63 - 1``; world number k depends on the view, the seed and k alone.
        first : int
            Number of the first one, from 0; ``sample(5, s)`` is ``sample(3, s)`` followed by
            ``sample(2, s, first=3)``.

        Returns
        -------
        STATE_DTYPE[n]
            A new array. ``deal_number`` is -1, ``match_result`` 0 and what was drawn from the stock
            0; all else public is as in the real state.

        Raises
        ------
        OptionError
            If an argument is out of range.
        """
        n = _check_count("n", n)
        first = _check_count("first", first)
        out = np.empty(n, STATE_DTYPE)
        kernels.sample_planned(self._plans, self._public, check_seed(seed), first, out)
        return out

    def probability(self, state: Any) -> Fraction:
        """Return the exact probability that ``sample`` gives a state's hidden cards.

        Parameters
        ----------
        state : State or record of STATE_DTYPE
            Only the other seats' hands and the stock still to be drawn are read.

        Returns
        -------
        Fraction
            0 if the world is impossible.
        """
        plan = self._plans[0]
        hands, stock, drawn = (_field(state, name) for name in ("hands", "stock", "drawn"))
        left = stock[int(drawn) : self.rules.stock_size].tolist()
        taker_hands = [int(hands[seat]) for seat in plan["takers"][: self.rules.seats - 1]]
        parts = [
            hand & ~int(known) for hand, known in zip(taker_hands, plan["known"], strict=False)
        ]
        if any(int(known) & ~hand for hand, known in zip(taker_hands, plan["known"], strict=False)):
            return Fraction(0)
        order = 1
        if self.rules.seats == 2:
            parts.insert(0, card_set(left))
            order = factorial(len(left))
        whole = 0
        for part in parts:
            whole |= part
        if whole != self.view.unseen or sum(map(bit_count, parts)) != bit_count(whole):
            return Fraction(0)
        taken = start = 0
        choices = 1
        for group, end in enumerate(plan["ends"][: int(plan["groups"])].tolist()):
            cards = card_set(plan["cards"][start:end].tolist())
            counts = [bit_count(part & cards) for part in parts]
            taken |= counts[0] << 10 * group
            if self.rules.seats == 4:
                taken |= counts[1] << 10 * group + 5
            rest = end - start
            for count in counts:
                choices *= comb(rest, count)
                rest -= count
            start = end
        splits = int(plan["splits"])
        found = np.flatnonzero(plan["taken"][:splits] == taken)
        if not len(found):
            return Fraction(0)
        sums = [0, *plan["cumulative"][:splits].tolist()]
        weight = sums[found[0] + 1] - sums[found[0]]
        return Fraction(weight, int(plan["weight"]) * choices * order)


def sample_worlds(
    views: npt.NDArray[np.void], rules: RuleSet, n: int, seeds: npt.ArrayLike
) -> npt.NDArray[np.void]:
    """Sample worlds of many views in one call.

    Parameters
    ----------
    views : VIEW_DTYPE[B]
        Made by ``make_view`` for tables of these rules; trusted, unlike those of ``WorldSampler``.
    rules : RuleSet
    n : int
        Worlds of each view.
    seeds : int64[B]
        A random number for each view, as ``BatchPolicy.act_batch`` gets them.

    Returns
    -------
    STATE_DTYPE[B, n]
        Row b is ``WorldSampler(view b).sample(n, seeds[b])``.

    Raises
    ------
    OptionError
        If an argument has the wrong type or shape, or a view is impossible.
    """
    n = _check_count("n", n)
    numbers = check_shapes(views, rules, seeds)
    out = np.empty((len(views), n), STATE_DTYPE)
    plans, public = np.zeros(1, PLAN_DTYPE), np.zeros(1, STATE_DTYPE)
    bad = kernels.sample_many(np.ascontiguousarray(views), rules.row, numbers, plans, public, out)
    if bad >= 0:
        raise OptionError(f"views: no deal of rules {rules.name!r} can have shown view {bad}")
    return out


def _field(state: Any, name: str) -> Any:
    value = state[name] if isinstance(state, np.void) else getattr(state, name)
    return np.asarray(value)


def _check_count(name: str, value: object) -> int:
    is_integer = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not is_integer or not 0 <= int(value) < 1 << 60:  # type: ignore[call-overload]
        raise OptionError(f"{name}: expected an integer from 0 up, got {shown(value)}")
    return int(value)  # type: ignore[call-overload, no-any-return]
