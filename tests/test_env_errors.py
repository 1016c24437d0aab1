"""Bad input to the environments: one clear line, in one family of errors, and nothing is lost."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from tressette_env import SingleSeatEnv, tressette_v0
from tressette_env.errors import (
    AgentFailedError,
    DeckError,
    IllegalCardError,
    OptionError,
    RulesError,
    StepOrderError,
    TressetteError,
)
from tressette_env.rulesets import PRESETS, RuleSet, playable_presets

MAKERS = [tressette_v0.env, tressette_v0.raw_env]
both_ways = pytest.mark.parametrize("make", MAKERS)


def one_line(error: pytest.ExceptionInfo[BaseException], *parts: str) -> None:
    """Check that a message is one line which names every part, in the kit's family of errors."""
    text = str(error.value)
    assert isinstance(error.value, TressetteError)
    assert isinstance(error.value, ValueError)
    assert "\n" not in text
    assert 10 < len(text) < 500
    for part in parts:
        assert part in text


def leaves(value: Any, path: str = "env") -> Iterator[tuple[str, Any]]:
    """Everything in an environment, however deep, that can be compared."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from leaves(item, f"{path}[{key!r}]")
    elif isinstance(value, list | tuple):
        yield path, len(value)
        for place, item in enumerate(value):
            yield from leaves(item, f"{path}[{place}]")
    elif isinstance(value, np.ndarray):
        yield path, value.tobytes()
    elif isinstance(value, str | int | float | None):
        yield path, value


def everything(env: Any) -> dict[str, Any]:
    unwrapped = env.unwrapped
    seen: dict[str, Any] = {}
    for agent in unwrapped.possible_agents:
        seen[f"observe {agent}"] = [a.tobytes() for a in unwrapped.observe(agent).values()]
    seen.update(leaves(copy.deepcopy(unwrapped.__dict__)))
    assert any("_states" in path for path in seen)
    seen["record"] = unwrapped.record()
    return seen


def fixed_deal(make: Callable[..., Any], rules: str = "playmore") -> Any:
    """Seat 0 holds 0 to 9 (denari), seat 1 10 to 14 (coppe) and 20 to 24 (spade); seat 0 leads."""
    deck = [*range(10), *range(10, 15), *range(20, 25), *range(15, 20), *range(25, 40)]
    env = make(rules=rules)
    env.reset(seed=1, options={"deck": deck, "leader": 0})
    return env


# ----------------------------------------------------------------------------------------- cards

NOT_CARDS = [
    pytest.param(1.0, "1.0", id="float"),
    pytest.param(np.float64(1), "1.0", id="numpy float"),
    pytest.param(40, "40", id="above"),
    pytest.param(-1, "-1", id="below"),
    pytest.param(10**30, str(10**30), id="huge"),
    pytest.param(None, "None", id="None"),
    pytest.param(True, "True", id="bool"),
    pytest.param(np.True_, "True", id="numpy bool"),
    pytest.param("4D", "'4D'", id="str"),
    pytest.param([1], "[1]", id="list"),
    pytest.param(np.array([1]), "array([1])", id="array"),
    pytest.param(np.arange(300), "array([ 0, 1, 2,", id="long array"),
    pytest.param({}, "{}", id="dict"),
    pytest.param(float("nan"), "nan", id="nan"),
]


@both_ways
@pytest.mark.parametrize(("action", "shown"), NOT_CARDS)
def test_not_a_card(make: Callable[..., Any], action: Any, shown: str) -> None:
    env = fixed_deal(make)
    before = everything(env)
    with pytest.raises(IllegalCardError) as error:
        env.step(action)
    one_line(error, "player_0", shown, "4D (0)", "3D (9)")
    assert error.value.legal == tuple(range(10))
    assert everything(env) == before


@both_ways
@pytest.mark.parametrize("card", [np.int8(3), np.int64(3), np.uint8(3), np.array(3), 3])
def test_integers_of_any_kind_are_cards(make: Callable[..., Any], card: Any) -> None:
    env = fixed_deal(make)
    env.step(card)
    assert env.agent_selection == "player_1"
    assert env.unwrapped.view("player_1").table == [3]


@both_ways
def test_card_not_in_hand(make: Callable[..., Any]) -> None:
    env = fixed_deal(make)
    before = everything(env)
    for card in (10, 24, 15, 39):  # of the other seat, and of the stock
        with pytest.raises(IllegalCardError) as error:
            env.step(card)
        one_line(error, "player_0", f"{'4567JQKA23'[card % 10]}{'DCSB'[card // 10]}", "4D (0)")
        assert everything(env) == before


@both_ways
def test_card_already_played(make: Callable[..., Any]) -> None:
    env = fixed_deal(make)
    env.step(9)
    before = everything(env)
    with pytest.raises(IllegalCardError) as error:
        env.step(9)  # by the other seat, in the same trick
    one_line(error, "player_1", "3D", "4C (10)")
    assert everything(env) == before
    env.step(10)
    before = everything(env)
    for card in (9, 10):  # in the next trick
        with pytest.raises(IllegalCardError) as error:
            env.step(card)
        one_line(error, "player_0")
        assert everything(env) == before


@both_ways
@pytest.mark.parametrize("rules", ["playmore", "gamelake"])
def test_off_suit_card(make: Callable[..., Any], rules: str) -> None:
    deck = [*range(9), 10, 9, *range(11, 20), *range(20, 40)]  # seat 0 lacks 9, holds 10
    env = make(rules=rules)
    env.reset(options={"deck": deck, "leader": 1})
    env.step(9)
    mask = env.observe("player_0")["action_mask"]
    if rules == "gamelake":  # any card may be played while the stock lasts (R6)
        assert np.flatnonzero(mask).tolist() == [*range(9), 10]
        env.step(10)
        return
    assert np.flatnonzero(mask).tolist() == [*range(9)]
    before = everything(env)
    with pytest.raises(IllegalCardError) as error:
        env.step(10)
    one_line(error, "player_0", "4C")
    assert error.value.legal == tuple(range(9))
    assert everything(env) == before


@pytest.mark.parametrize("rules", playable_presets())
def test_no_illegal_card_ever_changes_anything(rules: str) -> None:
    """At every ply of a deal, every one of the 40 cards that is not in the mask is refused."""
    env = tressette_v0.raw_env(rules=rules, episode="match", reward="tricks")
    rng = np.random.default_rng(1)
    env.reset(seed=1)
    for _ in range(PRESETS[rules].deck_size + 3):
        if any(env.terminations.values()):
            break
        mask = env.observe(env.agent_selection)["action_mask"]
        before = everything(env)
        for card in np.flatnonzero(mask == 0):
            with pytest.raises(IllegalCardError) as error:
                env.step(card)
            assert error.value.legal == tuple(np.flatnonzero(mask))
        assert everything(env) == before
        env.step(rng.choice(np.flatnonzero(mask)))


# ------------------------------------------------------------------------------------ step order


@both_ways
def test_before_reset(make: Callable[..., Any]) -> None:
    env = make()
    calls: dict[str, Callable[[], Any]] = {
        "step": lambda: env.step(0),
        "observe": lambda: env.observe("player_0"),
        "state": env.state,
        "render": env.render,
        "record": env.unwrapped.record,
        "view": lambda: env.unwrapped.view("player_0"),
    }
    for name, call in calls.items():
        with pytest.raises(StepOrderError) as error:
            call()
        one_line(error, name, "reset()")
    env.reset(seed=1)
    for name, call in calls.items():
        if name != "step":
            call()


@both_ways
def test_a_reset_that_fails_is_no_reset(make: Callable[..., Any]) -> None:
    env = make()
    with pytest.raises(OptionError):
        env.reset(seed=-1)
    with pytest.raises(StepOrderError):
        env.step(0)


@both_ways
def test_after_the_end(make: Callable[..., Any]) -> None:
    env = make(rules="mini_2x4")
    env.reset(seed=1)
    while not any(env.terminations.values()):
        env.step(int(np.argmax(env.observe(env.agent_selection)["action_mask"])))
    before = everything(env)
    last = env.agent_selection
    for action in (0, 39, -1, 1.5, "3D"):
        with pytest.raises(StepOrderError) as error:
            env.step(action)
        one_line(error, "over", last, "None", repr(action))
        assert everything(env) == before
    env.step(None)
    env.step(None)
    assert env.agents == []
    before = everything(env)
    for action in (0, None):
        with pytest.raises(StepOrderError) as error:
            env.step(action)
        one_line(error, "over", "reset()")
        assert everything(env) == before
    env.reset()
    assert len(env.agents) == 2


# ------------------------------------------------------------------------------ decks and options

RIGHT = list(range(40))
BAD_DECKS = [
    pytest.param([0, 0, *RIGHT[2:]], ["once", "card 0", "places 0 and 1"], id="duplicate"),
    pytest.param(RIGHT[:39], ["40 cards", "got 39", "missing: 39"], id="39 cards"),
    pytest.param(RIGHT[5:], ["40 cards", "got 35", "missing: 0, 1, 2, 3, 4"], id="missing"),
    pytest.param([*RIGHT, 0], ["once", "card 0", "places 0 and 40"], id="41 cards"),
    pytest.param([], ["40 cards", "got 0"], id="empty"),
    pytest.param([40, *RIGHT[1:]], ["0 to 39", "got 40", "place 0"], id="above"),
    pytest.param([*RIGHT[:39], -1], ["0 to 39", "got -1", "place 39"], id="below"),
    pytest.param([0.0, *RIGHT[1:]], ["integers", "got 0.0", "place 0"], id="float"),
    pytest.param([False, *RIGHT[1:]], ["integers", "got False"], id="bool"),
    pytest.param([None, *RIGHT[1:]], ["integers", "got None"], id="None"),
    pytest.param(np.arange(40.0), ["integers", "got np.float64(0.0)"], id="float array"),
    pytest.param(np.zeros((9, 300)), ["integers", "array([0., 0."], id="2-d array"),
    pytest.param("3D KS", ["40 card numbers in order", "str"], id="str"),
    pytest.param(set(range(40)), ["40 card numbers in order", "set"], id="set"),
    pytest.param(itertools.repeat(5), ["each card once", "5", "places 0 and 1"], id="endless"),
    pytest.param(7, ["40 card numbers", "int"], id="int"),
]


@both_ways
@pytest.mark.parametrize(("deck", "parts"), BAD_DECKS)
def test_bad_deck(make: Callable[..., Any], deck: Any, parts: list[str]) -> None:
    env = fixed_deal(make)
    env.step(3)
    before = everything(env)
    with pytest.raises(DeckError) as error:
        env.reset(seed=5, options={"deck": deck})
    one_line(error, "deck", *parts)
    assert everything(env) == before


def test_bad_deck_of_a_small_game() -> None:
    env = tressette_v0.env(rules="mini_2x4")
    for deck in (range(8), RIGHT):
        with pytest.raises(DeckError) as error:
            env.reset(options={"deck": deck})
        one_line(error, "mini_2x4", "3, 6, 7, 9, 13, 16, 17, 19", "got 0")


BAD_OPTIONS = [
    pytest.param({"leader": 2}, ["leader", "0 to 1", "2"], id="leader above"),
    pytest.param({"leader": -1}, ["leader", "0 to 1", "-1"], id="leader below"),
    pytest.param({"leader": 1.0}, ["leader", "0 to 1", "1.0"], id="leader float"),
    pytest.param({"leader": True}, ["leader", "0 to 1", "True"], id="leader bool"),
    pytest.param({"leader": "player_0"}, ["leader", "0 to 1", "'player_0'"], id="leader str"),
    pytest.param({"leder": 1}, ["'leder'", "did you mean 'leader'", "deck, leader"], id="typo"),
    pytest.param({"x": 1}, ["'x'", "deck, leader"], id="unknown"),
    pytest.param({1: 1}, ["1", "deck, leader"], id="no string"),
    pytest.param(5, ["options", "dict", "5"], id="int"),
    pytest.param([("leader", 0)], ["options", "dict", "leader"], id="list"),
]


@both_ways
@pytest.mark.parametrize(("options", "parts"), BAD_OPTIONS)
def test_bad_options(make: Callable[..., Any], options: Any, parts: list[str]) -> None:
    env = fixed_deal(make)
    env.step(3)
    before = everything(env)
    with pytest.raises(OptionError) as error:
        env.reset(seed=5, options=options)
    one_line(error, *parts)
    assert everything(env) == before


BAD_SEEDS = [-1, 2**63, 1.5, 1.0, True, "7", [7], np.float64(7), np.True_]


@both_ways
@pytest.mark.parametrize("seed", BAD_SEEDS, ids=repr)
def test_bad_seed(make: Callable[..., Any], seed: Any) -> None:
    env = fixed_deal(make)
    env.step(3)
    before = everything(env)
    with pytest.raises(OptionError) as error:
        env.reset(seed=seed)
    one_line(error, "seed", "2**63 - 1", repr(seed))
    assert everything(env) == before


# ------------------------------------------------------------------------------------- arguments


@both_ways
@pytest.mark.parametrize(
    ("name", "value", "parts"),
    [
        ("episode", "game", ["'deal'", "'match'", "'game'"]),
        ("episode", None, ["'deal'", "'match'", "None"]),
        ("reward", "points", ["'house'", "'tricks'", "'points'"]),
        ("observation", "full", ["'flat'", "'history'", "'full'"]),
        ("render_mode", "rgb_array", ["'ansi'", "'human'", "'rgb_array'"]),
    ],
)
def test_bad_argument(make: Callable[..., Any], name: str, value: Any, parts: list[str]) -> None:
    with pytest.raises(OptionError) as error:
        make(**{name: value})
    one_line(error, name, *parts)


@both_ways
def test_unknown_preset(make: Callable[..., Any]) -> None:
    with pytest.raises(RulesError) as error:
        make(rules="playmor")
    one_line(error, "'playmor'", "did you mean 'playmore'", *playable_presets())
    with pytest.raises(RulesError) as error:
        make(rules="poker")
    one_line(error, "'poker'", *playable_presets())
    for rules in (None, 3, ["playmore"]):
        with pytest.raises(RulesError) as error:
            make(rules=rules)
        one_line(error, "preset name", type(rules).__name__)


@both_ways
@pytest.mark.parametrize("rules", sorted(set(PRESETS) - set(playable_presets())))
def test_presets_that_cannot_be_played_yet(make: Callable[..., Any], rules: str) -> None:
    with pytest.raises(RulesError) as error:
        make(rules=rules)
    one_line(error, rules, "declarations", "yet", "playmore")
    with pytest.raises(RulesError):
        make(rules=RuleSet(declarations="opening"))


@both_ways
def test_unknown_agent(make: Callable[..., Any]) -> None:
    env = fixed_deal(make)
    calls = (env.observe, env.observation_space, env.action_space, env.unwrapped.view)
    for call in calls:
        with pytest.raises(OptionError) as error:
            call("player_2")
        one_line(error, "player_0, player_1", "'player_2'")


# ------------------------------------------------------------------------------------ single seat


class First:
    """Plays the lowest legal card."""

    def act(self, view: Any, seed: int) -> int:
        return int(view.legal_cards[0])


@pytest.mark.parametrize(("action", "shown"), NOT_CARDS)
def test_single_seat_not_a_card(action: Any, shown: str) -> None:
    env = SingleSeatEnv(First(), seat=0)
    env.reset(seed=1)
    before = everything(env.table)
    with pytest.raises(IllegalCardError) as error:
        env.step(action)
    one_line(error, "player_0", shown)
    assert everything(env.table) == before
    env.step(np.argmax(env.action_masks()))


def test_single_seat_step_order() -> None:
    env = SingleSeatEnv(First(), rules="mini_2x4")
    for name, call in {
        "step": lambda: env.step(0),
        "action_masks": env.action_masks,
        "render": env.render,
    }.items():
        with pytest.raises(StepOrderError) as error:
            call()
        one_line(error, name, "reset()")
    env.reset(seed=1)
    over = False
    while not over:
        _, _, over, _, _ = env.step(np.argmax(env.action_masks()))
    before = everything(env.table)
    for action in (0, None):
        with pytest.raises(StepOrderError) as error:
            env.step(action)
        one_line(error, "over", "reset()")
    assert everything(env.table) == before
    assert not env.action_masks().any()


@pytest.mark.parametrize("seat", [2, -1, 1.0, True, "0", [0]], ids=repr)
def test_single_seat_bad_seat(seat: Any) -> None:
    with pytest.raises(OptionError) as error:
        SingleSeatEnv(First(), seat=seat)
    one_line(error, "seat", "0 to 1", repr(seat))


@pytest.mark.parametrize("seed", BAD_SEEDS, ids=repr)
def test_single_seat_bad_seed(seed: Any) -> None:
    env = SingleSeatEnv(First(), seat=0)
    env.reset(seed=1)
    before = everything(env.table)
    with pytest.raises(OptionError) as error:
        env.reset(seed=seed)
    one_line(error, "seed", repr(seed))
    assert everything(env.table) == before


def test_single_seat_bad_arguments() -> None:
    for arguments, part in (
        ({"rules": "poker"}, "'poker'"),
        ({"episode": "game"}, "'game'"),
        ({"reward": "points"}, "'points'"),
        ({"render_mode": "rgb_array"}, "'rgb_array'"),
        ({"opponent": 3}, "int"),
        ({"opponent": "nobody-of-this-name"}, "'nobody-of-this-name'"),
        ({"opponent": ""}, "''"),
    ):
        with pytest.raises(TressetteError) as error:
            SingleSeatEnv(**{"opponent": First(), **arguments})
        one_line(error, part)


def test_an_opponent_that_fails_is_named_and_the_learner_never_plays_for_it() -> None:
    class Cheat:
        def act(self, view: Any, seed: int) -> int:
            return 40

    env = SingleSeatEnv(Cheat(), seat=0)
    env.reset(seed=1, options={"leader": 0})
    card = np.argmax(env.action_masks())
    with pytest.raises(AgentFailedError) as error:
        env.step(card)
    one_line(error, "Cheat", "seat 1", "40")
    with pytest.raises(StepOrderError) as error:
        env.step(card)
    one_line(error, "opponent", "reset()")
    env.reset(options={"leader": 0})
    assert env.action_masks().any()
