"""Drawing worlds from a plan with a random stream: every choice exactly uniform.

The stream is xoshiro128++ (see ``randomness``) kept in an array, so that compiled search can go on
with it after a world. A number below a bound is never a rounded fraction: words that would favour a
number are drawn again.
"""

from __future__ import annotations

from typing import Any

from tressette_env.randomness import stream_next, stream_output, threefry

__all__ = ["deal_hidden", "next_word", "pick_below", "start_stream"]

_WORD = 0xFFFFFFFF
# Counters of a seed that serve worlds; decks, decisions and seats use lower ones.
_WORLDS = 6 << 60
_LANE = 1 << 30


def start_stream(stream: Any, seed: int, number: int) -> None:
    """Set the stream (int64[4]) to that of world ``number`` of a seed."""
    low, high = number & _WORD, (_WORLDS >> 32) + (number >> 32)
    stream[0], stream[1] = threefry(seed & _WORD, seed >> 32, low, high)
    stream[2], stream[3] = threefry(seed & _WORD, seed >> 32, low, high + _LANE)


def next_word(stream: Any) -> int:
    """Return the stream's next random word, 32 bits."""
    s0, s1, s2, s3 = stream[0], stream[1], stream[2], stream[3]
    stream[0], stream[1], stream[2], stream[3] = stream_next(s0, s1, s2, s3)
    return stream_output(s0, s3)


def pick_below(stream: Any, bound: int) -> int:
    """Uniform integer from 0 to ``bound - 1``; ``bound`` is from 1 to ``2**31``."""
    return _pick_two(stream, bound, 1)[0]


def _pick_two(stream: Any, bound_0: int, bound_1: int) -> tuple[int, int]:
    """Two uniform integers below two bounds (product up to ``2**31``) from one word.

    N. Brackett-Rozinsky and D. Lemire, "Batched Ranged Random Integer Generation", 2024, algorithm
    4: exact, as the words are drawn again whose remainder is below ``2**32 mod (product)``.
    """
    product = bound_0 * bound_1
    while True:
        scaled = next_word(stream) * bound_0
        pick_0 = scaled >> 32
        scaled = (scaled & _WORD) * bound_1
        remainder = scaled & _WORD
        if remainder >= product or remainder >= (1 << 32) % product:
            return pick_0, scaled >> 32


def _shuffle_front(cards: Any, start: int, end: int, count: int, stream: Any) -> None:
    """Put a uniform choice of ``count`` entries of ``cards[start:end]`` first, in uniform order."""
    stop = min(start + count, end - 1)
    for place in range(start, stop, 2):
        pick_0, pick_1 = _pick_two(stream, end - place, end - place - 1)
        pick_0 += place
        pick_1 += place + 1
        card = cards[place]
        cards[place] = cards[pick_0]
        cards[pick_0] = card
        card = cards[place + 1]
        cards[place + 1] = cards[pick_1]
        cards[pick_1] = card


def _pick_split(plan: Any, stream: Any) -> int:
    """Choose a split by its weight."""
    if plan.splits == 1:
        return 0
    while True:
        number = next_word(stream) << 30 | next_word(stream) >> 2  # CHOICE_BITS of them
        if number < plan.limit:
            break
    number %= plan.weight
    low, high = 0, plan.splits - 1  # the answer lies within
    while low < high:
        middle = (low + high) >> 1
        if number < plan.cumulative[middle]:
            high = middle
        else:
            low = middle + 1
    return low


def deal_hidden(plan: Any, stream: Any, scratch: Any, state: Any) -> None:
    """Deal the cards that the seat cannot see: the other hands, and what is left of the stock.

    Parameters
    ----------
    plan : record of PLAN_DTYPE
        Made by ``make_plan``, of a weight above 0.
    stream : int64[4]
        Moved on.
    scratch : int64[40]
        Overwritten.
    state : State or record of STATE_DTYPE
        Holds what ``write_public`` writes; other hands and the stock are overwritten.
    """
    taken = plan.taken[_pick_split(plan, stream)]
    total = plan.ends[plan.groups - 1]
    for place in range(total):
        scratch[place] = plan.cards[place]
    if plan.seats == 2:
        _deal_two(plan, taken, stream, scratch, state)
    else:
        _deal_four(plan, taken, stream, scratch, state)


def _deal_two(plan: Any, taken: int, stream: Any, scratch: Any, state: Any) -> None:
    hand = plan.known[0]
    start = 0
    stock = 0  # cards for the stock gathered at the front of scratch
    for group in range(plan.groups):
        end = plan.ends[group]
        count = taken >> 10 * group & 31
        _shuffle_front(scratch, start, end, count, stream)
        for place in range(start + count, end):
            hand |= 1 << scratch[place]
        for place in range(start, start + count):
            scratch[stock] = scratch[place]
            stock += 1
        start = end
    if plan.groups > 1:
        _shuffle_front(scratch, 0, stock, stock, stream)
    for place in range(stock):
        state.stock[state.drawn + place] = scratch[place]
    state.hands[plan.takers[0]] = hand


def _deal_four(plan: Any, taken: int, stream: Any, scratch: Any, state: Any) -> None:
    next_hand, across, before = plan.known[0], plan.known[1], plan.known[2]
    start = 0
    for group in range(plan.groups):
        end = plan.ends[group]
        middle = start + (taken >> 10 * group & 31)
        upper = middle + (taken >> 10 * group + 5 & 31)
        _shuffle_front(scratch, start, end, upper - start, stream)
        for place in range(start, middle):
            next_hand |= 1 << scratch[place]
        for place in range(middle, upper):
            across |= 1 << scratch[place]
        for place in range(upper, end):
            before |= 1 << scratch[place]
        start = end
    state.hands[plan.takers[0]] = next_hand
    state.hands[plan.takers[1]] = across
    state.hands[plan.takers[2]] = before
