"""Text for cards, hands, decks and game records, and back; the only parser in the kit.

Cards, hands and decks are in ``card_notation``; here is the text of a whole game, which a person
can read and ``parse_record`` replays through the rules. Whatever cannot be read raises
``NotationError``: what was expected, what came, the line and the column, and how to go on.
"""

from __future__ import annotations

import dataclasses
import json
import re
import zlib
from collections.abc import Iterator
from typing import Any, NamedTuple

from tressette_env.card_notation import (
    SUIT_SYMBOLS,
    card_name,
    card_symbol,
    card_text,
    deck_text,
    hand_text,
    parse_card,
    parse_deck,
    parse_hand,
    read_card,
    read_hand,
)
from tressette_env.cards import card_list
from tressette_env.errors import RulesError, did_you_mean
from tressette_env.records import DealRecord, DealReplay, GameRecord, RecordError, replay_game
from tressette_env.rulesets import RuleSet
from tressette_env.tokens import (
    CUT_OFF,
    RESTORE,
    Reader,
    Token,
    read_number,
    read_number_or_none,
    token_lines,
)

__all__ = [
    "FORMAT_NUMBER",
    "SUIT_SYMBOLS",
    "DealRecord",
    "GameRecord",
    "RecordError",
    "card_name",
    "card_symbol",
    "card_text",
    "deck_text",
    "hand_text",
    "parse_card",
    "parse_deck",
    "parse_hand",
    "parse_record",
    "record_text",
]

FORMAT_NUMBER = 1

# The rule set's fields that are written as name=value, with their defaults.
_FIELDS = {
    field.name: field.default
    for field in dataclasses.fields(RuleSet)
    if field.name not in ("name", "deck", "source")
}
_CARDS_PER_LINE = 10

# What no name may hold: it would act on a terminal, or could not be written as UTF-8.
_UNWRITABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def record_text(record: GameRecord) -> str:
    """Text of a game record; ``parse_record`` gives an equal record back.

    The first line holds the format number, the last a check sum. The rules are written field by
    field, so that a record keeps its meaning when a preset changes.

    Raises
    ------
    RecordError
        If the rules cannot have produced the record.
    RulesError
        If its rules cannot be played yet, or their name or source holds control characters.
    """
    replays = replay_game(record)
    rules = record.rules
    for name, text in (("name", rules.name), ("source", rules.source)):
        if odd := _UNWRITABLE.search(text):
            raise RulesError(
                f"RuleSet {name}: expected text without control characters, got {odd[0]!r}; "
                "remove it"
            )
    fields = " ".join(f"{name}={_or_none(getattr(rules, name))}" for name in _FIELDS)
    lines = [
        f"tressette-record {FORMAT_NUMBER}",
        f"rules {_quoted(rules.name)}",
        f"fields {fields}",
        f"cards {hand_text(rules.deck)}",
        f"source {_quoted(rules.source)}",
        f"seed {_or_none(record.seed)}",
    ]
    for deal, replay in zip(record.deals, replays, strict=True):
        lines += ["", *_deal_lines(rules, deal, replay)]
    text = "\n".join(lines)
    return f"{text}\n\nend {_check_sum(token_lines(text))}\n"


def _deal_lines(rules: RuleSet, deal: DealRecord, replay: DealReplay) -> Iterator[str]:
    yield f"deal number={_or_none(deal.number)} leader={deal.leader}"
    for place in range(0, len(deal.deck), _CARDS_PER_LINE):
        yield f"deck {deck_text(deal.deck[place : place + _CARDS_PER_LINE])}"
    for trick, leader in enumerate(replay.trick_leaders):
        cards = deal.plays[trick * rules.seats : (trick + 1) * rules.seats]
        yield f"{trick + 1}. {leader}: {deck_text(cards)}"
    if deal.thirds is None:
        yield f"unfinished {len(deal.plays)} cards"
    else:
        yield "result {}-{} thirds".format(*deal.thirds)
        yield "totals {}-{} {}".format(*replay.totals, _unit(rules))


def _unit(rules: RuleSet) -> str:
    return "points" if rules.scored_in_points else "thirds"


def _or_none(value: object) -> str:
    return "none" if value is None else str(value)


def _quoted(text: str) -> str:
    """Write a text of one plain word as it is, any other in quotes and plain ASCII."""
    return text if re.fullmatch(r"[A-Za-z0-9_.-]+", text) else json.dumps(text)


def _check_sum(lines: list[list[Token]]) -> str:
    """Eight hexadecimal digits (CRC-32) over the words of a record, whatever the spaces."""
    text = "\n".join(" ".join(token.text for token in line) for line in lines)
    return f"{zlib.crc32(text.encode('ascii')):08x}"


def parse_record(text: str | bytes) -> GameRecord:
    """Read a game record and replay it through the rules.

    Parameters
    ----------
    text : str or bytes
        What ``record_text`` writes, or the bytes of such a file. Line ends may be those of Windows;
        blank lines and the number of spaces do not matter. A record written or changed by hand may
        end in ``end`` without a check sum.

    Returns
    -------
    GameRecord
        Its rules are those in the text, even if a preset of that name differs now.

    Raises
    ------
    NotationError
        If it is no record, is damaged, or tells what the rules do not allow.
    """
    reader = Reader(text)
    reader.line("tressette-record")
    version = reader.take("a format number")
    if version.text != str(FORMAT_NUMBER):
        version.refuse(f"format {FORMAT_NUMBER}", "another version of tressette may read it")
    rules = _parse_rules(reader)
    reader.line("seed")
    seed = read_number_or_none(reader.take("a seed"), "a seed")
    deals = [_parse_deal(reader, rules)]
    while reader.peek() == "deal":
        deals.append(_parse_deal(reader, rules))
    reader.line("deal", "end")
    record = GameRecord(rules, seed, tuple(deal.record for deal in deals))
    _verify(record, deals)
    _check_end(reader)
    return record


def _string(token: Token) -> str:
    """Read what ``_quoted`` writes."""
    if not token.text.startswith('"'):
        if token.text != _quoted(token.text):
            token.refuse("a word, or a text in quotes", 'write it like "my house"')
        return token.text
    try:
        text = str(json.loads(token.text))
    except json.JSONDecodeError as error:
        token.part(min(error.pos, len(token.text) - 1)).refuse("a text in quotes", error.msg)
    if odd := _UNWRITABLE.search(text):
        token.refuse("a text without control characters", f"remove {odd[0]!r}")
    return text


def _parse_rules(reader: Reader) -> RuleSet:
    reader.line("rules")
    values: dict[str, Any] = {"name": _string(reader.take("the name of the rule set"))}
    where = {"": reader.line("fields")}
    for word in reader.take_rest("fields of the rule set"):
        name, _, value = word.text.partition("=")
        if name not in _FIELDS:
            known = f"one of the fields {', '.join(_FIELDS)}"
            word.refuse(known, f"write name=value{did_you_mean(name, _FIELDS)}")
        if name in where:
            word.refuse("each field once", "remove one of the two")
        where[name] = token = word.part(len(name) + 1)
        values[name] = value
        if name == "target":
            values[name] = read_number_or_none(token, "a number of points")
        elif isinstance(_FIELDS[name], int):
            values[name] = read_number(token, f"a number for {name}")
    where["deck"] = reader.line("cards")
    values["deck"] = tuple(card_list(read_hand(reader.take_rest("the cards of the deck"))))
    reader.line("source")
    values["source"] = _string(reader.take("where the rules come from"))
    try:
        return RuleSet(**values).require_playable()
    except RulesError as error:
        at_fault = re.match(r"RuleSet (\w+):", str(error))
        token = where.get(at_fault[1] if at_fault else "declarations", where[""])
        token.refuse("rules that can be played", str(error))


class _DealText(NamedTuple):
    """A deal as it stands in the text, with the place of everything that the rules can check."""

    record: DealRecord
    where: dict[tuple[str, int], Token]  # by part and place, like ``RecordError``
    trick_leaders: list[Token]
    totals: Token | None


def _parse_deal(reader: Reader, rules: RuleSet) -> _DealText:
    reader.line("deal")
    where = {("number", 0): reader.take_value("number"), ("leader", 0): reader.take_value("leader")}
    number = read_number_or_none(where["number", 0], "the number of the deal")
    leader = read_number(where["leader", 0], "the seat that leads")
    deck: list[int] = []
    while not deck or reader.peek() == "deck":
        reader.line("deck")
        for word in reader.take_rest("the cards of the deck"):
            where["deck", len(deck)] = word
            deck.append(read_card(word))
    where["deck", len(deck)] = reader.end
    plays, trick_leaders = _parse_tricks(reader, rules, where)
    where["thirds", 0] = reader.line(f"{len(trick_leaders) + 1}.", "result", "unfinished")
    if where["thirds", 0].text == "unfinished":
        count = reader.take("the number of cards played")
        if count.text != str(len(plays)):
            count.refuse(f"{len(plays)}, the number of cards played", CUT_OFF)
        reader.take_word("cards")
        record = DealRecord(number, tuple(deck), leader, tuple(plays))
        return _DealText(record, where, trick_leaders, None)
    where["thirds", 0] = reader.take("the thirds of both sides")
    thirds = re.fullmatch(r"([0-9]{1,2})-([0-9]{1,2})", where["thirds", 0].text)
    if not thirds:
        where["thirds", 0].refuse("the thirds of both sides", "write them like 21-14")
    reader.take_word("thirds")
    reader.line("totals")
    totals = reader.take("the totals of both sides")
    reader.take_word(_unit(rules))
    record = DealRecord(number, tuple(deck), leader, tuple(plays), (int(thirds[1]), int(thirds[2])))
    return _DealText(record, where, trick_leaders, totals)


def _parse_tricks(
    reader: Reader, rules: RuleSet, where: dict[tuple[str, int], Token]
) -> tuple[list[int], list[Token]]:
    """Read lines like ``1. 0: 3D 5D``: the trick's number, its leader and its cards."""
    plays: list[int] = []
    leaders: list[Token] = []
    while reader.peek() not in ("result", "unfinished"):
        trick = reader.line(f"{len(leaders) + 1}.", "result", "unfinished")
        if len(plays) < len(leaders) * rules.seats:
            trick.refuse(f"'unfinished' after a trick of less than {rules.seats} cards", CUT_OFF)
        leader = reader.take("the seat that leads the trick")
        leaders.append(leader)
        for word in reader.take_rest("the cards of the trick"):
            if len(plays) == len(leaders) * rules.seats:
                word.refuse(f"{rules.seats} cards in a trick", "remove the others")
            where["plays", len(plays)] = word
            plays.append(read_card(word))
    return plays, leaders


def _verify(record: GameRecord, deals: list[_DealText]) -> None:
    """Replay the record and compare what follows from the rules with what the text says."""
    try:
        replays = replay_game(record)
    except RecordError as fault:
        deals[fault.deal].where[fault.part, fault.place].refuse(fault.expected, RESTORE)
    for deal, replay in zip(deals, replays, strict=True):
        for written, leader in zip(deal.trick_leaders, replay.trick_leaders, strict=True):
            if written.text != f"{leader}:":
                written.refuse(f"'{leader}:', the seat that leads this trick", RESTORE)
        totals = "{}-{}".format(*replay.totals)
        if deal.totals and deal.totals.text != totals:
            deal.totals.refuse(f"{totals}, the totals of the match", RESTORE)


def _check_end(reader: Reader) -> None:
    """Compare the check sum, if there is one, and refuse text after it."""
    expected = _check_sum(reader.lines[: reader.row])
    if reader.words:
        check_sum = reader.take("the check sum")
        if check_sum.text != expected:
            hint = "something in the record was changed: restore it, or remove the check sum"
            check_sum.refuse(f"the check sum {expected}", hint)
    reader.finish_line()
    if reader.peek():
        reader.lines[reader.row + 1][0].refuse("the end of the record", "remove what follows")
