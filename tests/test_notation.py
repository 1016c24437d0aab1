"""Text of cards, hands, decks and game records: exact there and back, and every damage refused."""

from __future__ import annotations

import dataclasses
import json
import random
import time
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tressette_env import match, rules
from tressette_env.cards import ALL_CARDS, NUM_CARDS, card_list, card_set
from tressette_env.errors import DeckError, NotationError, RulesError, TressetteError
from tressette_env.notation import (
    DealRecord,
    GameRecord,
    RecordError,
    card_name,
    card_symbol,
    card_text,
    deck_text,
    hand_text,
    parse_card,
    parse_deck,
    parse_hand,
    parse_record,
    record_text,
)
from tressette_env.rulesets import PRESETS, RuleSet, playable_presets
from tressette_env.state import new_state

# What the name and the source of a rule set may hold.
WRITABLE = st.text(
    st.one_of(st.characters(exclude_categories=("Cc", "Cs")), st.sampled_from("\t\n"))
)

# One finished deal and one that stops in its seventh trick; pinned: later versions must read it.
MATCH = r"""tressette-record 1
rules playmore
fields seats=2 follow=always draws=hidden scoring=points target=21 declarations=none cappotto=none objective=most hand_size=10
cards D:32AKQJ7654 C:32AKQJ7654 S:32AKQJ7654 B:32AKQJ7654
source "Playmore, \"How to Play Tressette\" (due a meta' mazzo)"
seed 7

deal number=0 leader=0
deck 6B 6D 5C 5D 2B AS QD 3D AC KD
deck QS 4S AB 5S 3S 7S 4C 7B 2C 3B
deck 2D JC 6S JB 3C QB 6C KS 4D QC
deck 7D 7C JS 4B 2S 5B AD KC JD KB
1. 0: 6B 7B
2. 1: 7S AS
3. 0: KD 2D
4. 1: 5S 6S
5. 0: JC 3C
6. 1: 4C 6C
7. 0: 3D 4D
8. 0: QC 2C
9. 1: AB 2B
10. 0: QD KS
11. 0: AD 3B
12. 0: 5B KB
13. 1: 4B QB
14. 0: JD KC
15. 0: JS 3S
16. 1: 2S 6D
17. 1: QS 5C
18. 1: 7C AC
19. 0: 5D 4S
20. 0: 7D JB
result 24-11 thirds
totals 8-3 points

deal number=1 leader=1
deck 2B QD JD 6B 2S 7S JB 7D 3D QB
deck KB 5S 4S 7C QC 3S AB KS 2D 3B
deck 6S 2C 5C KC 6C AD AS AC KD JS
deck 4D JC 7B 4C QS 3C 6D 4B 5D 5B
1. 1: AB 2B
2. 0: 6B 3B
3. 1: 5S 7S
4. 0: 7D 2D
5. 1: AS 6S
6. 1: 7C AC
7. 0: QD
unfinished 13 cards

end 47070303
"""  # noqa: E501

SMALL = """tressette-record 1
rules mini_2x4
fields seats=2 follow=always draws=shown scoring=thirds target=none declarations=none cappotto=none objective=most hand_size=2
cards D:3AK7 C:3AK7 S:- B:-
source "a reduced deck for research, small enough to be solved"
seed none

deal number=none leader=0
deck KC AC 3C 7C 3D 7D AD KD
1. 0: KC 7C
2. 0: AC 3C
3. 1: AD 3D
4. 0: KD 7D
result 9-4 thirds
totals 9-4 thirds

end d1546a1e
"""  # noqa: E501

LINES = MATCH.splitlines()


def play_match(
    rule_set: RuleSet, seed: int, max_plays: int = 10_000, record_seed: int | None = None
) -> GameRecord:
    """A match of random legal cards, cut off after ``max_plays``."""
    rng = random.Random(seed)
    state = new_state()
    match.start_match(state)
    leader = rng.randrange(rule_set.seats)
    deals: list[DealRecord] = []
    while state.match_result == match.MATCH_OPEN and (max_plays or not deals):
        deck = rng.sample(rule_set.deck, len(rule_set.deck))
        rules.deal(state, rule_set, deck, leader)
        plays: list[int] = []
        while max_plays and not rules.is_over(state, rule_set):
            card = rng.choice(card_list(rules.legal_cards(state, rule_set)))
            rules.play_card(state, rule_set, card)
            plays.append(card)
            max_plays -= 1
        thirds = None
        if rules.is_over(state, rule_set):
            thirds = (state.thirds[0], state.thirds[1])
            match.add_deal(state, rule_set)
        number = rng.choice([None, len(deals)])
        deals.append(DealRecord(number, tuple(deck), leader, tuple(plays), thirds))
        leader = match.next_leader(state, rule_set)
    return GameRecord(rule_set, record_seed, tuple(deals))


def refusal(text: str | bytes) -> NotationError:
    with pytest.raises(NotationError) as caught:
        parse_record(text)
    assert str(caught.value).startswith(f"line {caught.value.line}, column {caught.value.column}: ")
    return caught.value


def edited(line: int, old: str, new: str, text: str = MATCH) -> str:
    """The record with ``old`` replaced in one line (from 1)."""
    lines = text.splitlines(keepends=True)
    assert lines[line - 1].count(old) == 1
    lines[line - 1] = lines[line - 1].replace(old, new)
    return "".join(lines)


# Cards


def test_short_text_is_rank_letter_then_suit_letter() -> None:
    assert [card_text(card) for card in (9, 17, 26, 33)] == ["3D", "AC", "KS", "7B"]


def test_every_card_reads_back_in_capitals_and_small_letters() -> None:
    for card in range(NUM_CARDS):
        text = card_text(card)
        assert parse_card(text) == parse_card(text.lower()) == card
    assert len({card_text(card) for card in range(NUM_CARDS)}) == NUM_CARDS


def test_italian_names() -> None:
    assert card_name(parse_card("3D")) == "Tre di denari"
    assert card_name(parse_card("AC")) == "Asso di coppe"
    assert card_name(parse_card("KS")) == "Re di spade"
    assert card_name(parse_card("QB")) == "Cavallo di bastoni"
    assert card_name(parse_card("JB")) == "Fante di bastoni"
    assert card_name(parse_card("4D")) == "Quattro di denari"


def test_french_names_and_symbols_of_the_same_deck() -> None:
    cards = [parse_card(text) for text in ("3D", "AC", "QS", "7B")]
    names = [card_name(card, "french") for card in cards]
    assert names == ["Three of diamonds", "Ace of hearts", "Queen of spades", "Seven of clubs"]
    assert [card_symbol(card) for card in cards] == ["3♦", "A♥", "Q♠", "7♣"]


@pytest.mark.parametrize("style", ["italian", "french"])
def test_every_card_has_its_own_name(style: str) -> None:
    assert len({card_name(card, style) for card in range(NUM_CARDS)}) == NUM_CARDS  # type: ignore[arg-type]


@pytest.mark.parametrize("card", [-1, 40])
@pytest.mark.parametrize("write", [card_text, card_name, card_symbol])
def test_numbers_that_are_no_cards_are_refused(write: Callable[[int], str], card: int) -> None:
    with pytest.raises(DeckError, match=rf"0 to 39, got {card}"):
        write(card)


@pytest.mark.parametrize(
    "text", ["", " ", "3", "D", "8D", "3X", "33D", "10D", "3D KS", "3\u017f", "3 D"]
)
def test_texts_that_are_no_card_are_refused(text: str) -> None:
    with pytest.raises(NotationError):
        parse_card(text)


def test_a_card_written_suit_first_is_told_the_right_order() -> None:
    with pytest.raises(NotationError, match="the rank comes first: 3D"):
        parse_card("d3")


def test_what_is_no_text_is_refused_in_the_same_family() -> None:
    with pytest.raises(NotationError, match="expected text, got int"):
        parse_card(7)  # type: ignore[arg-type]


# Hands and decks


def test_a_hand_is_sorted_by_suit_then_3_2_a_k_q_j_7_6_5_4() -> None:
    assert hand_text(ALL_CARDS) == " ".join(f"{suit}:32AKQJ7654" for suit in "DCSB")
    assert hand_text(parse_deck("2B AD KS 7D 3D QS")) == "D:3A7 C:- S:KQ B:2"


def test_a_hand_reads_in_any_order_and_case_and_with_suits_left_out() -> None:
    assert parse_hand("b:2 s:qk d:7a3") == parse_hand("D:3A7 C:- S:KQ B:2")


@given(st.integers(0, ALL_CARDS))
def test_every_hand_reads_back(cards: int) -> None:
    text = hand_text(cards)
    assert parse_hand(text) == cards
    assert hand_text(card_list(cards)) == text
    assert hand_text(np.int64(cards)) == text  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("", 1),
        ("D", 1),
        ("D:", 1),
        ("D:3A  X:2", 7),
        ("D:3A D:2", 6),
        ("D:3A3", 5),
        ("D:3 C:2 S:A8", 12),
        ("D:3-", 4),
        ("D:3 C:Ä", 7),
    ],
)
def test_a_damaged_hand_is_refused_at_its_column(text: str, column: int) -> None:
    with pytest.raises(NotationError) as caught:
        parse_hand(text)
    assert (caught.value.line, caught.value.column) == (1, column)


@pytest.mark.parametrize("cards", [[0, 0], [40], -1, ALL_CARDS + 1])
def test_what_is_no_hand_is_not_written(cards: list[int] | int) -> None:
    with pytest.raises(DeckError):
        hand_text(cards)


@given(st.lists(st.integers(0, 39), unique=True, min_size=1))
def test_every_deck_reads_back_in_order(deck: list[int]) -> None:
    assert parse_deck(deck_text(deck)) == tuple(deck)
    assert parse_deck(deck_text(deck).lower().replace(" ", "\r\n ")) == tuple(deck)


@pytest.mark.parametrize(
    ("text", "place"), [("3D KS\n7B 3d", (2, 4)), ("3D\n\n  9C", (3, 3)), ("\n", (1, 1))]
)
def test_a_damaged_deck_is_refused_at_its_place(text: str, place: tuple[int, int]) -> None:
    with pytest.raises(NotationError) as caught:
        parse_deck(text)
    assert (caught.value.line, caught.value.column) == place


# Records: there and back


def test_a_pinned_record_reads_as_what_was_played() -> None:
    record = parse_record(MATCH)
    assert record.rules == PRESETS["playmore"]
    assert record.seed == 7
    first, second = record.deals
    assert (first.number, first.leader, first.thirds) == (0, 0, (24, 11))
    assert deck_text(first.deck[:3]) == "6B 6D 5C"
    assert deck_text(first.plays[-2:]) == "7D JB"
    assert (second.number, second.leader, second.thirds) == (1, 1, None)
    assert len(second.plays) == 13


def test_pinned_records_are_written_byte_for_byte_the_same() -> None:
    assert record_text(parse_record(MATCH)) == MATCH
    deck = parse_deck("KC AC 3C 7C 3D 7D AD KD")
    plays = parse_deck("KC 7C AC 3C AD 3D KD 7D")
    deal = DealRecord(None, deck, 0, plays, (9, 4))
    assert record_text(GameRecord(PRESETS["mini_2x4"], None, (deal,))) == SMALL


@pytest.mark.parametrize("name", playable_presets())
@settings(max_examples=8, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    max_plays=st.integers(0, 240),
    record_seed=st.none() | st.integers(0, 2**63 - 1),
)
def test_every_record_reads_back(
    name: str, seed: int, max_plays: int, record_seed: int | None
) -> None:
    record = play_match(PRESETS[name], seed, max_plays, record_seed)
    text = record_text(record)
    assert parse_record(text) == record
    assert record_text(parse_record(text)) == text


@settings(deadline=None)
@given(
    name=WRITABLE,
    source=WRITABLE,
    target=st.none() | st.integers(1, 30),
    goal=st.sampled_from([("most", "none"), ("most", "all_points"), ("fewest", "none")]),
    seed=st.integers(0, 99),
)
def test_records_of_own_rules_read_back_with_every_field(
    seed: int, goal: tuple[str, str], **fields: object
) -> None:
    objective, cappotto = goal
    rules = PRESETS["gamelake_partners"].replace(objective=objective, cappotto=cappotto, **fields)
    record = play_match(rules, seed, 100)
    text = record_text(record)
    assert text.isascii()
    assert parse_record(text) == record


@pytest.mark.parametrize("odd", ["\x1b[31m", "\0", "\r", "\x7f", "\x9b1m", "\ud800", "\udfff"])
def test_names_that_would_act_on_a_terminal_are_neither_read_nor_written(odd: str) -> None:
    written = json.dumps(f"my {odd}")
    for line, what in ((2, "rules playmore"), (5, LINES[4])):
        text = edited(line, what, f"{what.split()[0]} {written}").replace(LINES[-1], "end")
        error = refusal(text)
        assert (error.line, error.column) == (line, len(what.split()[0]) + 2)
        assert "a text without control characters" in error.reason
        assert error.reason.isprintable()
    record = parse_record(MATCH)
    for field in ("name", "source"):
        rule_set = record.rules.replace(**{field: odd})
        with pytest.raises(RulesError, match=f"RuleSet {field}: expected text without control"):
            record_text(dataclasses.replace(record, rules=rule_set))


@pytest.mark.parametrize(
    "text",
    [
        "\n" * 2_000_000,
        "\r\n" * 2_000_000,
        "3D " * 1_000_000,
        "x" * 2_000_000,
    ],
)
def test_a_text_of_any_length_is_refused_at_once(text: str) -> None:
    began = time.process_time()
    assert "expected at most 1,000,000 characters" in refusal(text).reason
    assert time.process_time() - began < 0.5


@pytest.mark.parametrize(
    "text",
    [
        "\n" * 990_000,
        MATCH[: MATCH.index("deck ")] + "deck " + "3D " * 320_000,
        "a " * 490_000,
        MATCH[: MATCH.index("deck ")] + "deck 3D\n" * 120_000,
    ],
)
def test_the_time_to_refuse_a_text_grows_with_its_length_only(text: str) -> None:
    began = time.process_time()
    refusal(text)
    assert time.process_time() - began < 10  # about 1; it took minutes


def test_a_record_holds_every_field_of_its_rules() -> None:
    written = {word.split("=")[0] for word in LINES[2].split()[1:]} | {"name", "deck", "source"}
    assert written == {field.name for field in dataclasses.fields(RuleSet)}


def test_a_record_keeps_its_rules_when_a_preset_differs() -> None:
    rule_set = parse_record(edited(3, "target=21", "target=31").replace(LINES[-1], "end")).rules
    assert (rule_set.name, rule_set.target) == ("playmore", 31)


def test_numbers_from_arrays_are_taken() -> None:
    record = parse_record(MATCH)
    deals = [
        DealRecord(
            None if deal.number is None else np.int64(deal.number),  # type: ignore[arg-type]
            np.array(deal.deck, np.int8),  # type: ignore[arg-type]
            np.int8(deal.leader),  # type: ignore[arg-type]
            np.array(deal.plays, np.uint8),  # type: ignore[arg-type]
            None if deal.thirds is None else np.array(deal.thirds, np.int8),  # type: ignore[arg-type]
        )
        for deal in record.deals
    ]
    assert record_text(GameRecord(record.rules, np.int64(7), deals)) == MATCH  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text",
    [
        MATCH.replace("\n", "\r\n"),
        MATCH + "\n\n  \n",
        "\n" + MATCH,
        MATCH.rstrip("\n"),
        MATCH.replace("\n\n", "\n"),
        MATCH.replace("\n", " \t\n"),
        MATCH.replace("1. 0: 6B 7B", "   1.  0:\t6B   7B"),
        MATCH.replace(LINES[-1], "end"),
        MATCH.encode("ascii"),
    ],
    ids=[
        "crlf",
        "blank-after",
        "blank-before",
        "no-last-end",
        "no-blanks",
        "spaces",
        "indent",
        "no-sum",
        "bytes",
    ],
)
def test_line_ends_blank_lines_and_spaces_do_not_matter(text: str | bytes) -> None:
    assert parse_record(text) == parse_record(MATCH)


def test_a_record_by_hand_may_use_small_letters_and_no_check_sum() -> None:
    text = SMALL.replace("KC AC 3C 7C", "kc ac 3c 7c").replace("d1546a1e", "")
    assert parse_record(text) == parse_record(SMALL)


# Records: damage


@pytest.mark.parametrize("kept", range(len(LINES)))
def test_a_record_cut_off_after_any_line_is_refused_at_its_end(kept: int) -> None:
    error = refusal("\n".join(LINES[:kept]))
    last = max((number for number in range(1, kept + 1) if LINES[number - 1]), default=1)
    column = len(LINES[last - 1]) + 1 if kept else 1
    assert (error.line, error.column) == (last, column)
    assert "got the end" in error.reason


def test_a_record_cut_off_after_any_character_is_refused() -> None:
    complete = parse_record(SMALL)
    start_of_end = SMALL.index("end ") + len("end")
    for kept in range(len(SMALL) - 1):
        if kept in (start_of_end, start_of_end + 1):  # only the check sum is lost
            assert parse_record(SMALL[:kept]) == complete
        else:
            refusal(SMALL[:kept])


@pytest.mark.parametrize("line", [n for n, text in enumerate(LINES, 1) if text])
def test_a_lost_line_is_refused_near_its_place(line: int) -> None:
    error = refusal("\n".join([*LINES[: line - 1], *LINES[line:]]))
    if LINES[line - 1].startswith("deck"):
        assert "40 cards in the deck" in error.reason
        assert error.line in (11, 39)  # the end of the deck, now a line shorter
    elif line == len(LINES):
        assert error.line == 48
    else:
        assert line <= error.line <= line + 1


@pytest.mark.parametrize("line", [n for n, text in enumerate(LINES, 1) if text])
def test_a_line_twice_is_refused_there(line: int) -> None:
    assert refusal("\n".join([*LINES[:line], *LINES[line - 1 :]])).line == line + 1


@pytest.mark.parametrize("line", range(13, 32))
def test_tricks_out_of_order_are_refused_there(line: int) -> None:
    swapped = [*LINES[: line - 1], LINES[line], LINES[line - 1], *LINES[line + 1 :]]
    assert refusal("\n".join(swapped)).line == line


@pytest.mark.parametrize(
    ("damaged", "place", "says"),
    [
        ("", (1, 1), "expected 'tressette-record', got the end"),
        ("hello", (1, 1), "expected 'tressette-record', got 'hello'"),
        (edited(1, " 1", " 2"), (1, 18), "expected format 1, got '2'; another version"),
        (edited(1, " 1", ""), (1, 17), "expected a format number, got the end"),
        (edited(1, " 1", " 1 1"), (1, 20), "expected the end of the line, got '1'"),
        (edited(2, "playmore", "my house"), (2, 10), "expected the end of the line"),
        (edited(2, "playmore", '"my house'), (2, 7), "a text in quotes"),
        (edited(3, "seats", "seatz"), (3, 8), "did you mean 'seats'?"),
        (edited(3, "seats=2", "seats=3"), (3, 14), "expected one of 2, 4; got 3"),
        (edited(3, "seats=2", "seats=two"), (3, 14), "expected a number for seats, got 'two'"),
        (edited(3, "follow=", "follow:"), (3, 16), "write name=value"),
        (edited(3, "target=21", "target=-1"), (3, 65), "a number of points, or none"),
        (edited(3, "target=21", "seats=2"), (3, 58), "each field once"),
        (edited(3, "declarations=none", "declarations=any_turn"), (3, 81), "cannot be played"),
        (edited(3, "hand_size=10", "hand_size=9"), (4, 1), "a stock of 22"),
        (edited(4, " B:32", " B:3"), (4, 1), "RuleSet deck"),
        (edited(4, " B:32", " B:38"), (4, 49), "got '8B'"),
        (edited(5, '\\"How', '"How'), (5, 20), "expected the end of the line, got 'How'"),
        (edited(5, "mazzo)", "mazzò)"), (5, 62), "expected plain ASCII text, got 'ò'"),
        (edited(6, "7", "-7"), (6, 6), "expected a seed, or none, got '-7'"),
        (edited(6, "7", str(2**63)), (6, 6), "0 to 2**63 - 1"),
        (edited(6, "7", "9" * 5000), (6, 6), "got '9999999999"),
        (edited(8, "number=0", "0"), (8, 6), "expected number=..., got '0'"),
        (edited(8, "leader=0", "leader=2"), (8, 22), "expected a seat from 0 to 1, got '2'"),
        (edited(8, "leader=0", "leader=1"), (13, 7), "a card that seat 1 holds and may play"),
        (edited(9, "5C", "XC"), (9, 12), "expected a card, got 'XC'"),
        (edited(9, "5C", "C5"), (9, 12), "the rank comes first: 5C"),
        (edited(9, "5C", "6D"), (9, 12), "expected each card once, got '6D'"),
        (edited(12, " KB", ""), (12, 32), "expected 40 cards in the deck, also KB, got the end"),
        (edited(13, "1.", "1,"), (13, 1), "expected '1.' or 'result' or 'unfinished', got '1,'"),
        (edited(13, "0:", "1:"), (13, 4), "expected '0:', the seat that leads this trick"),
        (edited(13, "0:", "0"), (13, 4), "expected '0:', the seat that leads this trick"),
        (edited(13, "6B 7B", "7B 6B"), (13, 7), "a card that seat 0 holds and may play"),
        (edited(13, "7B", "4C"), (13, 10), "of the suit led, which seat 1 holds (3B AB 7B), got"),
        (edited(13, "7B", "6B"), (13, 10), "got '6B'"),
        (edited(13, " 7B", ""), (14, 1), "expected 'unfinished' after a trick of less than 2"),
        (edited(13, " 6B 7B", ""), (13, 6), "expected the cards of the trick, got the end"),
        (edited(13, "7B", "7B 3B"), (13, 13), "expected 2 cards in a trick, got '3B'"),
        (edited(20, "8.", "9."), (20, 1), "expected '8.' or 'result'"),
        (edited(32, "JB\n", "JB\n21. 0: 3D\n"), (33, 8), "no more than the 40 cards"),
        (edited(33, "24-11", "23-12"), (33, 8), "expected the result 24-11 in thirds"),
        (edited(33, "24-11", "24"), (33, 8), "write them like 21-14"),
        (edited(33, "thirds", "points"), (33, 14), "expected 'thirds', got 'points'"),
        (edited(33, "result 24-11 thirds", "unfinished 40 cards"), (34, 1), "got 'totals'"),
        (edited(34, "8-3", "8-4"), (34, 8), "expected 8-3, the totals of the match"),
        (edited(34, "points", "thirds"), (34, 12), "expected 'points', got 'thirds'"),
        (edited(36, "leader=1", "leader=0"), (36, 22), "expected seat 1: the deal passes"),
        (edited(47, "7. 0: QD\n", ""), (47, 12), "expected 12, the number of cards played"),
        (edited(48, "13", "12"), (48, 12), "expected 13, the number of cards played, got '12'"),
        (
            edited(48, "unfinished 13 cards", "result 9-9 thirds\ntotals 9-9 points"),
            (48, 8),
            "expected no result before the last card",
        ),
        (edited(50, "47070303", "47070304"), (50, 5), "expected the check sum 47070303"),
        (MATCH + "deal", (51, 1), "expected the end of the record, got 'deal'"),
        (MATCH[:-1] + " more", (50, 14), "expected the end of the line, got 'more'"),
        (MATCH + "\x00", (51, 1), "expected plain ASCII text, got '\\x00'"),
        (MATCH.replace("\n", "\r"), (1, 19), "expected plain ASCII text, got '\\r'"),
        (MATCH.replace("\n", "\u2028"), (1, 19), "expected plain ASCII text"),
        ("\ufeff" + MATCH, (1, 1), "expected plain ASCII text"),
        (MATCH.encode("utf-16"), (1, 1), "expected plain ASCII text"),
        (bytes(range(256)), (1, 1), "expected plain ASCII text"),
        (edited(1, "record", "rec\xffrd").encode("latin-1"), (1, 14), "plain ASCII text"),
    ],
)
def test_damage_is_refused_at_its_place(
    damaged: str | bytes, place: tuple[int, int], says: str
) -> None:
    error = refusal(damaged)
    assert says in str(error)
    assert (error.line, error.column) == place


@pytest.mark.parametrize(
    "damaged",
    [
        edited(6, "7", "8"),
        edited(2, "playmore", "yeeqia"),
        edited(3, "target=21", "target=31"),
        edited(5, "mazzo", "Mazzo"),
        edited(8, "number=0", "number=3"),
        edited(37, "2B QD", "QD 2B"),  # both in the same hand: still a game that can be played
        edited(47, "QD", "JD"),
    ],
)
def test_damage_that_tells_another_possible_game_is_found_by_the_check_sum(damaged: str) -> None:
    error = refusal(damaged)
    assert error.line == 50
    assert "something in the record was changed" in error.reason
    parse_record(damaged.replace(LINES[-1], "end"))


def test_a_deal_after_an_unfinished_one_is_refused() -> None:
    lines = MATCH.replace(LINES[-1], "").rstrip().splitlines()
    again = "\n".join([*lines, *LINES[35:48], "end"])
    error = refusal(again)
    assert (error.line, error.column) == (49, 13)
    assert "no deal after an unfinished one" in error.reason


def test_a_deal_after_the_end_of_the_match_is_refused() -> None:
    lines = SMALL.replace(SMALL.splitlines()[-1], "").rstrip().splitlines()
    again = [lines[7].replace("leader=0", "leader=1"), lines[8], "unfinished 0 cards", "end"]
    error = refusal("\n".join([*lines, *again]))
    assert (error.line, error.column) == (16, 13)
    assert "no deal after the end of the match (R13)" in error.reason


Edit = tuple[str, float, int]
EDITS = st.tuples(
    st.sampled_from(["replace", "insert", "delete"]), st.floats(0, 1), st.integers(0, 255)
)


def apply_edits(text: str, edits: list[Edit]) -> bytes:
    data = bytearray(text.encode("ascii"))
    for kind, where, byte in edits:
        place = min(int(where * len(data)), len(data) - 1)
        if kind == "insert":
            data.insert(place, byte)
        elif kind == "delete":
            del data[place]
        else:
            data[place] = byte
    return bytes(data)


@settings(max_examples=400, deadline=None)
@given(st.sampled_from([MATCH, SMALL]), st.lists(EDITS, min_size=1, max_size=3))
def test_random_bytes_in_a_record_are_refused_or_change_nothing(
    text: str, edits: list[Edit]
) -> None:
    try:
        record = parse_record(apply_edits(text, edits))
    except NotationError as error:
        assert error.line >= 1
        assert error.column >= 1
    else:
        assert record == parse_record(text)


PIECES = st.sampled_from([*"0123456789-:.= \n", "D", "3", "none", '"', "\\", "deck", "end", "3D"])


@settings(max_examples=400, deadline=None)
@given(
    st.sampled_from([text.replace(text.splitlines()[-1], "end") for text in (MATCH, SMALL)]),
    st.floats(0, 1),
    st.integers(0, 12),
    PIECES,
)
def test_without_a_check_sum_what_is_read_is_a_game_that_can_be_played(
    text: str, where: float, removed: int, piece: str
) -> None:
    place = int(where * len(text))
    try:
        record = parse_record(text[:place] + piece + text[place + removed :])
    except NotationError:
        return
    assert parse_record(record_text(record)) == record


@settings(deadline=None)
@given(st.text() | st.binary())
def test_junk_is_refused(junk: str | bytes) -> None:
    refusal(junk)


# Records that cannot have happened are not written


def changed_deal(**changes: object) -> GameRecord:
    record = parse_record(SMALL)
    return dataclasses.replace(record, deals=(dataclasses.replace(record.deals[0], **changes),))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("record", "part", "says"),
    [
        (dataclasses.replace(parse_record(SMALL), deals=()), "number", "at least one deal"),
        (dataclasses.replace(parse_record(SMALL), seed=-1), "seed", "0 to 2**63 - 1"),
        (changed_deal(number=-1), "number", "got -1"),
        (changed_deal(leader=2), "leader", "a seat from 0 to 1, got 2"),
        (changed_deal(deck=(0,) * 8), "deck", "a card of the rule set's deck, got 4D"),
        (changed_deal(deck=(9,) * 8), "deck", "each card once, got 3D"),
        (changed_deal(deck=(9, 99)), "deck", "got 99, which is no card"),
        (changed_deal(plays=(-1,), thirds=None), "plays", "got -1, which is no card"),
        (changed_deal(thirds=None), "thirds", "the result 9-4 in thirds, got None"),
        (changed_deal(plays=()), "thirds", "no result before the last card, got (9, 4)"),
    ],
)
def test_an_impossible_record_is_not_written(record: GameRecord, part: str, says: str) -> None:
    with pytest.raises(RecordError) as caught:
        record_text(record)
    assert caught.value.part == part
    assert says in str(caught.value)
    assert isinstance(caught.value, TressetteError)


def test_rules_that_cannot_be_played_yet_have_no_records() -> None:
    deal = DealRecord(None, tuple(range(40)), 0)
    with pytest.raises(RulesError, match="cannot be played yet"):
        record_text(GameRecord(PRESETS["spizzichino"], None, (deal,)))


def test_all_cards_of_a_hand_are_the_set() -> None:
    assert card_set(parse_deck("3D AC")) == parse_hand("D:3 C:A")
