"""Observations: the table of blocks, and every feature against a second account of the game."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from tressette_env import BatchTable, tressette_v0
from tressette_env.errors import OptionError
from tressette_env.notation import card_text, parse_card
from tressette_env.observation import (
    BLOCKS,
    KINDS,
    RULE_FLAGS,
    Layout,
    encode,
    explain,
    layout_for,
)
from tressette_env.rulesets import PRESETS, RuleSet, playable_presets

SUITS = ("denari", "coppe", "spade", "bastoni")
RANKS = "4567JQKA23"
WORTH = {**dict.fromkeys("4567", 0), **dict.fromkeys("JQK23", 1), "A": 3}

# Every playable preset, and two houses of no name that set what no preset does.
HOUSES = {name: PRESETS[name] for name in playable_presets()} | {
    "odd": RuleSet(
        "odd",
        follow="stock_empty",
        draws="shown",
        scoring="thirds",
        target=50,
        objective="fewest",
    ),
    "odd_partners": RuleSet("odd_partners", seats=4, target=60, cappotto="all_points"),
}


def encoded(view: Any, rules: RuleSet, layout: Layout, fill: int = 0) -> np.ndarray:
    """Observation of a view by the interpreted encoder, in a buffer that was full of ``fill``."""
    features = np.full(layout.size, fill, np.int8)
    encode(view, rules, layout.places, features.view(np.int64))
    return features


# ------------------------------------------------- a second account, from what a seat has witnessed


class Witness:
    """What one seat knows, kept from its hand and from what it sees happen: nothing else."""

    def __init__(self, rules: RuleSet, seat: int) -> None:
        self.rules = rules
        self.seat = seat
        self.totals = [0, 0]  # by side

    def deal(self, hand: list[int], leader: int) -> None:
        self.hand = set(hand)
        self.leader = self.turn = leader
        self.plays: list[tuple[int, int]] = []  # seat, card
        self.trick: list[tuple[int, int]] = []
        self.stock = self.rules.stock_size
        self.thirds = [0, 0]
        self.known: list[set[int]] = [set() for _ in range(self.rules.seats)]
        self.voids: list[set[int]] = [set() for _ in range(self.rules.seats)]

    @property
    def must_follow(self) -> bool:
        return self.rules.follow == "always" or self.stock == 0

    def see_play(self, seat: int, card: int) -> None:
        if self.trick and self.must_follow and card // 10 != self.trick[0][1] // 10:
            self.voids[seat].add(self.trick[0][1] // 10)
        self.hand.discard(card)
        self.known[seat].discard(card)
        self.plays.append((seat, card))
        self.trick.append((seat, card))
        self.turn = (seat + 1) % self.rules.seats

    def see_trick_end(self) -> int:
        """Gather the trick (R3, R7, R10); return its winner."""
        led = self.trick[0][1] // 10
        winner = max((card, seat) for seat, card in self.trick if card // 10 == led)[1]
        won = sum(WORTH[RANKS[card % 10]] for _, card in self.trick)
        self.thirds[winner % 2] += won + 3 * (len(self.plays) == self.rules.deck_size)
        self.leader = self.turn = winner
        self.trick = []
        return winner

    def see_draw(self, seat: int, card: int | None) -> None:
        """See a draw (R8, R9); None where only the drawer sees the card."""
        self.stock -= 1
        if seat == self.seat:
            assert card is not None
            self.hand.add(card)
        if self.rules.draws == "shown":
            assert card is not None
            self.known[seat].add(card)
            self.voids[seat].discard(card // 10)
        else:
            self.voids[seat].clear()

    def see_deal_end(self) -> None:
        for side in (0, 1):
            points = self.rules.scoring == "points"
            self.totals[side] += self.thirds[side] // 3 if points else self.thirds[side]

    def legal(self) -> set[int]:
        if self.turn != self.seat:
            return set()
        if self.trick and self.must_follow:
            same = {card for card in self.hand if card // 10 == self.trick[0][1] // 10}
            return same or self.hand
        return self.hand

    def features(self, blocks: tuple[Any, ...]) -> dict[str, np.ndarray]:
        """Every block by name, as RULES and the table of blocks put it in words."""
        seats = self.rules.seats
        order = [(self.seat + relative) % seats for relative in range(seats)]
        side = self.seat % 2
        played = [{card for by, card in self.plays if by == seat} for seat in order]
        known = [self.known[seat] for seat in order]
        unseen = set(self.rules.deck) - self.hand - set().union(*played, *known[1:])
        relative_voids = [
            4 * (relative - 1) + suit
            for relative in range(1, seats)
            for suit in self.voids[order[relative]]
        ]
        rules = self.rules
        flags = {
            "follow_always": rules.follow == "always",
            "draws_shown": rules.draws == "shown",
            "scored_in_points": rules.scoring == "points",
            "wins_match_with_all": rules.cappotto == "all_points",
            "fewest_wins": rules.objective == "fewest",
        }
        relative_plays = [((by - self.seat) % seats, card) for by, card in self.plays]
        ones: dict[str, Any] = {
            "hand": self.hand,
            "table": {card for _, card in self.trick},
            "unseen": unseen,
            "played": [40 * k + card for k, cards in enumerate(played) for card in cards],
            "known": [40 * k + card for k, cards in enumerate(known) for card in cards],
            "thirds_own": range(self.thirds[side]),
            "thirds_other": range(self.thirds[1 - side]),
            "rules": [k for k, flag in enumerate(RULE_FLAGS) if flags[flag]],
            "turn": [(self.turn - self.seat) % seats],
            "leader": [(self.leader - self.seat) % seats],
            "must_follow": [0] if self.must_follow else [],
            "stock": range(self.stock),
            "led_suit": [self.trick[0][1] // 10] if self.trick else [],
            "voids": relative_voids,
            "total_own": range(min(self.totals[side], 40)),
            "total_other": range(min(self.totals[1 - side], 40)),
            "target": range(min(rules.target or 0, 40)),
            "history": [40 * play + card for play, (_, card) in enumerate(relative_plays)],
            "history_seats": [4 * play + by for play, (by, _) in enumerate(relative_plays)],
            "led": [40 * by + card for by, card in relative_plays[::seats]],
        }
        out = {}
        for block in blocks:
            out[block.name] = np.zeros(block.size, np.int8)
            out[block.name][list(ones[block.name])] = 1
        return out


class Table:
    """An environment, and a witness in every seat."""

    def __init__(self, rules: RuleSet, seed: int, **options: Any) -> None:
        self.rules = rules
        self.env = tressette_v0.raw_env(rules=rules, **options)
        self.rng = np.random.default_rng(seed)
        self.witnesses = [Witness(rules, seat) for seat in range(rules.seats)]

    def start(self, leader: int) -> None:
        deck = self.rng.permutation(self.rules.deck).tolist()
        self.env.reset(options={"deck": deck, "leader": leader})
        self.deal(deck, leader)

    def deal(self, deck: list[int], leader: int) -> None:
        self.first_leader = leader
        size = self.rules.hand_size
        self.stock = list(deck[size * self.rules.seats :])
        for seat, witness in enumerate(self.witnesses):
            witness.deal(list(deck[size * seat : size * (seat + 1)]), leader)

    @property
    def over(self) -> bool:
        return all(self.env.terminations.values())

    def play(self, card: int) -> None:
        seat = self.env.possible_agents.index(self.env.agent_selection)
        self.env.step(card)
        for witness in self.witnesses:
            witness.see_play(seat, card)
        if len(self.witnesses[0].trick) == self.rules.seats:
            self.finish_trick()

    def finish_trick(self) -> None:
        (winner,) = {witness.see_trick_end() for witness in self.witnesses}
        if self.stock:
            for place in range(self.rules.seats):
                drawer, card = (winner + place) % self.rules.seats, self.stock.pop(0)
                for witness in self.witnesses:
                    may_see = witness.seat == drawer or self.rules.draws == "shown"
                    witness.see_draw(drawer, card if may_see else None)
        if len(self.witnesses[0].plays) == self.rules.deck_size:
            for witness in self.witnesses:
                witness.see_deal_end()
            if not self.over:  # the environment has dealt the match's next deal (R14)
                deck, leader = self.next_deal()
                self.deal(deck, leader)

    def next_deal(self) -> tuple[list[int], int]:
        # The new hands and stock are the one thing asked of the environment.
        state = self.env._states[0]
        size = self.rules.hand_size
        hands = [[c for c in range(40) if int(hand) >> c & 1] for hand in state["hands"]]
        stock = state["stock"][: self.rules.stock_size].tolist()
        hands = hands[: self.rules.seats]
        assert all(len(hand) == size for hand in hands)
        return [*itertools.chain(*hands), *stock], (self.first_leader + 1) % self.rules.seats

    def play_random(self) -> None:
        legal = self.witnesses[self.env.possible_agents.index(self.env.agent_selection)].legal()
        self.play(int(self.rng.choice(sorted(legal))))

    def check(self) -> None:
        for witness, agent in zip(self.witnesses, self.env.possible_agents, strict=True):
            seen = self.env.observe(agent)
            legal = set() if self.over else witness.legal()
            assert set(np.flatnonzero(seen["action_mask"])) == legal
            features = seen["observation"]
            assert set(features.tolist()) <= {0, 1}
            for name, expected in witness.features(self.env.layout.blocks).items():
                found = features[self.env.layout[name].slice]
                assert np.array_equal(found, expected), (name, witness.seat, explain_all(self))


def explain_all(table: Table) -> dict[str, Any]:
    return {
        agent: explain(table.env.observe(agent)["observation"], table.env.layout)
        for agent in table.env.possible_agents
    }


@pytest.mark.parametrize(
    ("episode", "kind", "episodes"),
    [
        ("deal", "flat", 4),
        ("deal", "leads", 2),
        ("deal", "history", 2),
        ("match", "flat", 1),
        ("match", "leads", 1),
        ("match", "history", 1),
    ],
)
@pytest.mark.parametrize("house", HOUSES)
def test_every_feature(house: str, episode: str, kind: str, episodes: int) -> None:
    rules = HOUSES[house]
    for number in range(episodes):
        table = Table(rules, seed=number, episode=episode, observation=kind)
        table.start(leader=number % rules.seats)
        while not table.over:
            table.check()
            table.play_random()
        table.check()


# -------------------------------------------------------------------------- the table of blocks


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("episode", ["deal", "match"])
@pytest.mark.parametrize("house", ["playmore", "gamelake_partners", "mini_2x4"])
def test_blocks_cover_the_features_once(house: str, episode: str, kind: str) -> None:
    layout = layout_for(PRESETS[house], episode, kind)
    place = 0
    for block in layout.blocks:
        assert block.start == place
        assert block.size > 0
        assert block.meaning
        assert (block.slice.start, block.slice.stop) == (place, place + block.size)
        assert layout[block.name] is block
        place += block.size
    assert place == layout.size
    names = [block.name for block in layout.blocks]
    assert len(names) == len(set(names))
    assert {"total_own", "total_other", "target"} & set(names) == (
        {"total_own", "total_other", "target"} if episode == "match" else set()
    )
    assert ("history" in names) == (kind == "history")
    assert ("led" in names) == (kind == "leads")
    env = tressette_v0.env(rules=house, episode=episode, observation=kind)
    assert env.observation_space("player_0")["observation"].shape == (layout.size,)
    assert (layout.seats, layout.episode, layout.kind) == (PRESETS[house].seats, episode, kind)


def test_what_the_table_holds_at_least() -> None:
    names = {block.name for block in BLOCKS}
    assert names >= {
        *("hand", "table", "led_suit", "leader", "turn", "played", "known", "unseen", "voids"),
        *("stock", "thirds_own", "thirds_other", "rules"),
    }
    assert layout_for(PRESETS["playmore"]).blocks == BLOCKS
    assert layout_for(PRESETS["playmore"])["hand"].slice == slice(0, 40)


def test_sizes_for_two_and_four_seats() -> None:
    for house, seats in (("playmore", 2), ("gamelake_partners", 4)):
        layout = layout_for(PRESETS[house], "match", "history")
        assert layout["played"].size == layout["known"].size == 40 * seats
        assert layout["hand"].size == layout["table"].size == layout["unseen"].size == 40
        assert layout["thirds_own"].size == layout["thirds_other"].size == 35
        assert layout["stock"].size == 20
        assert layout["led_suit"].size == 4
        assert layout["rules"].size == len(RULE_FLAGS)
        assert layout["history"].size == 40 * 40


def test_layouts_of_one_shape_are_one_object() -> None:
    assert layout_for(PRESETS["playmore"]) is layout_for(PRESETS["gamelake"])
    assert layout_for(PRESETS["playmore"]) is not layout_for(PRESETS["playmore"], "match")


def test_unknown_names() -> None:
    layout = layout_for(PRESETS["playmore"])
    with pytest.raises(OptionError, match=r"hand, table.*got 'hands'"):
        layout["hands"]
    with pytest.raises(OptionError, match="episode: expected 'deal' or 'match', got 'game'"):
        layout_for(PRESETS["playmore"], "game")
    with pytest.raises(
        OptionError, match="observation: expected 'flat', 'leads' or 'history', got 'x'"
    ):
        layout_for(PRESETS["playmore"], "deal", "x")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("house", HOUSES)
def test_every_feature_is_written(house: str, kind: str) -> None:
    """Into buffers full of sevens, interpreted and compiled: nothing is left of them."""
    rules = HOUSES[house]
    table = Table(rules, seed=1, episode="match", observation=kind)
    table.start(leader=0)
    for _ in range(min(45, rules.deck_size)):
        for agent in table.env.possible_agents:
            expected = table.env.observe(agent)["observation"]
            view = table.env.view(agent)
            found = encoded(view, rules, table.env.layout, fill=7)
            assert np.array_equal(found, expected)
        table.play_random()
    batch = BatchTable(3, rules, seed=1, episode="match", observation=kind)
    out = np.full((3, batch.layout.size), 7, np.int8)
    assert batch.observe(out=out) is out
    assert set(out.ravel().tolist()) == {0, 1}
    assert np.array_equal(out, batch.observations)


def test_totals_and_targets_beyond_the_features_fill_them() -> None:
    """Interpreted and compiled, also where the totals are more than an integer has bits."""
    rules = PRESETS["playmore"].replace(target=1000)
    table = BatchTable(4, rules, seed=1, episode="match")
    blocks = [table.layout[name].slice for name in ("total_own", "total_other", "target")]
    while table.totals.min() < 70:
        table.play_randomly(40)
        for seat in (0, 1):
            found = table.observe(np.full(4, seat))
            expected = np.minimum(table.totals[:, [seat, 1 - seat]], 40)
            for block, totals in zip(blocks, [*expected.T, np.full(4, 40)], strict=True):
                assert (found[:, block] == (np.arange(40) < totals[:, None])).all()
            again = encoded(table.view(2, seat), rules, table.layout, fill=7)
            assert np.array_equal(again, found[2])


# --------------------------------------------------------------------------------------- explain


def read_cards(text: str) -> set[int]:
    return {parse_card(word) for word in text.split()}


@pytest.mark.parametrize("house", ["cuperativa", "gamelake_partners", "odd"])
def test_explain_says_what_was_seen(house: str) -> None:
    rules = HOUSES[house]
    table = Table(rules, seed=5, episode="match", observation="history")
    table.start(leader=1)
    seats = rules.seats
    said = set()
    for _ in range(rules.deck_size + 7):
        for witness, agent in zip(table.witnesses, table.env.possible_agents, strict=True):
            text = explain(table.env.observe(agent)["observation"], table.env.layout)
            assert list(text) == [block.name for block in table.env.layout.blocks]
            assert read_cards(text["hand"]) == witness.hand
            assert read_cards(text["table"]) == {card for _, card in witness.trick}
            others = {f"seat +{k}": (witness.seat + k) % seats for k in range(seats)}
            for relative, seat in others.items():
                played = {card for by, card in witness.plays if by == seat}
                assert read_cards(text["played"][relative]) == played
                assert read_cards(text["known"][relative]) == witness.known[seat]
                if seat != witness.seat:
                    voids = [SUITS[suit] for suit in sorted(witness.voids[seat])]
                    assert text["voids"][relative] == voids
                    said.update(voids)
            assert len(text["voids"]) == seats - 1
            assert others[text["turn"]] == witness.turn
            assert others[text["leader"]] == witness.leader
            led = SUITS[witness.trick[0][1] // 10] if witness.trick else None
            assert text["led_suit"] == led
            assert text["stock"] == witness.stock
            assert text["thirds_own"] == witness.thirds[witness.seat % 2]
            assert text["thirds_other"] == witness.thirds[1 - witness.seat % 2]
            assert text["total_own"] == min(witness.totals[witness.seat % 2], 40)
            assert text["target"] == min(rules.target or 0, 40)
            assert text["rules"]["draws_shown"] is (rules.draws == "shown")
            assert text["must_follow"] is witness.must_follow
            history = [card_text(card) for _, card in witness.plays]
            assert text["history"].split() == history
            players = [f"seat +{(by - witness.seat) % seats}" for by, _ in witness.plays]
            assert text["history_seats"] == players
        if table.over:
            break
        table.play_random()
    assert said


def test_explain_refuses_another_shape() -> None:
    layout = layout_for(PRESETS["playmore"])
    for features in (np.zeros(layout.size + 1), np.zeros((1, layout.size)), []):
        with pytest.raises(OptionError, match=rf"expected shape \({layout.size},\)"):
            explain(features, layout)


# ----------------------------------------------------------------------------- voids, worked out

# Seat 0: 5D to 3D, 4S. Seat 1: all of coppe. On top of the stock: 4B 5B 6B 7B JB, then 4D.
VOIDS_DECK = [*range(1, 10), 20, *range(10, 20), 30, 31, 32, 33, 34, 0]
VOIDS_DECK += [card for card in range(40) if card not in VOIDS_DECK]


def voids_seen(env: Any) -> list[str]:
    """Suits that player_0 knows player_1 to lack."""
    text = explain(env.observe("player_0")["observation"], env.unwrapped.layout)
    return list(text["voids"]["seat +1"])


@pytest.mark.parametrize(
    ("rules", "after_each_trick"),
    [
        # Shown draws: of the two voids, that of the suit drawn (4D, after the third trick) goes.
        ("cuperativa", [["spade"], ["denari", "spade"], ["spade"]]),
        ("playmore", [[], [], []]),  # the hidden draw may be of any suit
        ("gamelake", [[], [], []]),  # nobody need follow while the stock lasts
    ],
)
def test_voids_while_the_stock_lasts(rules: str, after_each_trick: list[list[str]]) -> None:
    env = tressette_v0.env(rules=rules)
    env.reset(options={"deck": VOIDS_DECK, "leader": 0})
    assert voids_seen(env) == []
    seen = []
    for lead, reply in ((20, 10), (9, 11), (8, 12)):
        env.step(lead)
        env.step(reply)
        seen.append(voids_seen(env))
    assert seen == after_each_trick


@pytest.mark.parametrize("rules", ["playmore", "gamelake", "cuperativa", "yeeqia"])
def test_voids_stay_once_the_stock_is_empty(rules: str) -> None:
    table = Table(PRESETS[rules], seed=8)
    found = 0
    for number in range(6):
        table.start(leader=number % 2)
        voids: list[set[int]] = [set(), set()]
        while not table.over:
            stock_was_empty = not table.stock
            table.play_random()
            if stock_was_empty:
                for seat in (0, 1):
                    other = table.witnesses[1 - seat]
                    layout = table.env.layout
                    features = table.env.observe(f"player_{1 - seat}")["observation"]
                    now = set(np.flatnonzero(features[layout["voids"].slice][:4]).tolist())
                    assert now >= voids[seat]
                    assert now == other.voids[seat]
                    # Certain: the seat that is said to be void truly holds none of the suit.
                    assert not any(card // 10 in now for card in table.witnesses[seat].hand)
                    voids[seat] = now
                    found += len(now)
    assert found


def test_four_seats_keep_their_voids() -> None:
    table = Table(PRESETS["gamelake_partners"], seed=9)
    table.start(leader=2)
    found = 0
    while not table.over:
        table.play_random()
        for viewer in range(4):
            features = table.env.observe(f"player_{viewer}")["observation"]
            rows = features[table.env.layout["voids"].slice].reshape(-1, 4)[:3]
            for relative, row in enumerate(rows, 1):
                held = table.witnesses[(viewer + relative) % 4].hand
                assert not any(row[card // 10] for card in held)
                found += int(row.sum())
    assert found


# --------------------------------------------------------- one position, under two houses' rules


def blocks_that_differ(one: Any, other: Any, agent: str) -> set[str]:
    first, second = (env.observe(agent)["observation"] for env in (one, other))
    return {
        block.name
        for block in one.unwrapped.layout.blocks
        if not np.array_equal(first[block.slice], second[block.slice])
    }


def in_step(first: str, second: str, seed: int) -> Any:
    """Play one deal under two houses, with cards legal in the first; yield before every card."""
    rng = np.random.default_rng(seed)
    deck = rng.permutation(40)
    envs = [tressette_v0.env(rules=PRESETS[name]) for name in (first, second)]
    for env in envs:
        env.reset(options={"deck": deck, "leader": seed % 2})
    while not any(envs[0].terminations.values()):
        yield envs
        card = int(rng.choice(np.flatnonzero(envs[0].last()[0]["action_mask"])))
        for env in envs:
            env.step(card)


def test_follow_always_against_stock_empty() -> None:
    """Masks and observations differ exactly where the rule says (R6)."""
    differed = 0
    for seed in range(6):
        for always, free in in_step("playmore", "gamelake", seed):
            agent = always.agent_selection
            text = explain(always.observe(agent)["observation"], always.unwrapped.layout)
            strict, loose = (env.observe(agent)["action_mask"] for env in (always, free))
            hand = always.observe(agent)["observation"][:40]
            if text["stock"] > 0:
                assert np.array_equal(loose, hand)
            else:
                assert np.array_equal(loose, strict)
            if text["led_suit"] is None:
                assert np.array_equal(strict, hand)
            assert (strict <= loose).all()
            differed += not np.array_equal(strict, loose)
            for seat in always.possible_agents:
                expected = {"rules", "must_follow"} if text["stock"] > 0 else {"rules"}
                # Off suit while the stock lasts is proof of a void only where suit is followed; but
                # a hidden draw follows at once, and takes it away again.
                assert blocks_that_differ(always, free, seat) == expected
    assert differed > 10


def test_hidden_against_shown_draws() -> None:
    """Masks are equal; observations differ in what draws have shown, and in nothing else (R9)."""
    differed: set[str] = set()
    for seed in range(6):
        for hidden, shown in in_step("playmore", "cuperativa", seed):
            for agent in hidden.possible_agents:
                masks = [env.observe(agent)["action_mask"] for env in (hidden, shown)]
                assert np.array_equal(*masks)
                blocks = blocks_that_differ(hidden, shown, agent)
                assert "rules" in blocks
                assert blocks <= {"rules", "known", "unseen", "voids"}
                differed |= blocks
                layout = hidden.unwrapped.layout
                known = hidden.observe(agent)["observation"][layout["known"].slice]
                assert not known.any()  # with hidden draws no card is known to be anywhere
    assert differed == {"rules", "known", "unseen", "voids"}


def test_history_is_perfect_recall() -> None:
    for house in ("gamelake", "gamelake_partners", "mini_2x5"):
        table = Table(PRESETS[house], seed=11, observation="history")
        table.start(leader=1)
        played: list[int] = []
        while not table.over:
            table.play_random()
            played.append(table.witnesses[0].plays[-1][1])
            for agent in table.env.possible_agents:
                features = table.env.observe(agent)["observation"]
                rows = features[table.env.layout["history"].slice].reshape(40, 40)
                assert rows[: len(played)].argmax(axis=1).tolist() == played
                assert rows.sum(axis=1).tolist() == [1] * len(played) + [0] * (40 - len(played))
