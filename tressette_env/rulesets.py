"""The rule set and its presets: every difference between houses is a field, never a name.

Rules are cited as R1 to R19; ``docs/rules.md`` explains each.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from tressette_env.cards import (
    NUM_CARDS,
    card_list,
    card_set,
    set_worth,
)
from tressette_env.errors import DeckError, RulesError, did_you_mean, shown

__all__ = [
    "LAST_TRICK_THIRDS",
    "PRESETS",
    "RULES_DTYPE",
    "RuleSet",
    "get_rules",
    "playable_presets",
]

LAST_TRICK_THIRDS = 3  # R10
MAX_STOCK = 20  # the room for a stock in one state

RULES_DTYPE = np.dtype(
    [
        ("deck_set", np.int64),  # card set of the deck
        ("seats", np.int64),
        ("hand_size", np.int64),  # cards dealt to each seat
        ("stock_size", np.int64),  # cards left for drawing after the deal
        ("deck_size", np.int64),
        ("follow_always", np.int64),  # 1: suit must be followed while the stock lasts, too (R6)
        ("draws_shown", np.int64),  # 1: both see a drawn card (R9)
        ("scored_in_points", np.int64),  # 1: fractions dropped by side (R12); 0: thirds (R11)
        ("target_total", np.int64),  # a match ends at this total (R13); 0: after one deal
        ("wins_match_with_all", np.int64),  # 1: all points of a deal win the match (R18)
        ("fewest_wins", np.int64),  # 1: the side with less wins (R19)
        ("total_thirds", np.int64),  # worth of the deck and the last trick
    ]
)


@dataclass(frozen=True)
class RuleSet:
    """One way to play Tressette.

    Parameters
    ----------
    name : str
        Shown in results and records.
    seats : {2, 4}
        Two opponents with a stock, or two sides of two (seats 0+2 against 1+3) without (R4).
    follow : {"always", "stock_empty"}
        Whether suit must be followed while the stock lasts (R6).
    draws : {"hidden", "shown"}
        Who sees a drawn card (R9).
    scoring : {"points", "thirds"}
        Whole points by side (R12), or thirds (R11).
    target : int or None
        Total that ends a match (R13), in the unit of the scoring; None: a match is one deal.
    declarations : {"none", "opening", "any_turn"}
        When combinations may be declared (R15-R17). Only "none" can be played yet.
    cappotto : {"none", "all_points"}
        Whether taking every point of a deal wins the match (R18).
    objective : {"most", "fewest"}
        Who wins: the side with more, or with less (R19).
    deck : tuple of int
        The cards in play, ascending; the full forty unless a smaller deck is studied.
    hand_size : int
        Cards dealt to each seat; what is left of the deck is the stock.
    source : str
        The published rules, and what had to be decided where they are silent.

    Raises
    ------
    RulesError
        If a field is out of range or two contradict each other.
    """

    name: str = "custom"
    seats: Literal[2, 4] = 2
    follow: Literal["always", "stock_empty"] = "always"
    draws: Literal["hidden", "shown"] = "hidden"
    scoring: Literal["points", "thirds"] = "points"
    target: int | None = 21
    declarations: Literal["none", "opening", "any_turn"] = "none"
    cappotto: Literal["none", "all_points"] = "none"
    objective: Literal["most", "fewest"] = "most"
    deck: tuple[int, ...] = tuple(range(NUM_CARDS))
    hand_size: int = 10
    source: str = ""

    def __post_init__(self) -> None:
        _check_choices(self)
        _check_sizes(self)

    @cached_property
    def deck_size(self) -> int:
        """Cards in the deck."""
        return len(self.deck)

    @cached_property
    def stock_size(self) -> int:
        """Cards left for drawing after the deal."""
        return len(self.deck) - self.seats * self.hand_size

    @property
    def sides(self) -> int:
        """Sides that score: always two (R4)."""
        return 2

    @cached_property
    def total_thirds(self) -> int:
        """Thirds given out in every deal, the last trick included: 35 with the full deck (R10)."""
        return set_worth(self.deck_set) + LAST_TRICK_THIRDS

    @property
    def num_actions(self) -> int:
        """Size of the action space: one action for each card number of the full deck."""
        return NUM_CARDS

    # The fields of RULES_DTYPE, so that the interpreted rules read a RuleSet as the compiled ones
    # read a record.

    @cached_property
    def deck_set(self) -> int:
        """Card set of the deck."""
        return card_set(self.deck)

    @cached_property
    def follow_always(self) -> bool:
        """Whether suit must be followed in every trick (R6)."""
        return self.follow == "always" or self.stock_size == 0

    @cached_property
    def draws_shown(self) -> bool:
        """Whether every seat sees a drawn card (R9)."""
        return self.draws == "shown"

    @cached_property
    def scored_in_points(self) -> bool:
        """Whether fractions are dropped by side (R12)."""
        return self.scoring == "points"

    @cached_property
    def target_total(self) -> int:
        """Total, in the unit of the scoring, that ends a match (R13); 0: a match is one deal."""
        return self.target or 0

    @cached_property
    def wins_match_with_all(self) -> bool:
        """Whether taking every point of a deal wins the match (R18)."""
        return self.cappotto == "all_points"

    @cached_property
    def fewest_wins(self) -> bool:
        """Whether the side with less wins (R19)."""
        return self.objective == "fewest"

    @cached_property
    def row(self) -> npt.NDArray[np.void]:
        """The rules as the compiled functions take them: one row of ``RULES_DTYPE``, read-only."""
        row = np.zeros(1, RULES_DTYPE)
        for name in RULES_DTYPE.names or ():
            row[name] = getattr(self, name)
        row.flags.writeable = False
        return row

    def __getstate__(self) -> dict[str, Any]:
        # A copied array would be writable, and so of another type to the compiled functions.
        return {name: value for name, value in self.__dict__.items() if name != "row"}

    def replace(self, **changes: Any) -> RuleSet:
        """Return a copy with the given fields changed, named "custom" unless ``name`` is given."""
        return dataclasses.replace(self, **{"name": "custom", **changes})

    def require_playable(self) -> RuleSet:
        """Return self, or raise ``RulesError`` if these rules cannot be played yet."""
        if self.declarations != "none":
            raise RulesError(
                f"rule set {self.name!r} has declarations ({self.declarations!r}), which cannot be "
                f"played yet; playable presets: {', '.join(playable_presets())}"
            )
        return self


_CHOICES: dict[str, tuple[object, ...]] = {
    "seats": (2, 4),
    "follow": ("always", "stock_empty"),
    "draws": ("hidden", "shown"),
    "scoring": ("points", "thirds"),
    "declarations": ("none", "opening", "any_turn"),
    "cappotto": ("none", "all_points"),
    "objective": ("most", "fewest"),
}


def _check_choices(rules: RuleSet) -> None:
    for field, allowed in _CHOICES.items():
        value = getattr(rules, field)
        if value not in allowed or type(value) is not type(allowed[0]):
            expected = ", ".join(repr(choice) for choice in allowed)
            raise RulesError(f"RuleSet {field}: expected one of {expected}; got {value!r}")
    if rules.cappotto != "none" and (rules.scoring, rules.objective) != ("points", "most"):
        raise RulesError(
            f"RuleSet cappotto: {rules.cappotto!r} is about all points of a deal (R18); expected "
            f"scoring='points' and objective='most' with it, got {rules.scoring!r} and "
            f"{rules.objective!r}"
        )
    target = rules.target
    if target is not None and (type(target) is not int or target < 1):
        raise RulesError(f"RuleSet target: expected points from 1 up, or None; got {target!r}")


def _check_sizes(rules: RuleSet) -> None:
    if type(rules.deck) is not tuple or any(type(card) is not int for card in rules.deck):
        raise RulesError(f"RuleSet deck: expected a tuple of integers, got {shown(rules.deck)}")
    try:
        deck_set = card_set(rules.deck)
    except DeckError as error:
        raise RulesError(f"RuleSet deck: {error}") from None
    if tuple(card_list(deck_set)) != rules.deck:
        raise RulesError("RuleSet deck: expected card numbers in ascending order")
    if type(rules.hand_size) is not int or not 1 <= rules.hand_size <= 10:
        raise RulesError(f"RuleSet hand_size: expected 1 to 10 cards, got {rules.hand_size!r}")
    stock = len(rules.deck) - rules.seats * rules.hand_size
    if stock < 0 or stock > MAX_STOCK or stock % rules.seats:
        raise RulesError(
            f"RuleSet deck: {len(rules.deck)} cards for {rules.seats} hands of {rules.hand_size} "
            f"leave a stock of {stock}; expected 0 to {MAX_STOCK}, a multiple of {rules.seats}"
        )
    if rules.seats == 4 and stock:
        raise RulesError(f"RuleSet: four seats play without a stock (R4), got a stock of {stock}")
    if rules.scoring == "points" and (set_worth(deck_set) + LAST_TRICK_THIRDS) % 3 != 2:
        raise RulesError(
            "RuleSet scoring: 'points' needs a deck whose points add up to the same number in "
            "every deal (35 thirds do); use scoring='thirds' with this deck"
        )


def _mini(name: str, ranks: tuple[int, ...], hand_size: int, follow: Any) -> RuleSet:
    deck = tuple(10 * suit + rank for suit in (0, 1) for rank in ranks)
    source = "a reduced deck for research, small enough to be solved"
    return RuleSet(
        name=name,
        follow=follow,
        draws="shown",
        scoring="thirds",
        target=None,
        deck=deck,
        hand_size=hand_size,
        source=source,
    )


_SILENT = "; hidden draws: decided here, the source does not say"
_MINI_2X4 = (3, 6, 7, 9)  # 7 K A 3
_MINI_2X5 = (2, 3, 6, 7, 9)  # 6 7 K A 3

PRESETS: dict[str, RuleSet] = {
    rules.name: rules
    for rules in (
        RuleSet("playmore", source='Playmore, "How to Play Tressette" (due a meta\' mazzo)'),
        RuleSet("yeeqia", scoring="thirds", target=None, source="yeeqia" + _SILENT),
        RuleSet("gamelake", follow="stock_empty", source='gamelake, "Tressette-Regeln"' + _SILENT),
        RuleSet(
            "gamelake_short",
            follow="stock_empty",
            target=11,
            source="gamelake, short game" + _SILENT,
        ),
        RuleSet("gamelake_partners", seats=4, source="gamelake, four players"),
        RuleSet(
            "gamelake_partners_short",
            seats=4,
            target=11,
            source="gamelake, four players, short game",
        ),
        RuleSet("cuperativa", draws="shown", source="Cuperativa manual"),
        RuleSet(
            "spizzichino",
            draws="shown",
            declarations="any_turn",
            source='German Wikipedia, "Spizzichino"',
        ),
        RuleSet(
            "fitres",
            seats=4,
            declarations="opening",
            cappotto="all_points",
            source="FITRES federation code",
        ),
        _mini("mini_2x4", _MINI_2X4, 2, "always"),
        _mini("mini_2x4_stock_empty", _MINI_2X4, 2, "stock_empty"),
        _mini("mini_2x5", _MINI_2X5, 3, "always"),
        _mini("mini_2x5_stock_empty", _MINI_2X5, 3, "stock_empty"),
    )
}


def playable_presets() -> tuple[str, ...]:
    """Names of the presets that can be played now, in the order of the table."""
    return tuple(name for name, rules in PRESETS.items() if rules.declarations == "none")


def get_rules(rules: str | RuleSet) -> RuleSet:
    """Return the rule set of a preset name, or the given rule set itself; both must be playable.

    Raises
    ------
    RulesError
        If the name is unknown, or the rules cannot be played yet.
    """
    if isinstance(rules, RuleSet):
        return rules.require_playable()
    if not isinstance(rules, str):
        raise RulesError(f"rules: expected a preset name or a RuleSet, got {type(rules).__name__}")
    if rules not in PRESETS:
        raise RulesError(
            f"unknown rule set {rules!r}{did_you_mean(rules, PRESETS)} "
            f"(expected one of: {', '.join(playable_presets())})"
        )
    return PRESETS[rules].require_playable()
