"""The mean of independent numbers with its 95 % interval and its p-value.

By Student's t, the half-width is ``t(n - 1) * s / sqrt(n)`` with the sample's standard deviation
``s`` (ddof 1). From 30 numbers up t is below 2.05, for 2,000 it is 1.961. For those who look more
than once there is ``mean_sequence``, and beside both the bootstrap, which assumes the least.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = [
    "Interval",
    "bootstrap_interval",
    "mean_interval",
    "mean_sequence",
    "student_t_975",
    "two_sided_p",
]

_NORMAL_975 = 1.959963984540054
_EXACT_UP_TO = 200  # degrees of freedom
_TIGHTEST_AT = 1000  # values at which the interval for repeated looks is tightest
_RESAMPLES = 2000  # of the bootstrap


@dataclass(frozen=True)
class Interval:
    """A mean, and the ends of its 95 % interval."""

    mean: float
    low: float
    high: float

    @property
    def ends(self) -> list[float]:
        """``[low, high]``."""
        return [self.low, self.high]

    @property
    def half_width(self) -> float:
        """Half of the interval's length."""
        return (self.high - self.low) / 2


def student_t_975(degrees: int) -> float:
    """Quantile 0.975 of Student's t: half of a two-sided 95 % interval, in standard errors.

    Up to 200 degrees of freedom from the exact distribution function, above from its expansion,
    with an error below 1e-8 (M. Abramowitz and I. Stegun, "Handbook of Mathematical Functions",
    1964, 26.7.3 to 26.7.5).
    """
    if degrees > _EXACT_UP_TO:
        z, n = _NORMAL_975, degrees
        return (
            z
            + (z**3 + z) / (4 * n)
            + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * n**2)
            + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * n**3)
        )
    low, high = 0.0, 20.0
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        if _within(middle, degrees) < 0.95:
            low = middle
        else:
            high = middle
    return high


def _within(t: float, degrees: int) -> float:
    """Probability of ``-t`` to ``t`` (26.7.3 for odd degrees of freedom, 26.7.4 for even)."""
    angle = math.atan(t / math.sqrt(degrees))
    cosine = math.cos(angle)
    is_odd = degrees % 2
    term = cosine if is_odd else 1.0
    total = term if degrees > 1 else 0.0
    for power in range(2 + is_odd, degrees - 1, 2):
        term *= cosine**2 * (power - 1) / power
        total += term
    total *= math.sin(angle)
    return 2 / math.pi * (angle + total) if is_odd else total


def two_sided_p(mean: float, error: float, degrees: int) -> float:
    """Probability of a mean at least so far from 0, either way, if the truth is 0 (Student's t).

    ``I(n / (n + t^2); n / 2, 1 / 2)`` with ``t = mean / error``, ``n`` degrees of freedom and the
    regularised incomplete beta function I (Abramowitz and Stegun, 26.7.1 and 26.5.27).

    Parameters
    ----------
    mean : float
    error : float
        Its standard error; 0 if all values are the same.
    degrees : int
    """
    if mean == 0 or error == 0:
        return 1.0 if mean == 0 else 0.0
    t_squared = (mean / error) ** 2
    a, b = degrees / 2, 0.5
    x, rest = degrees / (degrees + t_squared), t_squared / (degrees + t_squared)
    log_factor = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    log_factor += -a * math.log1p(t_squared / degrees) + b * math.log(rest)
    # The continued fraction is quick on this side of the mean; the other one by symmetry.
    if x < (a + 1) / (a + b + 2):
        return math.exp(log_factor) * _beta_fraction(a, b, x) / a
    return 1 - math.exp(log_factor) * _beta_fraction(b, a, rest) / b


def _beta_fraction(a: float, b: float, x: float) -> float:
    """Continued fraction of the incomplete beta function, by Lentz's method.

    W. Press and others, "Numerical Recipes", 3rd edition, 2007, 6.4.
    """
    d = 1 / (1 - (a + b) * x / (a + 1))
    c, value, change = 1.0, d, 0.0
    m = 0
    while abs(change - 1) > 1e-14:
        m += 1
        for numerator in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / (1 + numerator * d)
            c = 1 + numerator / c
            change = c * d
            value *= change
    return value


def mean_interval(values: npt.NDArray[Any]) -> Interval:
    """Mean of independent values (number[n], n at least 2) and its 95 % interval."""
    values = np.asarray(values, np.float64)
    mean = float(values.mean())
    half = student_t_975(len(values) - 1) * float(values.std(ddof=1)) / math.sqrt(len(values))
    return Interval(mean, mean - half, mean + half)


def mean_sequence(values: npt.NDArray[Any]) -> Interval:
    """Mean of independent values (number[n], n at least 2) and a 95 % interval to look at often.

    For whoever looks again and again while values come in, and stops when it looks good: an
    asymptotic confidence sequence, which with probability 95 % holds the truth at every n at once,
    as far as the mean is about normal at the first look. With ``s`` the standard deviation so far,
    the half-width is

        ``s * sqrt(2 (n r + 1) / (n^2 r) * log(sqrt(n r + 1) / 0.05))``

    (normal mixture; I. Waudby-Smith, D. Arbour, R. Sinha, E. Kennedy and A. Ramdas, "Time-uniform
    central limit theory and asymptotic confidence sequences", arXiv 2103.06476, theorem 2.2, where
    r is rho^2). It is tightest near ``n = m`` with ``r = (-2 log 0.05 + log(-2 log 0.05 + 1)) / m``
    (same, appendix on the choice of rho); m is fixed, 1,000, as it may not depend on the values.
    """
    values = np.asarray(values, np.float64)
    n, mean, log_alpha = len(values), float(values.mean()), math.log(0.05)
    r = (-2 * log_alpha + math.log(-2 * log_alpha + 1)) / _TIGHTEST_AT
    width = 2 * (n * r + 1) / (n * n * r) * (math.log(n * r + 1) / 2 - log_alpha)
    half = float(values.std(ddof=1)) * math.sqrt(width)
    return Interval(mean, mean - half, mean + half)


def bootstrap_interval(values: npt.NDArray[Any], seed: int = 0) -> Interval:
    """Mean of independent values (number[n]) and its 95 % interval by the bootstrap.

    The interval holds the middle 95 % of the means of 2,000 samples of n values, drawn from the
    values with replacement (percentile interval; B. Efron and R. Tibshirani, "An Introduction to
    the Bootstrap", 1993, chapter 13). It assumes nothing about how the values are distributed.

    Parameters
    ----------
    values : number[n]
    seed : int
        Of the draws: the same one, the same interval.
    """
    values = np.asarray(values, np.float64)
    # How often each value is drawn is enough, and there are few different ones: margins are whole.
    different, counts = np.unique(values, return_counts=True)
    rng = np.random.default_rng(seed)
    drawn = rng.multinomial(len(values), counts / len(values), _RESAMPLES)
    low, high = np.quantile(drawn @ different / len(values), (0.025, 0.975))
    return Interval(float(values.mean()), float(low), float(high))
