"""Random numbers that are the same interpreted, compiled, and on every machine.

Two published generators on 32-bit words, written so that no step overflows a signed 64-bit integer
(compilers may assume that none does):

- Threefry-2x32 with 20 rounds, a function of a key and a counter: J. K. Salmon and others,
  "Parallel random numbers: as easy as 1, 2, 3", SC 2011. It turns a seed and a number into a
  starting point.
- xoshiro128++, a fast stream: D. Blackman and S. Vigna, "Scrambled linear pseudorandom number
  generators", ACM TOMS 47 (2021).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tressette_env.errors import OptionError, as_array, shown

__all__ = [
    "MAX_SEED",
    "check_seed",
    "check_seeds",
    "decision_seed",
    "drawn_seat",
    "fresh_seed",
    "hash_word",
    "random_word",
    "rotate_left",
    "stream_next",
    "stream_output",
    "threefry",
]

MAX_SEED = (1 << 63) - 1
_WORD = 0xFFFFFFFF
_PARITY = 0x1BD11BDA

# Numbers of a seed below the first of these are decks; from each on they serve another purpose.
_DECISIONS = 1 << 61
_SEATS = 3 << 60


def rotate_left(word: int, places: int) -> int:
    """Rotate a 32-bit word to the left."""
    return (word << places | word >> (32 - places)) & _WORD


def _four_rounds(x0: int, x1: int, r0: int, r1: int, r2: int, r3: int) -> tuple[int, int]:
    x0 = (x0 + x1) & _WORD
    x1 = rotate_left(x1, r0) ^ x0
    x0 = (x0 + x1) & _WORD
    x1 = rotate_left(x1, r1) ^ x0
    x0 = (x0 + x1) & _WORD
    x1 = rotate_left(x1, r2) ^ x0
    x0 = (x0 + x1) & _WORD
    x1 = rotate_left(x1, r3) ^ x0
    return x0, x1


def threefry(key_0: int, key_1: int, counter_0: int, counter_1: int) -> tuple[int, int]:
    """Threefry-2x32-20: two random words from a key and a counter of two words each."""
    key_2 = _PARITY ^ key_0 ^ key_1
    x0 = (counter_0 + key_0) & _WORD
    x1 = (counter_1 + key_1) & _WORD
    x0, x1 = _four_rounds(x0, x1, 13, 15, 26, 6)
    x0, x1 = (x0 + key_1) & _WORD, (x1 + key_2 + 1) & _WORD
    x0, x1 = _four_rounds(x0, x1, 17, 29, 16, 24)
    x0, x1 = (x0 + key_2) & _WORD, (x1 + key_0 + 2) & _WORD
    x0, x1 = _four_rounds(x0, x1, 13, 15, 26, 6)
    x0, x1 = (x0 + key_0) & _WORD, (x1 + key_1 + 3) & _WORD
    x0, x1 = _four_rounds(x0, x1, 17, 29, 16, 24)
    x0, x1 = (x0 + key_1) & _WORD, (x1 + key_2 + 4) & _WORD
    x0, x1 = _four_rounds(x0, x1, 13, 15, 26, 6)
    return (x0 + key_2) & _WORD, (x1 + key_0 + 5) & _WORD


def random_word(seed: int, number: int) -> int:
    """Return random number ``number`` of a seed, 63 bits: itself a seed."""
    x0, x1 = threefry(seed & _WORD, seed >> 32, number & _WORD, number >> 32)
    return x0 | (x1 & 0x7FFFFFFF) << 32


def decision_seed(seed: int, deal_number: int, ply: int) -> int:
    """Random number for the decision at one ply of one deal, from an agent's seed."""
    return random_word(random_word(seed, _DECISIONS + max(deal_number, 0)), ply)


def drawn_seat(seed: int, number: int, seats: int) -> int:
    """Seat of a learner in episode ``number`` of a seed, each equally likely."""
    return (random_word(seed, _SEATS + number) & _WORD) * seats >> 32


def stream_output(s0: int, s3: int) -> int:
    """Word that xoshiro128++ gives in a state of four words."""
    return (rotate_left((s0 + s3) & _WORD, 7) + s0) & _WORD


def stream_next(s0: int, s1: int, s2: int, s3: int) -> tuple[int, int, int, int]:
    """State that follows in xoshiro128++."""
    shifted = s1 << 9 & _WORD
    s2 ^= s0
    s3 ^= s1
    s1 ^= s2
    s0 ^= s3
    s2 ^= shifted
    return s0, s1, s2, rotate_left(s3, 11)


def hash_word(word: int) -> int:
    """Scramble a 32-bit word; cheap, for choices that need no independence beyond looking random.

    The construction of Wellons' "hash-prospector" searches, with multipliers below 2**31.
    """
    word = (word ^ word >> 16) * 0x21F0AAAD & _WORD
    word = (word ^ word >> 15) * 0x735A2D97 & _WORD
    return word ^ word >> 15


def check_seed(seed: object, name: str = "seed") -> int:
    """Return the seed as an int.

    Raises
    ------
    OptionError
        If it is not an integer from 0 to ``2**63 - 1``.
    """
    is_integer = isinstance(seed, (int, np.integer)) and not isinstance(seed, bool)
    if not is_integer or not 0 <= int(seed) <= MAX_SEED:  # type: ignore[call-overload]
        raise OptionError(f"{name}: expected an integer from 0 to 2**63 - 1, got {shown(seed)}")
    return int(seed)  # type: ignore[call-overload, no-any-return]


def check_seeds(seeds: npt.ArrayLike, name: str = "seeds") -> npt.NDArray[np.int64]:
    """Return seeds as a contiguous int64 array of the same shape.

    Raises
    ------
    OptionError
        If one is not an integer from 0 to ``2**63 - 1``.
    """
    array = as_array(seeds, name)
    # Of no seeds any type will do: an empty list is an array of floats.
    if array.size:
        if array.dtype.kind not in "iu":
            raise OptionError(f"{name}: expected integers, got {shown(seeds)}")
        least, most = int(array.min()), int(array.max())
        if least < 0 or most > MAX_SEED:
            got = least if least < 0 else most
            raise OptionError(f"{name}: expected integers from 0 to 2**63 - 1, got {got}")
    return np.asarray(array, np.int64, order="C")


def fresh_seed() -> int:
    """Return a seed from the operating system's entropy, for runs that were given none."""
    entropy = np.random.SeedSequence().entropy
    assert isinstance(entropy, int)
    return entropy & MAX_SEED
