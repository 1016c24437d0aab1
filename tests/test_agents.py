"""The scripted agents: legal, reproducible, blind to what is hidden, and what they say they are."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pytest
import scipy.stats
from small_agents import HOUSES, agents_for, small_specs

from tressette_agents import make_agent
from tressette_agents.greedy import cheapest, dearest, is_master
from tressette_agents.random import random_card
from tressette_env.batch import BatchTable
from tressette_env.batch_dice import decision_seeds
from tressette_env.cards import card_list, card_set
from tressette_env.errors import AgentSpecError
from tressette_env.notation import card_text, deck_text, parse_card, parse_deck, parse_hand
from tressette_env.policies import decision_seed
from tressette_env.rulesets import PRESETS, RuleSet, get_rules
from tressette_env.view import VIEW_DTYPE, View

HOUSE_NAMES = [house.name for house in HOUSES]
SPECS = ["random", "greedy", "counting"]


def positions(
    rules: RuleSet, tables: int, seed: int
) -> Iterator[tuple[BatchTable, npt.NDArray[np.void]]]:
    """Every ply of random deals: the tables, and the views of the seats to act."""
    table = BatchTable(tables, rules, seed)
    dice = np.arange(tables, dtype=np.int64)
    for ply in range(rules.deck_size):
        views = table.views()
        yield table, views
        table.play(make_agent("random").act_batch(views, rules, dice + ply * tables))


def view_at(
    hand: str,
    table: str = "",
    rules: str = "playmore",
    played: str = "",
    leader: int | None = None,
    known: dict[int, str] | None = None,
) -> View:
    """View of a seat to act: its hand, the cards on the table and those of earlier tricks.

    ``leader`` is relative; by default the seat that makes the viewer next to play. ``known`` holds
    cards that other seats (relative) are known to have. All the rest is unseen.
    """
    house = get_rules(rules)
    view = View(house)
    on_table = parse_deck(table) if table else ()
    view.hand = parse_hand(hand)
    same_suit = 0
    if on_table:
        suit = on_table[0] // 10
        same_suit = card_set(card for card in card_list(view.hand) if card // 10 == suit)
    view.legal = same_suit if same_suit and house.follow_always else view.hand
    before = parse_deck(played) if played else ()
    for place, card in enumerate((*before, *on_table)):
        view.plays[place] = card
    view.ply = len(before) + len(on_table)
    view.table_size = len(on_table)
    view.leader = -len(on_table) % house.seats if leader is None else leader
    seen = view.hand | card_set(view.plays[: view.ply])
    for seat, cards in (known or {}).items():
        view.known[seat] = parse_hand(cards)
        seen |= view.known[seat]
    view.unseen = house.deck_set & ~seen
    return view


def choice(view: View) -> str:
    """Card that greedy plays, interpreted and compiled."""
    agent = make_agent("greedy")
    card = agent.act(view, 0)
    assert agent.act_batch(view.to_record(), view.rules, np.zeros(1, np.int64)).tolist() == [card]
    return card_text(card)


# ----------------------------------------------------------------------------- specs


def test_specs_name_the_agents() -> None:
    assert [make_agent(spec).spec for spec in SPECS] == SPECS


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("greddy", ["unknown agent 'greddy'", "did you mean 'greedy'?", "installed:"]),
        ("greedy:depth=3", ["'greedy'", "unknown option 'depth=3'", "none"]),
        ("random:seed=1", ["'random'", "unknown option 'seed=1'", "none"]),
        ("greedy+endigs", ["nothing called 'endigs'", "did you mean 'endings'?"]),
        ("gredy+endings", ["unknown agent 'gredy'", "did you mean 'greedy'?"]),
        ("greedy+endings+endigs", ["nothing called 'endigs'"]),
        ("counting:x=1", ["'counting'", "unknown option 'x=1'", "none"]),
        ("flat:worlds=0", ["'flat'", "option worlds", "from 1 to", "got '0'"]),
        ("flat:world=3", ["unknown option 'world=3'", "did you mean 'worlds'?"]),
        ("flat:rollout=gredy", ["option rollout", "counting, greedy", "'gredy'"]),
        ("pimc:worlds=ten", ["'pimc'", "option worlds", "'ten'"]),
        ("pimc:ms=0", ["option ms", "from 1 to", "got '0'"]),
        ("pimc:ms=5,worlds=3", ["'pimc'", "worlds=... or ms=...", "both"]),
        ("ismcts:iterations=0", ["'ismcts'", "option iterations", "got '0'"]),
        ("pimc:draws=5", ["option draws", "from 0 to 4", "got '5'"]),
        ("pimc:tricks=10", ["option tricks", "from 1 to 9", "got '10'"]),
        ("flat:worlds=1,worlds=2", ["'flat'", "option worlds", "twice"]),
        ("flat:worlds", ["'flat'", "option worlds", "expected worlds=..., got no value"]),
        ("flat:worlds=" + "9" * 5000, ["'flat'", "option worlds", "from 1 to", "got '999"]),
        ("ismcts:explore=" + "9" * 5000, ["option explore", "from 0 to 100", "got '999"]),
        ("flat:threads=257", ["option threads", "from 1 to 256"]),
        ("x" * 5000, ["unknown agent 'xxx"]),
        ("flat:" + "x" * 5000, ["'flat'", "unknown option 'xxx"]),
        ("greedy+endings+endings", ["+endings once", "twice"]),
        ("pimc:leaf=play", ["unknown option 'leaf=play'"]),
        ("flat:threads=0", ["option threads", "got '0'"]),
        ("ismcts:explore=nan", ["option explore", "'nan'"]),
        ("", ["expected a spec string"]),
    ],
)
def test_a_wrong_spec_says_what_is_wrong(spec: str, words: list[str]) -> None:
    with pytest.raises(AgentSpecError) as caught:
        make_agent(spec)
    assert all(word in str(caught.value) for word in words), caught.value
    assert len(str(caught.value)) < 400


# ----------------------------------------------------------------------------- greedy, rule by rule

ALL_BUT_LOW_COINS = "3D 2D"  # earlier tricks in which the strongest coins went


@pytest.mark.parametrize(
    ("hand", "earlier", "expected"),
    [
        ("D:3K C:4", "", "3D"),  # the only master
        ("D:3 C:3 S:4", "", "3C"),  # masters alike: the last suit
        ("D:A4 C:3 S:5", ALL_BUT_LOW_COINS, "AD"),  # dearest: a master ace before a 3
        ("D:32 C:4", "", "3D"),  # own cards do not beat one: 3 and 2 are masters, the 3 stronger
        ("D:2 C:5 S:4", "", "4S"),  # the 3 of coins is out: the 2 is none
        ("D:7 C:6 S:5", "3D 2D AD KD QD JD", "7D"),  # a 7 is a master when all above it have gone
        ("D:A C:K S:Q", "", "QS"),  # no master, no low card: least worth, then least strength
        ("D:4 C:4 S:4", "", "4D"),  # alike: the first suit
        ("D:A C:2 S:4", "", "4S"),  # least worth first, not least strength
        ("D:2 C:A", "", "2D"),
    ],
)
def test_greedy_leads_the_dearest_master_then_the_cheapest_card(
    hand: str, earlier: str, expected: str
) -> None:
    assert choice(view_at(hand, played=earlier)) == expected


def test_a_card_known_in_another_hand_beats_a_would_be_master() -> None:
    hand = "D:2 C:4"
    assert choice(view_at(hand, rules="cuperativa", played="3D")) == "2D"
    assert choice(view_at(hand, rules="cuperativa", known={1: "D:3"})) == "4C"
    for seat in (1, 2, 3):
        view = view_at(hand, rules="gamelake_partners", known={seat: "D:3"})
        assert not is_master(view, parse_card("2D"))
        assert not view.unseen >> parse_card("3D") & 1


@pytest.mark.parametrize(
    ("hand", "table", "expected"),
    [
        ("D:32A4", "KD", "2D"),  # points on the table: of the winners 2, 3 and A the cheapest
        ("D:A4", "KD", "AD"),  # the ace, if it is the only winner
        ("D:74", "KD", "4D"),  # no winner: the cheapest
        ("D:3A7", "5D", "7D"),  # no points: the cheapest card, here a winner all the same
        ("D:34", "5D", "4D"),  # no points: the 3 is kept
        ("D:3A", "5D", "3D"),  # no points: less worth first
        ("D:QJ", "KD", "JD"),  # worth the same: less strength first
        ("C:3 S:A7 B:K", "AD", "7S"),  # off-suit cards never win, strong as they are (R7)
        ("C:4 S:4 B:4", "AD", "4C"),  # alike: the first suit
    ],
)
def test_greedy_follows_with_the_cheapest_winner_if_there_are_points_else_the_cheapest_card(
    hand: str, table: str, expected: str
) -> None:
    assert choice(view_at(hand, table)) == expected


def test_greedy_wins_with_the_suit_led_though_any_card_may_be_played() -> None:
    assert choice(view_at("D:3 C:4", "KD", rules="gamelake")) == "3D"
    assert choice(view_at("D:3 C:4", "6D", rules="gamelake")) == "4C"


@pytest.mark.parametrize(
    ("hand", "table", "expected"),
    [
        # the partner (second before the viewer) is winning and the viewer plays last
        ("D:3A4", "4C 2D", "4D"),  # nothing of the suit led: sheds
        ("D:3A4", "6D KD 5D", "4D"),
        ("D:3A", "6D 2D 5D", "AD"),  # leaves it: the ace does not beat the 2, the 3 would
        ("D:3", "6D 2D 5D", "3D"),  # has to take it
        # the partner led and is winning, one opponent still plays
        ("D:24", "3D 5D", "4D"),  # a 3 is a master: left to the partner
        ("D:24", "KD 5D", "2D"),  # a king is not: taken over for the points
        ("D:24", "6D 5D", "4D"),  # no points: left
        # an opponent is winning
        ("D:2A4", "5D KD", "2D"),  # the opponent took it over from the partner
        ("D:24", "KD 5D 6D", "2D"),  # the first to play is an opponent, the viewer last
        ("D:24", "KD", "2D"),  # second to play: the cheapest that wins as things stand
        ("D:7 C:3", "AD 2D 3D", "7D"),  # cannot win
        ("D:24", "KD 3B 5D", "2D"),  # the partner's 3 of another suit does not win
        # points of the partner's own card count, whoever is winning
        ("D:34", "4D KD 2D", "3D"),
    ],
)
def test_greedy_leaves_a_sure_trick_to_its_partner(hand: str, table: str, expected: str) -> None:
    view = view_at(hand, table, rules="gamelake_partners")
    # seats that have played, from the leader on: the last one sits right before the viewer
    assert (view.leader + view.table_size) % 4 == 0
    assert choice(view) == expected


def test_a_partners_card_is_a_master_by_counting() -> None:
    """The king holds once ace, 2 and 3 are gone or in the own hand, and not before."""
    for earlier, expected in (("2D 3D", "4D"), ("2D", "AD")):
        view = view_at("D:A4", "KD 5D", rules="gamelake_partners", played=earlier)
        assert choice(view) == expected


def test_cheapest_and_dearest_of_sets() -> None:
    assert cheapest(0) == dearest(0) == -1
    order = "4D 4C 5D 6D 7D JD QD KD 2D 3D AD AC"
    cards = parse_deck(order)
    for first in range(len(cards)):
        assert cheapest(card_set(cards[first:])) == cards[first]
        assert dearest(card_set(cards[: first + 1])) == cards[first], deck_text(cards[: first + 1])


# ----------------------------------------------------------------------------- random


def test_random_is_uniform_over_the_legal_cards() -> None:
    seeds = np.arange(60_000, dtype=np.int64)
    for hand in ("D:3A", "D:32A C:4567 S:KQ B:2", "C:7"):
        view = view_at(hand)
        views = np.repeat(view.to_record(), len(seeds))
        cards = make_agent("random").act_batch(views, view.rules, seeds)
        counts = np.bincount(cards, minlength=40)
        assert set(np.flatnonzero(counts)) == set(view.legal_cards)
        if len(view.legal_cards) > 1:
            assert scipy.stats.chisquare(counts[view.legal_cards]).pvalue > 1e-3


def test_random_is_uniform_over_the_decisions_of_a_game() -> None:
    """Decision after decision, with the seeds that games use: pairs of cards as likely as any."""
    deals = np.arange(3000, dtype=np.int64)
    view = view_at("D:3A7 C:4")
    places = []
    for ply in (4, 5):
        seeds = decision_seeds(9, deals, np.full(len(deals), ply, np.int64))
        cards = make_agent("random").act_batch(
            np.repeat(view.to_record(), len(deals)), view.rules, seeds
        )
        places.append(np.searchsorted(view.legal_cards, cards))
    counts = np.bincount(4 * places[0] + places[1], minlength=16)
    assert scipy.stats.chisquare(counts).pvalue > 1e-3


def test_decision_seeds_are_those_of_single_decisions() -> None:
    deals = np.array([0, 1, 7, 2**40], np.int64)
    plies = np.array([0, 39, 3, 5], np.int64)
    expected = [decision_seed(5, int(d), int(p)) for d, p in zip(deals, plies, strict=True)]
    assert decision_seeds(5, deals, plies).tolist() == expected


# ----------------------------------------------------------------------------- on every house


@pytest.mark.parametrize("house", HOUSES, ids=HOUSE_NAMES)
def test_agents_play_legally_and_the_same_interpreted_and_compiled(house: RuleSet) -> None:
    """Some 40,000 positions over all houses (report 23)."""
    tables = 2400 // house.deck_size + 40
    seen = 0
    for table, views in positions(house, tables, seed=11):
        seeds = decision_seeds(3, table.deal_numbers, views["ply"].astype(np.int64))
        legal = table.legal_sets
        for spec in SPECS:
            agent = make_agent(spec)
            cards = agent.act_batch(views, house, seeds)
            assert cards.dtype == np.int64
            assert ((legal >> cards) & 1).all()
            for row in range(len(views)):
                view = View.from_record(views[row], house)
                assert agent.act(view, int(seeds[row])) == cards[row]
        seen += len(views)
    assert seen == tables * house.deck_size >= 2400


@pytest.mark.parametrize("house", HOUSES, ids=HOUSE_NAMES)
def test_agents_do_not_peek(house: RuleSet) -> None:
    """Hidden cards dealt anew, same view and seed: the same card (report 17)."""
    rng = np.random.default_rng(5)
    agents = agents_for(house)
    others_changed = 0
    for table, views in positions(house, 30, seed=21):
        next_seats = (table.seats + 1) % house.seats
        before, others = table.snapshot(), table.views(next_seats)
        shuffled = before.states.copy()
        for row in range(len(views)):
            _deal_hidden_cards_anew(shuffled[..., row], views[row], house, rng)
        table.restore(dataclasses.replace(before, states=shuffled))
        new_views = table.views()
        others_changed += np.count_nonzero(table.views(next_seats)["hand"] != others["hand"])
        table.restore(before)
        seeds = np.arange(len(views), dtype=np.int64)
        assert (new_views == views).all()
        for agent in agents:
            cards = agent.act_batch(views, house, seeds)
            assert ((views["legal"] >> cards) & 1).all()
            assert (agent.act_batch(new_views, house, seeds) == cards).all()
    assert others_changed > 5 * house.deck_size


def _deal_hidden_cards_anew(
    states: npt.NDArray[np.void], view: np.void, rules: RuleSet, rng: np.random.Generator
) -> None:
    """Permute, in one table's state, the cards that the viewer cannot place."""
    state = states.reshape(-1)[0]
    hidden = card_list(int(view["unseen"]))
    renamed = dict(zip(hidden, rng.permutation(hidden).tolist(), strict=True))
    for seat in range(rules.seats):
        hand = card_list(int(state["hands"][seat]))
        state["hands"][seat] = card_set(renamed.get(card, card) for card in hand)
    for place in range(int(state["drawn"]), rules.stock_size):
        card = int(state["stock"][place])
        state["stock"][place] = renamed.get(card, card)


def test_the_same_seed_gives_the_same_card_and_another_seed_another() -> None:
    view = view_at("D:32A C:4567 S:KQ B:2")
    agent = make_agent("random")
    cards = [agent.act(view, seed) for seed in range(50)]
    assert cards == [agent.act(view, seed) for seed in range(50)]
    assert cards == [random_card(view, seed) for seed in range(50)]
    assert len(set(cards)) > 5


def test_a_seat_that_is_not_to_act_gets_no_card() -> None:
    table = BatchTable(1, PRESETS["playmore"], 0)
    view = View.from_record(table.views(1 - table.seats)[0], PRESETS["playmore"])
    assert {make_agent(spec).act(view, 1) for spec in small_specs()} == {-1}


def test_views_that_are_not_contiguous_are_read_right() -> None:
    for _table, views in positions(PRESETS["playmore"], 64, seed=2):
        part = views[::3]
        seeds = np.arange(len(part), dtype=np.int64)
        for spec in small_specs():
            agent = make_agent(spec)
            expected = agent.act_batch(part.copy(), PRESETS["playmore"], seeds)
            assert (agent.act_batch(part, PRESETS["playmore"], seeds) == expected).all()
        break
    assert part.dtype == VIEW_DTYPE
