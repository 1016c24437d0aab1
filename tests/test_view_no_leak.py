"""Nothing hidden gets through: re-dealing what a seat cannot see changes nothing that it gets."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tressette_env import observation, tressette_v0
from tressette_env.cards import card_list
from tressette_env.policies import CheatingAgent, as_agent, make_agent
from tressette_env.rules import ILLEGAL, deal, play_card
from tressette_env.rulesets import PRESETS, RULES_DTYPE, RuleSet, playable_presets
from tressette_env.state import STATE_DTYPE, State, new_state
from tressette_env.view import VIEW_DTYPE, View, view_of

HOUSES = {name: PRESETS[name] for name in playable_presets()} | {
    "free_and_shown": RuleSet("free_and_shown", follow="stock_empty", draws="shown"),
}


def replay(rules: RuleSet, deck: list[int], leader: int, plays: list[int]) -> State | None:
    """State after the plays, or None if a card was not legal in this deal."""
    state = new_state()
    deal(state, rules, deck, leader)
    for card in plays:
        if play_card(state, rules, card) == ILLEGAL:
            return None
    return state


def hidden_from(state: State, rules: RuleSet, seat: int) -> list[int]:
    """Cards in other hands that no draw has shown, and in the stock."""
    others = [state.hands[other] for other in range(rules.seats) if other != seat]
    cards = [card for hand in others for card in card_list(hand & ~state.known)]
    return cards + state.stock[state.drawn : rules.stock_size]


def other_worlds(
    rules: RuleSet, deck: list[int], leader: int, plays: list[int], seat: int, rng: Any
) -> Iterator[tuple[list[int], State]]:
    """Deals in which the same cards can have been played and the seat has seen the same.

    A walk: two hidden cards change places; the step counts if every play stays legal, so that what
    a play has proved (a void) is respected.
    """
    state = replay(rules, deck, leader, plays)
    assert state is not None
    hidden = hidden_from(state, rules, seat)
    walk = list(deck)
    moved = False
    for _ in range(7 if len(hidden) > 1 else 0):
        first, second = rng.choice(hidden, 2, replace=False)
        step = [{first: second, second: first}.get(card, card) for card in walk]
        now = replay(rules, step, leader, plays)
        if now is not None:
            walk, state, moved = step, now, True
    if moved:
        yield walk, state


def at(env: Any, deck: list[int], leader: int, plays: list[int]) -> Any:
    env.reset(seed=1, options={"deck": deck, "leader": leader})
    for card in plays:
        env.step(card)
    return env


@pytest.mark.parametrize("house", HOUSES)
def test_hidden_cards_change_nothing(house: str) -> None:
    rules = HOUSES[house]
    rng = np.random.default_rng(1)
    options: dict[str, Any] = {"rules": rules, "episode": "match", "observation": "history"}
    here, there = tressette_v0.raw_env(**options), tressette_v0.raw_env(**options)
    agents = [make_agent("random"), make_agent("greedy")]
    worlds = hands = 0
    for number in range(30 if rules.deck_size < 40 else 3 if rules.seats == 4 else 5):
        deck = rng.permutation(rules.deck).tolist()
        leader = number % rules.seats
        plays: list[int] = []
        at(here, deck, leader, plays)
        while len(plays) < rules.deck_size:
            for seat, agent in enumerate(here.possible_agents):
                for other, state in other_worlds(rules, deck, leader, plays, seat, rng):
                    at(there, other, leader, plays)
                    if np.array_equal(there.state(), here.state()):
                        continue  # two cards of one hand have changed places
                    worlds += 1
                    hands += any(
                        there.view(name).hand != here.view(name).hand
                        for name in here.possible_agents
                    )
                    assert there.view(agent) == here.view(agent)
                    assert view_of(state, rules, seat) == here.view(agent)
                    for key, array in here.observe(agent).items():
                        assert np.array_equal(there.observe(agent)[key], array), (key, seat, plays)
                    assert there.picture(agent) == here.picture(agent)
                    if seat == here.view(agent).seat and here.agent_selection == agent:
                        for player in agents:
                            choice = player.act(here.view(agent), 5)
                            assert player.act(there.view(agent), 5) == choice
            legal = np.flatnonzero(here.last()[0]["action_mask"])
            plays.append(int(rng.choice(legal)))
            here.step(plays[-1])
    # The walk did re-deal: in most places another hand, not just the stock's order.
    assert worlds > 100
    assert hands > worlds / 2


def test_views_differ_where_something_visible_does() -> None:
    """The check above can fail: a swap of a hidden card with a shown one is seen."""
    rules = PRESETS["cuperativa"]
    deck = list(range(40))
    plays = [0, 10]
    state = replay(rules, deck, 0, plays)
    assert state is not None
    shown = card_list(state.known & state.hands[1])
    assert shown
    hidden = hidden_from(state, rules, 0)[-1]
    swapped = [{shown[0]: hidden, hidden: shown[0]}.get(card, card) for card in deck]
    envs = [tressette_v0.raw_env(rules=rules) for _ in range(2)]
    for env, cards in zip(envs, (deck, swapped), strict=True):
        at(env, cards, 0, plays)
    assert envs[0].view("player_0") != envs[1].view("player_0")
    assert not np.array_equal(*(env.observe("player_0")["observation"] for env in envs))
    assert envs[0].picture("player_0") != envs[1].picture("player_0")


def test_reveal_is_for_pictures_only() -> None:
    plain, revealing = (tressette_v0.raw_env(reveal=reveal) for reveal in (False, True))
    for env in (plain, revealing):
        env.reset(seed=2)
    assert plain.view("player_0") == revealing.view("player_0")
    assert np.array_equal(*(env.observe("player_0")["observation"] for env in (plain, revealing)))


# -------------------------------------------------------- what the code that sees views can reach

ROOT = Path(__file__).parents[1]
AGENT_FILES = sorted((ROOT / "agents" / "tressette_agents").rglob("*.py"))
OBSERVATION_FILE = Path(observation.__file__)

# Fields that only a state has; whoever names one has a state in hand.
CHEAT = "clairvoyant.py"
STATE_ONLY = set(STATE_DTYPE.names or ()) - set(VIEW_DTYPE.names or ())
FORBIDDEN_MODULES = {
    f"tressette_env.{name}" for name in ("full_state", "single", "state", "tressette_v0")
}
# What these modules offer for views, sets of cards and seeds; everything else there takes states.
TAKE_STATES = {
    *(path.stem for path in OBSERVATION_FILE.parent.glob("kernels*.py")),
    *("batch", "batch_views", "single_desk"),
}
FOR_AGENTS = {"encode_views", "masks_of", "random_words", "spread_sets"}


def imported(tree: ast.Module) -> set[str]:
    """Every module, and every ``module.name``, that a file imports anywhere."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            names.add(str(node.module))
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def names_read_of(tree: ast.AST, name: str) -> set[str]:
    return {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == name
    }


def local_names_of(tree: ast.Module, module: str) -> set[str]:
    """Names under which a file knows a module of the environment, ``as`` included."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "tressette_env":
            found |= {one.asname or one.name for one in node.names if one.name == module}
        elif isinstance(node, ast.Import):
            full = f"tressette_env.{module}"
            found |= {one.asname for one in node.names if one.name == full and one.asname}
    return found


def test_state_only_fields_are_what_hides_cards() -> None:
    assert {"hands", "stock", "drawn", "deal_number"} <= STATE_ONLY
    assert set(View.__slots__) == {*(VIEW_DTYPE.names or ()), "rules"}
    assert not hasattr(View(PRESETS["playmore"]), "__dict__")


HONEST_FILES = [path for path in AGENT_FILES if path.name != CHEAT]


def test_the_one_file_that_may_see_states_holds_an_agent_that_cheats() -> None:
    assert len(HONEST_FILES) == len(AGENT_FILES) - 1
    assert isinstance(as_agent("clairvoyant", may_cheat=True), CheatingAgent)


@pytest.mark.parametrize("path", [OBSERVATION_FILE, *HONEST_FILES], ids=lambda path: path.name)
def test_no_state_in_reach(path: Path) -> None:
    tree = ast.parse(path.read_text())
    assert not imported(tree) & FORBIDDEN_MODULES
    for module in TAKE_STATES:
        prefix = f"tressette_env.{module}."
        names = {name.removeprefix(prefix) for name in imported(tree) if name.startswith(prefix)}
        read = set().union(*(names_read_of(tree, name) for name in local_names_of(tree, module)))
        assert names | read <= FOR_AGENTS
    attributes = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    assert not attributes & STATE_ONLY
    # No way around: attributes by name, or globals of other modules.
    called = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    assert not called & {"eval", "exec", "globals", "__import__", "vars"}
    view_names = {*View.__slots__, *(name for name in dir(View) if not name.startswith("_"))}
    assert names_read_of(tree, "view") <= view_names


def test_encode_reads_views_and_rules_only() -> None:
    tree = ast.parse(OBSERVATION_FILE.read_text())
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    rule_names = {*(RULES_DTYPE.names or ())}
    read_of_view = set()
    takes_view = [f for f in functions.values() if "view" in {arg.arg for arg in f.args.args}]
    assert functions["encode"] in takes_view
    for function in takes_view:
        parameters = {arg.arg for arg in function.args.args}
        for node in ast.walk(function):
            if isinstance(node, ast.Attribute):
                assert isinstance(node.value, ast.Name)
                assert node.value.id in parameters
        read_of_view |= names_read_of(function, "view")
        assert names_read_of(function, "rules") <= rule_names
    assert read_of_view <= set(VIEW_DTYPE.names or ())
    assert {"hand", "unseen", "known", "voids"} <= read_of_view
