"""What a game record holds, and its replay through the rules; ``notation`` gives it a text form.

A record is one match, or the part of it that was played: it holds what happened, never what follows
from the rules. Replaying it gives the rest and shows whether it can have happened.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass

from tressette_env.card_notation import card_text, deck_text
from tressette_env.cards import NUM_CARDS, card_list, sort_cards
from tressette_env.errors import TressetteError
from tressette_env.match import MATCH_OPEN, add_deal, next_leader, start_match
from tressette_env.randomness import MAX_SEED
from tressette_env.rules import ILLEGAL, deal, is_over, legal_cards, play_card, table_size
from tressette_env.rulesets import RuleSet
from tressette_env.state import State, new_state

__all__ = ["DealRecord", "DealReplay", "GameRecord", "RecordError", "replay_game"]


class RecordError(TressetteError):
    """A record that the rules cannot have produced.

    Attributes
    ----------
    deal : int
        Index of the deal in the record, counted from 0.
    part : str
        "seed", "number", "leader", "deck", "plays" or "thirds".
    place : int
        Index in the deck or the plays, else 0.
    expected : str
        What the rules ask for there.
    """

    def __init__(self, where: tuple[int, str, int], expected: str, came: object) -> None:
        self.deal, self.part, self.place = where
        self.expected = expected
        super().__init__(
            f"record, deal {self.deal}, {self.part}, place {self.place}: expected {expected}, "
            f"got {came}; correct it"
        )


@dataclass(frozen=True)
class DealRecord:
    """One deal: how it began and the cards played.

    Parameters
    ----------
    number : int or None
        Which deal of the record's seed the deck is; None for a deck given by hand.
    deck : tuple of int
        Card numbers: the hands seat by seat, then the stock, top card first (R4).
    leader : int
        Seat that led the first trick.
    plays : tuple of int
        Card numbers in the order played; the seats follow from the rules.
    thirds : tuple of (int, int), or None
        Thirds taken by each side in a finished deal; None while cards are left to play.
    """

    number: int | None
    deck: tuple[int, ...]
    leader: int
    plays: tuple[int, ...] = ()
    thirds: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        # Numbers from arrays become Python integers: numpy's small ones overflow in card sets.
        if self.number is not None:
            object.__setattr__(self, "number", operator.index(self.number))
        object.__setattr__(self, "deck", tuple(map(operator.index, self.deck)))
        object.__setattr__(self, "leader", operator.index(self.leader))
        object.__setattr__(self, "plays", tuple(map(operator.index, self.plays)))
        if self.thirds is not None:
            object.__setattr__(self, "thirds", tuple(map(operator.index, self.thirds)))


@dataclass(frozen=True)
class GameRecord:
    """One match so far: every deal but the last is finished.

    Parameters
    ----------
    rules : RuleSet
    seed : int or None
        The seed that the numbered deals belong to.
    deals : tuple of DealRecord
        At least one, in the order played.
    """

    rules: RuleSet
    seed: int | None
    deals: tuple[DealRecord, ...]

    def __post_init__(self) -> None:
        if self.seed is not None:
            object.__setattr__(self, "seed", operator.index(self.seed))
        object.__setattr__(self, "deals", tuple(self.deals))


@dataclass(frozen=True)
class DealReplay:
    """What follows from a deal's record by the rules.

    Parameters
    ----------
    trick_leaders : tuple of int
        Seat that led each trick, an unfinished one included.
    totals : tuple of (int, int)
        Match total of each side after the deal, in the house's unit (R11, R12); before it if the
        deal is unfinished.
    match_over : bool
        Whether the deal has decided the match (R13).
    """

    trick_leaders: tuple[int, ...]
    totals: tuple[int, int]
    match_over: bool


def replay_game(record: GameRecord) -> tuple[DealReplay, ...]:
    """Play a record again from its first card and check everything it says.

    A deck is not compared with its seed and number: a record stands on its own.

    Parameters
    ----------
    record : GameRecord

    Returns
    -------
    tuple of DealReplay
        One for each deal.

    Raises
    ------
    RecordError
        At the first thing that the rules cannot have produced: a deck that is not the rule set's,
        a card that was not legal (R5, R6), a leader out of turn (R14), thirds that were not taken
        (R3, R10), a deal after an unfinished one or after the end of the match (R13).
    RulesError
        If the rules cannot be played yet.
    """
    record.rules.require_playable()
    if record.seed is not None and not 0 <= record.seed <= MAX_SEED:
        raise RecordError((0, "seed", 0), "a seed from 0 to 2**63 - 1, or None", record.seed)
    if not record.deals:
        raise RecordError((0, "number", 0), "at least one deal", "none")
    state = new_state()
    start_match(state)
    return tuple(_replay_deal(state, record, index) for index in range(len(record.deals)))


def _replay_deal(state: State, record: GameRecord, index: int) -> DealReplay:
    rules, played = record.rules, record.deals[index]
    _check_start(state, record, index)
    deal(state, rules, played.deck, played.leader)
    leaders = []
    for place, card in enumerate(played.plays):
        if is_over(state, rules):
            expected = f"no more than the {rules.deck_size} cards of the deal"
            raise RecordError((index, "plays", place), expected, _shown(card))
        if table_size(state, rules) == 0:
            leaders.append(state.leader)
        if play_card(state, rules, card) == ILLEGAL:
            raise RecordError((index, "plays", place), _legal(state, rules, card), _shown(card))
    over = is_over(state, rules)
    thirds = (state.thirds[0], state.thirds[1]) if over else None
    if played.thirds != thirds:
        what = "no result before the last card"
        if thirds is not None:
            what = f"the result {thirds[0]}-{thirds[1]} in thirds"
        raise RecordError((index, "thirds", 0), what, played.thirds)
    if over:
        add_deal(state, rules)
    totals = (state.totals[0], state.totals[1])
    return DealReplay(tuple(leaders), totals, state.match_result != MATCH_OPEN)


def _check_start(state: State, record: GameRecord, index: int) -> None:
    rules, begun = record.rules, record.deals[index]
    if begun.number is not None and not 0 <= begun.number <= MAX_SEED:
        expected = "a deal number from 0 to 2**63 - 1, or None"
        raise RecordError((index, "number", 0), expected, begun.number)
    if index and record.deals[index - 1].thirds is None:
        raise RecordError((index, "number", 0), "no deal after an unfinished one", "another deal")
    if state.match_result != MATCH_OPEN:
        raise RecordError((index, "number", 0), "no deal after the end of the match (R13)", "one")
    if not 0 <= begun.leader < rules.seats:
        raise RecordError((index, "leader", 0), f"a seat from 0 to {rules.seats - 1}", begun.leader)
    if index and begun.leader != next_leader(state, rules):
        expected = f"seat {next_leader(state, rules)}: the deal passes on every deal (R14)"
        raise RecordError((index, "leader", 0), expected, begun.leader)
    missing = dict.fromkeys(rules.deck)
    for place, card in enumerate(begun.deck):
        if card not in missing:
            is_twice = 0 <= card < NUM_CARDS and card in rules.deck
            expected = "each card once" if is_twice else "a card of the rule set's deck"
            raise RecordError((index, "deck", place), expected, _shown(card))
        del missing[card]
    if missing:
        expected = f"{rules.deck_size} cards in the deck, also {deck_text(missing)}"
        raise RecordError((index, "deck", len(begun.deck)), expected, "its end")


def _legal(state: State, rules: RuleSet, card: int) -> str:
    """Say what may be played instead of a card that may not."""
    legal = deck_text(sort_cards(card_list(legal_cards(state, rules))))
    is_held = 0 <= card < NUM_CARDS and state.hands[state.turn] >> card & 1
    if is_held:
        return f"a card of the suit led, which seat {state.turn} holds ({legal})"
    return f"a card that seat {state.turn} holds and may play ({legal})"


def _shown(card: int) -> str:
    return card_text(card) if 0 <= card < NUM_CARDS else f"{card}, which is no card"
