"""What an agent does: situations counted by hand, whole games counted by an independent loop."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from test_cli import run

from tressette_env.card_notation import hand_text, parse_deck, parse_hand
from tressette_env.cards import card_list, suit_of
from tressette_env.errors import AgentSpecError, OptionError
from tressette_env.policies import Agent, make_agent
from tressette_env.rules import deal, play_card
from tressette_env.rulesets import PRESETS
from tressette_env.state import new_state
from tressette_env.view import View
from tressette_train import played_deals
from tressette_train.card_habits import HABITS, HOLDINGS, RANK_CLASSES, situations
from tressette_train.habits import PHASES, find_habits, ratio_interval
from tressette_train.played_deals import play_deals

PLAYMORE, PARTNERS = PRESETS["playmore"], PRESETS["gamelake_partners"]


def doing(hand: str, legal: str, table: str = "", rules: str = "playmore") -> dict[str, str]:
    """Return the cards of every habit that is a choice, for one seat to act."""
    view = View(PRESETS[rules])
    view.hand, view.legal = parse_hand(hand), parse_hand(legal)
    cards = list(parse_deck(table)) if table else []
    view.plays[: len(cards)] = cards
    view.ply = view.table_size = len(cards)
    now = situations(view.to_record(), PRESETS[rules])
    found = {}
    for habit in HABITS:
        chosen = int(habit.cards(now)[0]) & view.legal
        if chosen not in (0, view.legal):
            found[f"{habit.group}: {habit.name}"] = hand_text(chosen)
    return found


# ----------------------------------------------------------------------------- by hand


def test_a_lead_by_rank_length_and_holding() -> None:
    hand = "D:3A7 C:5 S:2K"
    assert doing(hand, hand) == {
        "leads: a 3": "D:3 C:- S:- B:-",
        "leads: a 2": "D:- C:- S:2 B:-",
        "leads: an ace": "D:A C:- S:- B:-",
        "leads: a figure": "D:- C:- S:K B:-",
        "leads: a blank": "D:7 C:5 S:- B:-",
        "leads: from a single card": "D:- C:5 S:- B:-",
        "leads: from two cards": "D:- C:- S:2K B:-",
        "leads: from three cards": "D:3A7 C:- S:- B:-",
        "leads: from a suit with 3, ace": "D:3A7 C:- S:- B:-",
        "leads: from a suit with the 2 alone": "D:- C:- S:2K B:-",
        "leads: from a suit without them": "D:- C:5 S:- B:-",
    }


@pytest.mark.parametrize(
    ("hand", "legal", "table", "rules", "expected"),
    [
        # The king on the table can be taken, by the ace only.
        (
            "D:A4 C:3",
            "D:A4",
            "KD",
            "playmore",
            {"follows: takes one of 1 or 2 thirds": "D:A", "follows: takes it with the ace": "D:A"},
        ),
        ("D:37 C:3", "D:37", "6D", "playmore", {}),
        ("D:34 C:3", "D:34", "6D", "playmore", {"follows: takes a trick of no thirds": "D:3"}),
        ("D:24 C:3", "D:24", "AD", "playmore", {"follows: takes one of 3 thirds or more": "D:2"}),
        # The ace is lost to the 3, the king is not dear enough to count.
        (
            "D:AK C:3",
            "D:AK",
            "3D",
            "playmore",
            {"follows: loses the ace, not a lesser card": "D:A"},
        ),
        # Free play: nothing need be followed.
        (
            "D:4 C:3",
            "D:4 C:3",
            "6D",
            "gamelake",
            {"follows: plays another suit, though it could": "C:3"},
        ),
        # Void in the suit led.
        (
            "C:A54 S:K",
            "C:A54 S:K",
            "6D",
            "playmore",
            {
                "discards: an ace": "C:A",
                "discards: a figure": "S:K",
                "discards: a blank": "C:54",
                "discards: from its shortest suit": "S:K",
            },
        ),
        # The partner's 3 holds the trick; then the opponent's does.
        (
            "D:A5 C:3",
            "D:A5",
            "3D 4D",
            "gamelake_partners",
            {"follows: gives its partner thirds": "D:A"},
        ),
        (
            "D:A5 C:3",
            "D:A5",
            "4D 3D",
            "gamelake_partners",
            {"follows: loses the ace, not a lesser card": "D:A"},
        ),
        # A card of another suit wins nothing: the 3 of coppe does not take the partner's 6.
        (
            "S:3K",
            "S:3K",
            "6D 3C",
            "gamelake_partners",
            {},
        ),
        (
            "S:K5",
            "S:K5",
            "6D 3C",
            "gamelake_partners",
            {"discards: thirds on its partner's trick": "S:K"},
        ),
        # Three cards lie there: the partner's 2 is the best, or an opponent's.
        (
            "D:34",
            "D:34",
            "KD 2D AD",
            "gamelake_partners",
            {"follows: gives its partner thirds": "D:3"},
        ),
        (
            "D:34",
            "D:34",
            "2D KD AD",
            "gamelake_partners",
            {"follows: takes one of 3 thirds or more": "D:3"},
        ),
    ],
)
def test_a_reply(hand: str, legal: str, table: str, rules: str, expected: dict[str, str]) -> None:
    whole = {name: hand_text(parse_hand(cards)) for name, cards in expected.items()}
    assert doing(hand, legal, table, rules) == whole


def test_the_classes_are_the_deck() -> None:
    sets = list(RANK_CLASSES.values())
    assert sum(sets) == (1 << 40) - 1
    assert [len(card_list(one)) for one in sets] == [4, 4, 4, 12, 16]


def test_an_interval_worked_out_by_hand() -> None:
    share = ratio_interval(np.array([1, 1, 0, 2]), np.array([2, 1, 1, 2]))
    # Residuals -1/3, 1/3, -2/3, 2/3: error sqrt(10/9 * 4/3) / 6, and t(3) = 3.1824.
    assert share.mean == pytest.approx(2 / 3)
    assert share.low == pytest.approx(2 / 3 - 3.1824 * (40 / 27) ** 0.5 / 6, abs=1e-4)
    assert share.high == 1.0
    certain = ratio_interval(np.array([3, 0]), np.array([3, 0]))
    assert (certain.mean, certain.low, certain.high) == (1, 1, 1)


# ----------------------------------------------------------------------------- whole games


def place_of(name: str) -> int:
    return [f"{habit.group}: {habit.name}" for habit in HABITS].index(name)


@pytest.mark.parametrize("house", ["playmore", "gamelake", "gamelake_partners", "mini_2x4"])
def test_counts_are_those_of_a_plain_loop_over_the_games(house: str) -> None:
    rules, deals = PRESETS[house], 6
    found = find_habits("greedy", "random", rules=house, deals=deals, seed=3)
    threes, voids, led = (np.zeros((deals, 2), np.int64) for _ in range(3))
    sides = make_agent("greedy"), make_agent("random")
    for side, order in enumerate((sides, sides[::-1])):
        game = play_deals(order, rules, 3, 0, deals)
        for row in range(deals):
            state, record = new_state(), game.record(row).deals[0]
            deal(state, rules, record.deck, record.leader)
            for ply, card in enumerate(record.plays):
                hand = card_list(state.hands[state.turn])
                leads = ply % rules.seats == 0
                phase = int(state.drawn == rules.stock_size)
                if state.turn % 2 == side and leads:
                    led[row, phase] += sum(suit_of(one) == suit_of(card) for one in hand) > 1
                    if 0 < sum(one % 10 == 9 for one in hand) < len(hand):
                        threes[row, phase] += card % 10 == 9
                if state.turn % 2 == side and not leads:
                    suit = suit_of(record.plays[ply - ply % rules.seats])
                    is_void = all(suit_of(one) != suit for one in hand)
                    lengths = [sum(suit_of(one) == s for one in hand) for s in range(4)]
                    held = [length for length in lengths if length]
                    if is_void and len(set(held)) > 1:
                        voids[row, phase] += lengths[suit_of(card)] == min(held)
                play_card(state, rules, card)
    assert (found.done[:, :, place_of("leads: a 3")] == threes).all()
    assert (found.done[:, :, place_of("discards: from its shortest suit")] == voids).all()
    assert (found.led.sum((1, 2)) == led.sum(0)).all()
    assert threes.any()


def test_random_does_what_a_card_at_random_does() -> None:
    for house in ("gamelake", "gamelake_partners"):
        for one in find_habits("random", rules=house, deals=150, seed=2).shares():
            # Four standard errors: a hundred shares are looked at.
            error = max(one.share.half_width / 1.96, (0.25 / one.choices) ** 0.5)
            assert abs(one.share.mean - one.at_random) < 4 * error, one


class LeadsLowest(Agent):
    """Plays the lowest number that it may."""

    spec = "lowest"

    def act(self, view: View, seed: int) -> int:
        return view.legal_cards[0]


def test_an_agent_of_its_own_is_counted_in_all_its_seats() -> None:
    alone = find_habits(LeadsLowest(), deals=4, seed=1)
    assert (alone.agent, alone.opponent) == ("lowest", "lowest")
    assert alone.led.sum() == find_habits(LeadsLowest(), LeadsLowest(), deals=4, seed=1).led.sum()
    for holding, row in zip(HOLDINGS, alone.led.sum(0), strict=True):
        # It leads the lowest card of the suit: the 3 never, from two cards or more.
        assert row[0] == 0, holding


def test_more_deals_keep_the_first_and_batches_do_not_matter(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = find_habits("random", "greedy", deals=15, seed=3)
    monkeypatch.setattr(played_deals, "_BATCH", 4)
    parts = find_habits("random", "greedy", deals=15, seed=3)
    assert (whole.done == parts.done).all()
    assert (whole.led == parts.led).all()
    fewer = find_habits("random", "greedy", deals=9, seed=3)
    assert (fewer.choices == whole.choices[:9]).all()


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"deals": 1}, OptionError, "deals: expected an integer from 2 up, got 1"),
        ({"seed": -1}, OptionError, "seed"),
        ({"opponent": "clairvoyant"}, AgentSpecError, "cheats"),
    ],
)
def test_what_cannot_be_counted(
    arguments: dict[str, object], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        find_habits("greedy", **arguments)  # type: ignore[arg-type]


# ----------------------------------------------------------------------------- the command


def test_the_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    chart = tmp_path / "habits.png"
    command = ["habits", "greedy", "--against", "random", "--deals", "30", "--seed", "1"]
    assert run(monkeypatch, *command, "--chart", str(chart)) == 0
    text = capsys.readouterr().out
    assert text.startswith("playmore: greedy against random, 30 deals of seed 1\n")
    assert max(map(len, text.splitlines())) <= 100
    assert chart.read_bytes().startswith(b"\x89PNG")
    assert run(monkeypatch, *command, "--json") == 0
    content = json.loads(capsys.readouterr().out)
    rows = {(row["group"], row["name"], row["phase"]): row for row in content["habits"]}
    row = rows["leads", "a 3", PHASES[0]]
    assert row["ci95"][0] <= row["share"] <= row["ci95"][1]
    assert f"{100 * row['share']:.1f} ± " in text
    assert set(content["cards_led"]) == set(PHASES)


def test_a_mistake_is_told_in_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    for command in (
        ["habits", "greedi"],
        ["habits", "greedy", "--deals", "1"],
        ["habits", "greedy", "--chart", "habits.jpg"],
        ["habits", "greedy", "--chart", str(tmp_path / "none" / "habits.png")],
        ["habits"],
    ):
        assert run(monkeypatch, *command) == 2
        printed = capsys.readouterr()
        assert printed.out == ""
        assert printed.err.startswith("tressette: ")
        assert printed.err.count("\n") == 1
