"""``counting``, rule by rule; that it is legal, blind and the same compiled: ``test_agents.py``."""

from __future__ import annotations

import numpy as np
import pytest

from tressette_agents import make_agent
from tressette_agents.counting import cheapest_card, longest, masters, threats
from tressette_agents.greedy import cheapest
from tressette_env.cards import card_list
from tressette_env.notation import card_text, parse_card, parse_hand
from tressette_env.rulesets import get_rules
from tressette_env.view import View
from tressette_train.evaluate import evaluate


def view_at(
    hand: str,
    table: str = "",
    rules: str = "playmore",
    stock: int = 8,
    others: str = "",
    voids: dict[int, str] | None = None,
    known: dict[int, str] | None = None,
) -> View:
    """View of a seat to act; ``others`` are the cards unseen, all the rest has been played."""
    house = get_rules(rules)
    view = View(house)
    on_table = [parse_card(text) for text in table.split()]
    view.hand = parse_hand(hand)
    suit = 0x3FF << 10 * (on_table[0] // 10) if on_table else 0
    follows = house.follow_always or stock == 0
    view.legal = view.hand & suit if view.hand & suit and follows else view.hand
    view.plays[: len(on_table)] = on_table
    view.ply = view.table_size = len(on_table)
    view.leader = -len(on_table) % house.seats
    view.stock_left = stock
    view.unseen = parse_hand(others) if others else house.deck_set & ~view.hand
    for card in on_table:
        view.unseen &= ~(1 << card)
    for seat, suits in (voids or {}).items():
        view.voids[seat] = sum(1 << "DCSB".index(letter) for letter in suits)
    for seat, cards in (known or {}).items():
        view.known[seat] = parse_hand(cards)
        view.unseen &= ~view.known[seat]
    return view


def choice(view: View) -> str:
    agent = make_agent("counting")
    card = agent.act(view, 0)
    assert agent.act_batch(view.to_record(), view.rules, np.zeros(1, np.int64)).tolist() == [card]
    return card_text(card)


@pytest.mark.parametrize(
    ("hand", "options", "expected"),
    [
        # 1: a master ace, and no other
        ("D:A C:34", {"others": "D:KQ C:2A"}, "AD"),
        ("D:A C:34", {"others": "D:2 C:2A"}, "4C"),
        ("D:A C:34", {"others": "D:2 C:2A", "voids": {1: "D"}}, "AD"),
        ("D:A C:34", {"others": "C:2A", "known": {1: "D:2"}, "rules": "cuperativa"}, "4C"),
        # 2: the last trick of the stock; before it the 3 is kept
        ("D:3 C:4", {"stock": 2, "others": "D:2 C:KQ"}, "3D"),
        ("D:3 C:4", {"stock": 4, "others": "D:2 C:KQ"}, "4C"),
        ("D:2 C:4", {"stock": 2, "others": "D:3 C:KQ"}, "4C"),
        # 3: with seven cards the masters go, those of the shortest suit first; not with eight
        ("D:34567 C:3 S:4", {"stock": 0, "others": "D:2AK C:2AK S:5"}, "3C"),
        ("D:34567 C:3 S:45", {"stock": 0, "others": "D:2AK C:2AK S:67"}, "4D"),
        # 4: low; not where the ace could come home while the stock lasts
        ("D:4 C:4", {"others": "D:A C:K"}, "4C"),
        ("D:4A C:4", {"others": "D:2 C:A"}, "4D"),
        ("D:4 C:5", {"others": "D:A C:A"}, "4D"),
        ("D:4 C:5", {"others": "D:A C:A", "voids": {1: "C"}}, "5C"),
        ("D:K C:K", {"others": "D:A C:A"}, "KD"),
        ("D:4 C:45672", {"stock": 0, "others": "D:A C:3"}, "4C"),
        ("D:A C:A", {"others": "D:3 C:3"}, "AD"),
    ],
)
def test_leads(hand: str, options: dict, expected: str) -> None:  # type: ignore[type-arg]
    assert choice(view_at(hand, **options)) == expected


@pytest.mark.parametrize(
    ("hand", "table", "options", "expected"),
    [
        ("D:A4 C:4", "5D", {}, "AD"),  # 5: the ace comes home
        ("D:A4 C:4", "2D", {}, "4D"),
        ("D:AK C:4", "4D", {}, "AD"),
        ("D:KQ C:4", "4D", {}, "QD"),  # 7: a figure, the cheapest
        ("D:KQ4 C:4", "JD", {"stock": 0}, "QD"),
        ("D:KQ6 C:4", "4D", {"stock": 0}, "6D"),  # no stock, no points: the cheapest
        ("D:34 C:4", "AD", {}, "3D"),  # 8: an ace is worth a 3
        ("D:34 C:4", "KD", {}, "4D"),  # a king is not
        ("D:34 C:4", "AD", {"rules": "gamelake"}, "3D"),
        ("D:3 C:4", "KD", {"rules": "gamelake"}, "4C"),  # 9: free to throw
        ("C:K4 S:A", "AD", {}, "4C"),
    ],
)
def test_follows_with_two_seats(hand: str, table: str, options: dict, expected: str) -> None:  # type: ignore[type-arg]
    assert choice(view_at(hand, table, **options)) == expected


@pytest.mark.parametrize(
    ("hand", "table", "options", "expected"),
    [
        # 6: the partner (second before the viewer) has it for sure
        ("D:AK4", "5D 2D 6D", {}, "AD"),
        ("D:K4 ", "5D 2D 6D", {}, "KD"),
        ("D:34", "5D KD 6D", {}, "4D"),  # fed, not taken over
        ("C:A4", "3D 5D", {}, "AC"),  # one opponent plays after, but nobody beats a 3
        ("D:A4", "KD 5D", {"others": "D:67"}, "4D"),  # a king holds: no card taken over with an ace
        ("D:A4", "KD 5D", {"voids": {1: "D"}}, "4D"),
        # not for sure: the next opponent may hold the 3 and the 2
        ("D:A4", "KD 5D", {}, "4D"),
        ("D:24", "KD 5D", {}, "2D"),
        # an opponent has it
        ("D:A4", "5D KD", {"others": "D:67 C:4"}, "AD"),
        ("D:A4", "5D KD", {}, "4D"),  # the ace is not safe: one plays after
        ("D:34", "QD 5D 6D", {}, "3D"),
    ],
)
def test_follows_with_four_seats(hand: str, table: str, options: dict, expected: str) -> None:  # type: ignore[type-arg]
    assert choice(view_at(hand, table, rules="gamelake_partners", stock=0, **options)) == expected


def test_masters_and_threats() -> None:
    against = parse_hand("D:A C:3 S:4")
    assert masters(parse_hand("D:32K C:2 S:5 B:4"), against) == parse_hand("D:32 S:5 B:4")
    view = view_at("D:3", "", rules="gamelake_partners", stock=0, voids={1: "D", 2: "C", 3: "DS"})
    assert threats(view, view.rules) == view.unseen & ~parse_hand("D:32AKQJ7654")
    view = view_at("D:3", "4D 5D", rules="gamelake_partners", stock=0, voids={1: "D"})
    assert threats(view, view.rules) == view.unseen & ~parse_hand("D:32AKQJ7654")
    view = view_at("D:3", "4D 5D 6D", rules="gamelake_partners", stock=0)
    assert threats(view, view.rules) == 0


def test_cheapest_and_longest() -> None:
    rng = np.random.default_rng(3)
    for _ in range(500):
        choice = int(rng.integers(1 << 40)) & int(rng.integers(1 << 40))
        assert cheapest_card(choice) == cheapest(choice)
        if choice:
            for sign in (1, -1):
                card = longest(choice, choice, sign)
                equals = [c for c in card_list(choice) if c % 10 == card % 10]
                lengths = [(choice >> c // 10 * 10 & 0x3FF).bit_count() for c in equals]
                assert equals[lengths.index(max(lengths) if sign > 0 else min(lengths))] == card
    assert cheapest_card(0) == -1


@pytest.mark.parametrize("house", ["playmore", "gamelake", "cuperativa", "gamelake_partners"])
def test_counting_beats_greedy(house: str) -> None:
    (result,) = evaluate(["counting", "greedy"], house, 300, seed=3)
    assert result.margin_thirds.low > 2
