"""One number an agent, from margins of pairs: least squares, with intervals and two warnings.

The model is Thurstone's without its bell curve: the margin of agent i over agent j, in thirds a
deal, is ``r_i - r_j``. The ratings fit all margins by least squares, each weighted by one over its
variance. One number cannot tell everything: where A beats B, B beats C and C beats A, or where the
margins do not add up, ``Ratings.warnings`` says so.

Shapes: P pairings, N agents, D deals.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tressette_env.errors import OptionError, shown
from tressette_train.intervals import Interval

__all__ = ["Fit", "Pairing", "Rating", "Ratings", "chi_square_tail", "find_cycles", "rate"]

FloatArray = npt.NDArray[np.float64]

_NORMAL_975 = 1.959963984540054
_RESAMPLES = 2000
_WEIGHTS_AT_ONCE = 1 << 20  # 8 MiB
_DOUBT = 0.01  # below this probability the margins do not add up


@dataclass(frozen=True)
class Pairing:
    """What one agent took more than another.

    Attributes
    ----------
    agent, opponent : str
    margin : Interval
        The agent's, thirds a deal.
    by_deal : float64[D], optional
        Its margin in deal 0, 1, ..., the mean of both seatings. Where every pairing has them, deal
        k is taken to be the same deal in all, as ``tressette eval`` plays them.
    """

    agent: str
    opponent: str
    margin: Interval
    by_deal: FloatArray | None = None

    @property
    def mean(self) -> float:
        """Thirds a deal."""
        return self.margin.mean if self.by_deal is None else float(self.by_deal.mean())


@dataclass(frozen=True)
class Rating:
    """Thirds a deal that an agent is above the anchor, with its 95 % interval."""

    agent: str
    thirds: Interval


@dataclass(frozen=True)
class Fit:
    """How well differences of ratings give the margins.

    Attributes
    ----------
    chi_square : float
        Squared residuals over their covariance, corrected for the number of deals (Hotelling).
    degrees : int
        Its degrees of freedom: margins more than there are ratings to fit.
    p_value : float
        Probability of so much or more if the margins do add up; 1 without degrees of freedom.
    worst : (str, str)
        The pairing with the largest residual.
    worst_thirds : float
        That residual: its margin less the difference of the two ratings.
    """

    chi_square: float
    degrees: int
    p_value: float
    worst: tuple[str, str]
    worst_thirds: float


@dataclass(frozen=True)
class Ratings:
    """Ratings, and what they cannot tell.

    Attributes
    ----------
    ratings : tuple of Rating
        Strongest first.
    anchor : str or None
        The agent rated 0; None: the mean of all is 0.
    fit : Fit
    cycles : tuple of tuple of str
        Agents each of which beats the next, and the last one the first, with whole intervals above
        0; the shortest first.
    shared_deals : bool
        Whether the intervals come from resampled deals; else from the margins' variances, as of
        pairings that do not depend on each other.
    """

    ratings: tuple[Rating, ...]
    anchor: str | None
    fit: Fit
    cycles: tuple[tuple[str, ...], ...]
    shared_deals: bool

    @property
    def warnings(self) -> list[str]:
        """What one number an agent does not tell, a sentence each."""
        told = [
            f"intransitive: {' beats '.join((*cycle, cycle[0]))}; no order of ratings shows that"
            for cycle in self.cycles
        ]
        if self.fit.p_value < _DOUBT:
            agent, opponent = self.fit.worst
            told.append(
                f"margins do not add up (chi-square {self.fit.chi_square:.1f} with "
                f"{self.fit.degrees} degrees of freedom, p {self.fit.p_value:.2g}): the margin of "
                f"{agent} over {opponent} is {self.fit.worst_thirds:+.2f} thirds off what their "
                "ratings say"
            )
        return told

    def to_json(self) -> dict[str, Any]:
        """Return plain numbers and text."""
        return {
            "anchor": self.anchor,
            "ratings": [
                {"agent": one.agent, "thirds": one.thirds.mean, "ci95": one.thirds.ends}
                for one in self.ratings
            ],
            "chi_square": self.fit.chi_square,
            "degrees_of_freedom": self.fit.degrees,
            "p_value": self.fit.p_value,
            "worst_residual": {"pairing": list(self.fit.worst), "thirds": self.fit.worst_thirds},
            "cycles": [list(cycle) for cycle in self.cycles],
            "shared_deals": self.shared_deals,
            "warnings": self.warnings,
        }


def rate(pairings: Sequence[Pairing], anchor: str | None = "random", seed: int = 0) -> Ratings:
    """Rate the agents of some pairings.

    Parameters
    ----------
    pairings : sequence of Pairing
        They must connect all agents; one of an agent with itself says nothing and is left out.
    anchor : str, optional
        The agent rated 0, if it is among them; else the mean of all ratings is 0.
    seed : int
        Of the resampled deals.

    Raises
    ------
    OptionError
        If there is no pairing of two agents, or they fall apart into groups that never met.
    """
    pairings = [one for one in pairings if one.agent != one.opponent]
    names = list(dict.fromkeys(name for one in pairings for name in (one.agent, one.opponent)))
    if not names:
        raise OptionError("ratings: expected a pairing of two different agents, got none")
    design = np.zeros((len(pairings), len(names)))
    for row, one in enumerate(pairings):
        design[row, names.index(one.agent)] = 1.0
        design[row, names.index(one.opponent)] = -1.0
    _check_connected(design, names)
    margins = np.array([one.mean for one in pairings])
    by_deal = [one.by_deal for one in pairings if one.by_deal is not None]
    is_shared = len(by_deal) == len(pairings)
    covariance = _deal_covariance(by_deal) if is_shared else _own_variances(pairings)
    # The shortest of all solutions is the one whose ratings add up to 0.
    root = 1.0 / np.sqrt(np.diag(covariance))
    centred = np.linalg.pinv(root[:, None] * design) * root
    solve = centred
    known_anchor = anchor if anchor in names else None
    if known_anchor is not None:
        solve = centred - centred[names.index(known_anchor)]
    ratings = solve @ margins
    if is_shared:
        low, high = np.quantile(_resampled(by_deal, seed) @ solve.T, (0.025, 0.975), axis=0)
    else:
        half = _NORMAL_975 * np.sqrt(np.maximum(np.diag(solve @ covariance @ solve.T), 0.0))
        low, high = ratings - half, ratings + half
    order = np.argsort(-ratings, kind="stable")
    deals = min(map(len, by_deal)) if is_shared else None
    return Ratings(
        ratings=tuple(
            Rating(names[k], Interval(float(ratings[k]), float(low[k]), float(high[k])))
            for k in order
        ),
        anchor=known_anchor,
        fit=_fit(pairings, margins, design @ centred, covariance, deals),
        cycles=find_cycles(pairings),
        shared_deals=is_shared,
    )


def find_cycles(pairings: Sequence[Pairing]) -> tuple[tuple[str, ...], ...]:
    """Return, for every agent in one, a shortest cycle of agents who each surely beat the next."""
    beats: dict[str, list[str]] = {}
    for one in pairings:
        if one.margin.low > 0:
            beats.setdefault(one.agent, []).append(one.opponent)
        if one.margin.high < 0:
            beats.setdefault(one.opponent, []).append(one.agent)
    found = {}
    for start in sorted(beats):
        cycle = _shortest_cycle(beats, start)
        if cycle:
            first = cycle.index(min(cycle))
            found[(*cycle[first:], *cycle[:first])] = len(cycle)
    return tuple(sorted(found, key=lambda cycle: (found[cycle], cycle)))


def _shortest_cycle(beats: dict[str, list[str]], start: str) -> tuple[str, ...]:
    """Search in breadth for a way from an agent back to it; nothing if there is none."""
    waiting: deque[tuple[str, ...]] = deque([(start,)])
    seen = set()
    while waiting:
        path = waiting.popleft()
        for beaten in sorted(beats.get(path[-1], [])):
            if beaten == start:
                return path
            if beaten not in seen:
                seen.add(beaten)
                waiting.append((*path, beaten))
    return ()


def _check_connected(design: FloatArray, names: list[str]) -> None:
    reached = np.arange(len(names)) == 0
    for _ in names:
        met = (design[:, reached] != 0).any(1)
        reached = reached | (design[met] != 0).any(0)
    if not reached.all():
        lost = names[int(np.argmin(reached))]
        raise OptionError(
            f"ratings: expected pairings that connect all agents, got none, not even through "
            f"others, between {shown(names[0])} and {shown(lost)}; let them play each other"
        )


def _own_variances(pairings: Sequence[Pairing]) -> FloatArray:
    halves = np.array([one.margin.high - one.margin.low for one in pairings]) / 2
    # Equal play has no variance, but an infinite weight would leave the others without any.
    variances = (halves / _NORMAL_975) ** 2
    return np.diag(np.maximum(variances, 1e-6))


def _deal_covariance(by_deal: Sequence[FloatArray]) -> FloatArray:
    """Covariance of mean margins over the same deals, float64[P, P].

    Means over n and over m > n deals share n of them: their covariance is that of one deal over m.
    """
    covariance = np.empty((len(by_deal), len(by_deal)))
    for row, first in enumerate(by_deal):
        for column, second in enumerate(by_deal):
            least, most = sorted((len(first), len(second)))
            covariance[row, column] = np.cov(first[:least], second[:least])[0, 1] / most
    # As if one deal had differed by a third, where none did: no weight is infinite.
    floor = np.array([1.0 / len(one) ** 2 for one in by_deal])
    np.fill_diagonal(covariance, np.maximum(np.diag(covariance), floor))
    return covariance


def _resampled(by_deal: Sequence[FloatArray], seed: int) -> FloatArray:
    """Mean margins of resampled deals, the same ones in all pairings, float64[_RESAMPLES, P].

    Each deal gets a random weight, exponentially distributed, as in the Bayesian bootstrap (D. B.
    Rubin, 1981): unlike counts of drawn deals, weights leave no pairing of few deals without any.
    """
    dice = np.random.default_rng(seed)
    means = np.empty((_RESAMPLES, len(by_deal)))
    longest = max(map(len, by_deal))
    rows_at_once = max(1, _WEIGHTS_AT_ONCE // longest)
    for start in range(0, _RESAMPLES, rows_at_once):
        rows = slice(start, min(start + rows_at_once, _RESAMPLES))
        weights = dice.standard_exponential((rows.stop - start, longest))
        for place, margins in enumerate(by_deal):
            part = weights[:, : len(margins)]
            means[rows, place] = part @ margins / part.sum(1)
    return means


def _fit(
    pairings: Sequence[Pairing],
    margins: FloatArray,
    hat: FloatArray,
    covariance: FloatArray,
    deals: int | None,
) -> Fit:
    """Compare the residuals with their covariance; ``hat`` (float64[P, P]) gives fitted margins."""
    rest = np.eye(len(hat)) - hat
    residuals = rest @ margins
    worst = int(np.argmax(np.abs(residuals)))
    values, vectors = np.linalg.eigh(rest @ covariance @ rest.T)
    # Directions that the fit leaves free; in the others the residual is 0 but for rounding.
    is_free = values > 1e-9 * np.diag(covariance).max()
    degrees = int(is_free.sum())
    chi_square = float(((vectors[:, is_free].T @ residuals) ** 2 / values[is_free]).sum())
    if deals is not None:
        # The covariance is estimated from the deals, too: Hotelling's T squared, brought to scale.
        chi_square *= max(deals - degrees, 0) / (deals - 1)
    return Fit(
        chi_square=chi_square,
        degrees=degrees,
        p_value=chi_square_tail(chi_square, degrees),
        worst=(pairings[worst].agent, pairings[worst].opponent),
        worst_thirds=float(residuals[worst]),
    )


def chi_square_tail(value: float, degrees: int) -> float:
    """Probability that a chi-square variable is ``value`` or more; 1 without degrees of freedom.

    The sums of M. Abramowitz and I. Stegun, "Handbook of Mathematical Functions", 1964, 26.4.4
    (odd) and 26.4.5 (even degrees of freedom).
    """
    if degrees == 0 or value <= 0:
        return 1.0
    half = value / 2
    is_odd = degrees % 2
    total = math.erfc(math.sqrt(half)) if is_odd else 0.0
    for step in range(degrees // 2):
        power = step + is_odd / 2
        total += math.exp(power * math.log(half) - half - math.lgamma(power + 1))
    return min(total, 1.0)
