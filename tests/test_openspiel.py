"""Tressette in OpenSpiel: chance, what a seat knows, OpenSpiel's own checks, best responses.

``python tests/test_openspiel.py`` compares the best responses in ``mini_2x4``: some minutes. What
needs OpenSpiel is skipped where it is not installed.
"""

from __future__ import annotations

import copy
import itertools
import pickle
import random
import sys
import time
import unittest
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_docs import DOCS, NOT_RUN, run_blocks

from tressette_env import PRESETS, get_rules
from tressette_env.errors import (
    AgentFailedError,
    AgentSpecError,
    IllegalCardError,
    OptionError,
    RulesError,
)
from tressette_env.rules import deal as deal_cards
from tressette_env.rules import play_card
from tressette_env.rulesets import RuleSet, playable_presets
from tressette_env.state import State, new_state
from tressette_env.view import View, view_of
from tressette_train.exploit.measure import exploit
from tressette_train.openspiel.deal import Deal
from tressette_train.openspiel.observers import DealObserver

KA3 = (6, 7, 9, 16, 17, 19)  # K A 3 in two suits
A3 = (7, 9, 17, 19)
TINY = PRESETS["mini_2x4"].replace(name="tiny", deck=KA3, follow="stock_empty")
TINIEST = TINY.replace(name="tiniest", deck=A3, hand_size=1)
TINY_RULES = [
    TINY,
    TINY.replace(follow="always", draws="hidden"),
    TINY.replace(hand_size=1, draws="hidden"),
    TINY.replace(seats=4, deck=A3, hand_size=1),
]


def random_deal(rules: RuleSet, leader: int | None, seed: int) -> Iterator[Deal]:
    """Every step of one random deal."""
    dice = random.Random(seed)
    deal = Deal.start(rules, leader)
    yield deal
    while not deal.is_over:
        if deal.is_chance:
            outcomes, weights = zip(*deal.chances(), strict=True)
            deal = deal.turned_up(dice.choices(outcomes, weights)[0])
        else:
            deal = deal.played(dice.choice(deal.legal_cards()))
        yield deal


def fields(state: State, rules: RuleSet) -> list[Any]:
    """All of a state but the stock, of which only what is drawn counts."""
    values = [getattr(state, name) for name in State.__slots__ if name != "stock"]
    return [*values, state.stock[: state.drawn]]


# ------------------------------------------------------------------------------------- chance


@pytest.mark.parametrize("rules", TINY_RULES)
@pytest.mark.parametrize("leader", [0, None])
def test_all_hands_are_equally_likely(rules: RuleSet, leader: int | None) -> None:
    found: Counter[tuple[Any, ...]] = Counter()

    def turn_up(deal: Deal, chance: float) -> None:
        if deal.has_hands:
            found[deal.leader, *deal.state.hands] += chance
            return
        chances = deal.chances()
        assert chances == sorted(chances)
        assert sum(one for _, one in chances) == pytest.approx(1)
        for outcome, one in chances:
            turn_up(deal.turned_up(outcome), chance * one)

    turn_up(Deal.start(rules, leader), 1.0)
    size = rules.hand_size
    hands = {
        tuple(tuple(sorted(deck[size * seat : size * seat + size])) for seat in range(rules.seats))
        for deck in itertools.permutations(rules.deck)
    }
    count = len(hands) * (1 if leader == 0 else rules.seats)
    assert list(found.values()) == pytest.approx([1 / count] * count)


@pytest.mark.parametrize("name", playable_presets())
def test_a_deal_is_what_the_rules_make_of_its_deck(name: str) -> None:
    rules = get_rules(name)
    for seed in range(5):
        steps = list(random_deal(rules, None, seed))
        last = steps[-1]
        assert sorted(last.cards) == list(rules.deck)
        assert last.leader is not None
        state = new_state()
        deal_cards(state, rules, list(last.cards), last.leader)
        for deal in steps:
            if deal.has_hands:
                if deal.state.ply > state.ply:
                    play_card(state, rules, deal.state.plays[state.ply])
                assert fields(deal.state, rules) == fields(state, rules)
        for seat, card in zip(last.drawers, last.cards[last.dealt :], strict=True):
            assert state.played[seat] >> card & 1
        margins = [last.margin(seat) for seat in range(rules.seats)]
        assert sum(margins) == 0
        assert margins[0] == state.thirds[0] - state.thirds[1]


def test_less_is_more_where_the_fewest_win() -> None:
    *_, most = random_deal(TINY, 0, 1)
    *_, fewest = random_deal(TINY.replace(objective="fewest"), 0, 1)
    assert most.cards == fewest.cards
    assert fewest.margin(0) == -most.margin(0) == most.margin(1)


def test_a_deal_is_never_changed() -> None:
    steps = list(random_deal(TINY, 0, 3))
    before = [fields(deal.state, TINY) for deal in steps]
    for deal in steps[:-1]:
        for outcome in [card for card, _ in deal.chances()] if deal.is_chance else []:
            deal.turned_up(outcome)
        for card in [] if deal.is_chance else deal.legal_cards():
            deal.played(card)
    assert [fields(deal.state, TINY) for deal in steps] == before


def test_a_card_out_of_place_is_refused() -> None:
    steps = list(random_deal(TINY, 0, 3))
    with pytest.raises(IllegalCardError, match="card 3D: expected no card"):
        steps[0].played(9)
    dealt = next(deal for deal in steps if not deal.is_chance)
    for card in (99, dealt.cards[-1]):
        with pytest.raises(IllegalCardError, match="expected") as caught:
            dealt.played(card)
        assert caught.value.legal == tuple(dealt.legal_cards())


# ------------------------------------------------------------------------- what a seat knows


def seen(deal: Deal, seat: int) -> tuple[Any, ...]:
    """Everything that one view says, as something to compare."""
    view = view_of(deal.state, deal.rules, seat)
    return tuple(
        tuple(value) if isinstance(value, list) else value
        for value in (getattr(view, name) for name in View.__slots__ if name != "rules")
    )


def decisions(rules: RuleSet) -> Iterator[tuple[Deal, tuple[Any, ...]]]:
    """Every decision of a small game that seat 0 leads, with all views of the seat to act."""

    def follow(deal: Deal, views: tuple[tuple[Any, ...], ...]) -> Iterator[Any]:
        if deal.is_chance:
            for outcome, _ in deal.chances():
                after = deal.turned_up(outcome)
                begins = after.has_hands and not deal.has_hands
                yield from follow(after, added(views, after) if begins else views)
        elif not deal.is_over:
            yield deal, views[deal.state.turn]
            for card in deal.legal_cards():
                after = deal.played(card)
                yield from follow(after, added(views, after))

    def added(views: tuple[tuple[Any, ...], ...], deal: Deal) -> tuple[tuple[Any, ...], ...]:
        return tuple((*views[seat], seen(deal, seat)) for seat in range(rules.seats))

    yield from follow(Deal.start(rules, 0), ((),) * rules.seats)


@pytest.mark.parametrize("rules", TINY_RULES)
def test_an_information_state_is_all_that_the_seat_has_seen(rules: RuleSet) -> None:
    """No more (a leak), and no less (what it has forgotten): text and tensor alike."""
    observer = DealObserver(rules, perfect_recall=True)
    by_text: dict[Any, set[Any]] = defaultdict(set)
    by_tensor: dict[Any, set[Any]] = defaultdict(set)
    histories = set()
    for deal, views in decisions(rules):
        seat = deal.state.turn
        observer.observe(deal, seat)
        histories.add(views)
        by_text[observer.text(deal, seat)].add(views)
        by_tensor[observer.tensor.tobytes()].add(views)
    for found in (by_text, by_tensor):
        assert len(found) == len(histories) > 30
        assert all(len(views) == 1 for views in found.values())


@pytest.mark.parametrize("rules", TINY_RULES)
def test_an_observation_is_the_kits_own(rules: RuleSet) -> None:
    from tressette_env.observation import encode, layout_for

    observer = DealObserver(rules, perfect_recall=False)
    layout = layout_for(rules)
    texts = {}
    for deal, _ in itertools.islice(decisions(rules), 0, 1500, 15):
        for seat in range(rules.seats):
            words = np.zeros(layout.size // 8, np.int64)
            encode(view_of(deal.state, rules, seat), rules, layout.places, words)
            observer.observe(deal, seat)
            assert (observer.parts["observation"] == words.view(np.int8)).all()
            assert observer.parts["player"].tolist() == np.eye(rules.seats)[seat].tolist()
            key = observer.tensor.tobytes()
            assert texts.setdefault(key, observer.text(deal, seat)) == observer.text(deal, seat)
    assert len(set(texts.values())) == len(texts)


def test_before_all_hands_are_dealt_a_seat_knows_nothing() -> None:
    for recall in (False, True):
        observer = DealObserver(TINY, recall)
        for deal in random_deal(TINY, None, 1):
            if not deal.has_hands:
                observer.observe(deal, 1)
                assert observer.text(deal, 1) == "seat 1"
                assert observer.tensor.tolist() == [0, 1, *[0] * (len(observer.tensor) - 2)]


# ---------------------------------------------------------------------------------- OpenSpiel


@pytest.fixture
def spiel(monkeypatch: pytest.MonkeyPatch) -> Any:
    """OpenSpiel with the game, and tiny decks as presets."""
    found = pytest.importorskip("pyspiel")
    import tressette_train.openspiel.game

    assert tressette_train.openspiel.game.SHORT_NAME in found.registered_names()
    monkeypatch.setitem(PRESETS, "tiny", TINY)
    monkeypatch.setitem(PRESETS, "tiniest", TINIEST)
    return found


@pytest.mark.parametrize("name", playable_presets())
@pytest.mark.parametrize("leader", ["", ",leader=1"])
def test_openspiels_random_simulations_pass(spiel: Any, name: str, leader: str) -> None:
    game = spiel.load_game(f"python_tressette(rules={name}{leader})")
    spiel.random_sim_test(game, num_sims=2, serialize=True, verbose=False)


def run_cases(base: Any, **members: Any) -> int:
    case = type("Case", (base,), members)
    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(case).run(result)
    assert not result.failures + result.errors, (result.failures + result.errors)[0][1]
    return result.testsRun


@pytest.mark.parametrize("name", ["playmore", "cuperativa", "gamelake_partners", "mini_2x4"])
def test_openspiels_checks_of_a_game_pass(spiel: Any, name: str) -> None:
    api = pytest.importorskip("open_spiel.integration_tests.api_test")
    game = spiel.load_game(f"python_tressette(rules={name})")
    assert run_cases(api.EnforceAPIOnPartialTreeBase, game=game, game_name=str(game)) >= 5
    simulations = pytest.importorskip("open_spiel.python.tests.games_sim_test")
    simulations.GamesSimTest().sim_game(game)


def test_openspiels_checks_of_a_whole_tree_pass(
    spiel: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    api = pytest.importorskip("open_spiel.integration_tests.api_test")
    game = spiel.load_game("python_tressette(rules=tiniest,leader=0)")
    nodes = Counter[str]()

    def count(deal: Deal) -> None:
        nodes["over" if deal.is_over else "chance" if deal.is_chance else "decision"] += 1
        if deal.is_chance:
            for outcome, _ in deal.chances():
                count(deal.turned_up(outcome))
        elif not deal.is_over:
            for card in deal.legal_cards():
                count(deal.played(card))

    count(Deal.start(TINIEST, 0))
    expected = nodes["chance"], nodes["decision"], nodes["over"]
    sets = {views for _, views in decisions(TINIEST)}
    monkeypatch.setitem(api.TOTAL_NUM_STATES, "tiniest", expected)
    monkeypatch.setitem(api.PERFECT_RECALL_NUM_STATES, "tiniest", len(sets))
    assert run_cases(api.EnforceAPIOnFullTreeBase, game=game, game_name="tiniest") >= 7


def test_states_and_games_survive_copies(spiel: Any) -> None:
    game = spiel.load_game("python_tressette(rules=gamelake,leader=1)")
    state = game.new_initial_state()
    dice = random.Random(5)
    for _ in range(35):
        state.apply_action(dice.choice(state.legal_actions()))
    for other in (state.clone(), copy.deepcopy(state), pickle.loads(pickle.dumps(state))):
        assert str(other) == str(state)
        assert other.legal_actions() == state.legal_actions()
        assert other.information_state_string(0) == state.information_state_string(0)
    assert str(pickle.loads(pickle.dumps(game))) == str(game)
    with pytest.raises(OptionError, match="hands"):
        game.new_initial_state().view(0)


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("rules=mini", RulesError, "unknown rule set 'mini'; did you mean"),
        ("rules=fitres", RulesError, "cannot be played yet"),
        ("leader=2", OptionError, "leader: expected a seat from 0 to 1"),
        ("rules=gamelake_partners,leader=-2", OptionError, "from 0 to 3"),
    ],
)
def test_a_mistake_is_told_in_one_line(
    spiel: Any, text: str, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message) as caught:
        spiel.load_game(f"python_tressette({text})")
    assert "\n" not in str(caught.value)


def test_without_openspiel_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspiel", None)
    monkeypatch.delitem(sys.modules, "tressette_train.openspiel.game", raising=False)
    with pytest.raises(ImportError, match=r"pip install 'tressette\[openspiel\]'"):
        import tressette_train.openspiel.game  # noqa: F401


def test_the_pages_examples_run(spiel: Any, capsys: pytest.CaptureFixture[str]) -> None:
    page = Path(DOCS / "openspiel.md")
    text = page.read_text(encoding="utf-8").replace(NOT_RUN, "")
    assert run_blocks(page, text, lambda: capsys.readouterr().out) >= 3


# ------------------------------------------------------------------------- agents, best responses


def test_agents_play_openspiels_bots(spiel: Any) -> None:
    from tressette_train.openspiel.agents import AgentBot

    game = spiel.load_game("python_tressette(rules=playmore)")

    def play(seed: int) -> list[float]:
        bots = [AgentBot(game, 0, "greedy", seed), spiel.make_uniform_random_bot(1, 7)]
        return [spiel.evaluate_bots(game.new_initial_state(), bots, deal)[0] for deal in range(20)]

    assert np.mean(play(0)) > 3
    assert play(0) == play(0)
    four = spiel.load_game("python_tressette(rules=gamelake_partners)")
    bots = [AgentBot(four, seat, "counting" if seat % 2 else "random") for seat in range(4)]
    margins = np.array(
        [spiel.evaluate_bots(four.new_initial_state(), bots, deal) for deal in range(20)]
    )
    assert (margins[:, 0] == margins[:, 2]).all()
    assert margins[:, 1].mean() > 3


def test_a_bot_has_new_dice_in_every_deal(spiel: Any) -> None:
    from tressette_train.openspiel.agents import AgentBot

    game = spiel.load_game("python_tressette(rules=playmore,leader=0)")
    state = game.new_initial_state()
    while state.is_chance_node():
        state.apply_action(state.legal_actions()[0])
    bot = AgentBot(game, 0, "random", seed=3)
    cards = []
    for _ in range(30):
        bot.restart()
        cards.append(bot.step(state))
        assert bot.step(state) == cards[-1]
    assert len(set(cards)) > 5


def test_agents_that_cannot_play_are_refused(spiel: Any) -> None:
    from tressette_train.openspiel.agents import AgentBot, AgentPolicy

    class Wrong:
        def act(self, view: View, seed: int) -> int:
            return 39

    game = spiel.load_game("python_tressette(rules=mini_2x4,leader=0)")
    for spec in ("nobody", "clairvoyant"):
        for make in (lambda name: AgentBot(game, 0, name), lambda name: AgentPolicy(game, name)):
            with pytest.raises(AgentSpecError):
                make(spec)
    state = game.new_initial_state()
    while state.is_chance_node():
        state.apply_action(state.legal_actions()[0])
    with pytest.raises(AgentFailedError, match="not legal"):
        AgentBot(game, 0, Wrong()).step(state)
    with pytest.raises(AgentFailedError, match="not legal"):
        AgentPolicy(game, Wrong()).action_probabilities(state)


def best_response_value(rules: str, leader: int, agent: str) -> float:
    """Value of OpenSpiel's best response in seat 0 to an agent in seat 1.

    Hand by hand, for an information set holds one hand, and all of ``mini_2x4`` takes gigabytes.
    """
    import pyspiel
    from open_spiel.python.algorithms.best_response import BestResponsePolicy

    from tressette_train.openspiel.agents import AgentPolicy

    game = pyspiel.load_game(f"python_tressette(rules={rules},leader={leader})")
    policy = AgentPolicy(game, agent)

    def value(state: Any, left: int) -> float:
        if left == 0:
            return float(BestResponsePolicy(game, 0, policy, state).value(state))
        return sum(
            chance * value(state.child(card), left - 1) for card, chance in state.chance_outcomes()
        )

    return value(game.new_initial_state(), game.rules.hand_size)


@pytest.mark.parametrize(
    ("agent", "follow"),
    [("random", "always"), ("greedy", "stock_empty"), ("counting+endings", "always")],
)
def test_openspiel_finds_the_same_best_responses(
    spiel: Any, monkeypatch: pytest.MonkeyPatch, agent: str, follow: Any
) -> None:
    rules = TINY.replace(name="tiny", follow=follow)
    monkeypatch.setitem(PRESETS, "tiny", rules)
    values = [best_response_value("tiny", leader, agent) for leader in (1, 0)]
    assert values == pytest.approx(exploit(agent, rules).replies[1].tolist(), abs=1e-9)


def test_openspiel_finds_the_same_exploitability(spiel: Any) -> None:
    from open_spiel.python.algorithms.exploitability import exploitability
    from open_spiel.python.policy import UniformRandomPolicy

    game = spiel.load_game("python_tressette(rules=tiniest)")
    expected = exploit("random", TINIEST).exploitability  # whoever leads
    assert exploitability(game, UniformRandomPolicy(game)) == pytest.approx(expected, abs=1e-9)


# ------------------------------------------------------------------------------ the long checks


def long_checks(rules: str, agent: str) -> None:
    """Print OpenSpiel's best responses beside ours."""
    found = exploit(agent, rules)
    # Such agents play alike in both seats, so that seat 1 will do.
    assert np.allclose(found.replies[0], found.replies[1], rtol=0, atol=1e-12)
    values = []
    for leader, what in ((1, "leads"), (0, "follows")):
        began = time.process_time()
        values.append(best_response_value(rules, leader, agent))
        seconds = time.process_time() - began
        compare(f"{rules}, {agent} {what}", values[-1], found.replies[1, 1 - leader])
        print(f"  {seconds:.0f} processor seconds", flush=True)
    compare(f"{rules}, {agent}: exploitability", sum(values) / 2, found.exploitability)


def compare(what: str, theirs: float, ours: float) -> None:
    print(f"{what}: OpenSpiel {theirs:.9f}, exploit {ours:.9f}", flush=True)
    assert abs(theirs - ours) < 1e-6


if __name__ == "__main__":
    import tressette_train.openspiel.game  # noqa: F401

    for name in ("random", "greedy"):
        long_checks("mini_2x4", name)
