"""The perfect-information state for critics, against hands and stock dealt by the test."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tressette_env import full_state, tressette_v0
from tressette_env.rulesets import PRESETS, playable_presets

LAST_TRICK = 3
WORTH = {**dict.fromkeys("4567", 0), **dict.fromkeys("JQK23", 1), "A": 3}


def ones(features: np.ndarray) -> list[int]:
    return [int(place) for place in np.flatnonzero(features)]


@pytest.mark.parametrize("rules", playable_presets())
def test_layout(rules: str) -> None:
    layout = full_state.layout(PRESETS[rules])
    place = 0
    for block in layout.blocks:
        assert (block.start, block.slice) == (place, slice(place, place + block.size))
        assert block.meaning
        place += block.size
    assert place == layout.size
    names = [block.name for block in layout.blocks]
    assert len(set(names)) == len(names)
    assert {"hands", "stock", "played", "table", "turn", "thirds", "totals"} <= set(names)
    env = tressette_v0.env(rules=rules)
    assert env.state_space.shape == (layout.size,)
    assert env.state_space.dtype == np.int8


@pytest.mark.parametrize("rules", playable_presets())
def test_every_block_at_every_ply(rules: str) -> None:
    house = PRESETS[rules]
    layout = full_state.layout(house)
    rng = np.random.default_rng(1)
    env = tressette_v0.raw_env(rules=rules)
    for leader in range(house.seats):
        deck = rng.permutation(house.deck).tolist()
        env.reset(options={"deck": deck, "leader": leader})
        size = house.hand_size
        hands = [set(deck[size * seat : size * (seat + 1)]) for seat in range(house.seats)]
        stock = deck[size * house.seats :]
        played: list[set[int]] = [set() for _ in hands]
        trick: list[tuple[int, int]] = []
        thirds = [0, 0]
        turn = led = leader
        while True:
            state = env.state()
            assert state.dtype == np.int8
            assert set(state.tolist()) <= {0, 1}
            block: dict[str, Any] = {b.name: state[b.slice] for b in layout.blocks}
            for seat, row in enumerate(block["hands"].reshape(house.seats, 40)):
                assert set(ones(row)) == hands[seat]
            for seat, row in enumerate(block["played"].reshape(house.seats, 40)):
                assert set(ones(row)) == played[seat]
            assert set(ones(block["table"])) == {card for _, card in trick}
            assert ones(block["leader"]) == [led]
            assert ones(block["turn"]) == [turn]
            assert ones(block["stock"]) == [40 * place + card for place, card in enumerate(stock)]
            for side, row in enumerate(block["thirds"].reshape(2, 35)):
                assert ones(row) == list(range(thirds[side]))
            for side, row in enumerate(block["totals"].reshape(2, 40)):
                assert ones(row) == list(range(env.totals[side]))
            if all(env.terminations.values()):
                break
            card = int(rng.choice(np.flatnonzero(env.last()[0]["action_mask"])))
            env.step(card)
            hands[turn].remove(card)
            played[turn].add(card)
            trick.append((turn, card))
            turn = (turn + 1) % house.seats
            if len(trick) == house.seats:
                suit = trick[0][1] // 10
                turn = led = max((c, seat) for seat, c in trick if c // 10 == suit)[1]
                thirds[led % 2] += sum(WORTH["4567JQKA23"[c % 10]] for _, c in trick)
                thirds[led % 2] += 0 if any(hands) else LAST_TRICK
                trick = []
                for place in range(house.seats if stock else 0):
                    hands[(led + place) % house.seats].add(stock.pop(0))


def test_state_is_new_and_complete() -> None:
    """Two states are equal only if every seat's observation is; a new array on every call."""
    env = tressette_v0.env(rules="playmore", episode="match")
    rng = np.random.default_rng(2)
    env.reset(seed=2)
    seen = set()
    for _ in range(60):
        first, second = env.state(), env.state()
        assert not np.shares_memory(first, second)
        assert np.array_equal(first, second)
        seen.add(first.tobytes())
        env.step(int(rng.choice(np.flatnonzero(env.last()[0]["action_mask"]))))
    assert len(seen) == 60


def test_totals_of_a_match_are_in_the_state() -> None:
    env = tressette_v0.env(rules="playmore", episode="match")
    layout = full_state.layout(PRESETS["playmore"])
    rng = np.random.default_rng(3)
    env.reset(seed=3)
    for _ in range(40):
        env.step(int(rng.choice(np.flatnonzero(env.last()[0]["action_mask"]))))
    rows = env.state()[layout["totals"].slice].reshape(2, 40)
    assert tuple(rows.sum(axis=1)) == env.unwrapped.totals
    assert rows.sum() == 11
