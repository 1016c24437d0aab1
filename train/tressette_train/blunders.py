"""Thirds that an agent gives away once the stock is empty, against exact play.

The last tricks of two seats are a game of perfect information (``tressette_agents.solver``). A
decision's loss is the value of the best card less that of the card played, both with exact play
from there on. The losses of an ending add up: what a seat takes is what exact play promises it,
less its own losses and plus those of the other seat.

Shapes: D deals, H cards of a full hand, K tricks with an empty stock.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tressette_agents.solver import EndingSolver
from tressette_env.card_notation import card_text, hand_text
from tressette_env.errors import RulesError
from tressette_env.policies import BatchPolicy, SeatPolicy
from tressette_env.rulesets import RuleSet, get_rules, playable_presets
from tressette_train.intervals import Interval, mean_interval
from tressette_train.played_deals import PlayedDeals, Watched

__all__ = ["Blunder", "Blunders", "check_endings", "find_blunders", "losses_of"]

IntArray = npt.NDArray[np.int64]

_SHOWN = 5  # of the worst decisions


@dataclass(frozen=True)
class Blunder:
    """One decision that gave thirds away.

    Attributes
    ----------
    deal, seat : int
    cards_left : int
        In the hand, the card played included.
    card, best : int
        The card played, and the best one.
    loss_thirds : int
    position : str
        The command that shows what every card was worth.
    """

    deal: int
    seat: int
    cards_left: int
    card: int
    best: int
    loss_thirds: int
    position: str

    def to_json(self) -> dict[str, Any]:
        """Return the decision as plain numbers and text."""
        return {
            "deal": self.deal,
            "seat": self.seat,
            "cards_left": self.cards_left,
            "card": card_text(self.card),
            "best": card_text(self.best),
            "loss_thirds": self.loss_thirds,
            "position": self.position,
        }


@dataclass(frozen=True)
class Blunders:
    """What an agent gave away in its endings.

    Attributes
    ----------
    agent, opponent : str
        Specs; the same one where the agent played itself.
    rules : str
    deals, seed : int
    losses : int64[D, 2, K]
        Thirds lost in every decision, by deal, seat of the agent and cards left in its hand:
        place k holds the decision with k + 1 cards.
    worst : tuple of Blunder
        The dearest decisions, the worst first; of equals the earliest.
    """

    agent: str
    opponent: str
    rules: str
    deals: int
    seed: int
    losses: IntArray
    worst: tuple[Blunder, ...]

    @property
    def per_ending(self) -> Interval:
        """Thirds given away an ending: mean over deals, each in both seatings."""
        return mean_interval(self.losses.sum(2).mean(1))

    @property
    def perfect_endings(self) -> float:
        """Share of endings in which nothing was given away."""
        return float((self.losses.sum(2) == 0).mean())

    def per_decision(self, cards_left: int) -> Interval:
        """Thirds given away in the decision with so many cards in hand."""
        return mean_interval(self.losses[:, :, cards_left - 1].mean(1))

    def blunder_rate(self, cards_left: int) -> float:
        """Share of these decisions that gave anything away."""
        return float((self.losses[:, :, cards_left - 1] > 0).mean())

    def to_json(self) -> dict[str, Any]:
        """Return plain numbers and text."""
        return {
            "agent": self.agent,
            "opponent": self.opponent,
            "rules": self.rules,
            "deals": self.deals,
            "seed": self.seed,
            "loss_thirds": self.per_ending.mean,
            "ci95": self.per_ending.ends,
            "perfect_endings": self.perfect_endings,
            "by_cards_left": [
                {
                    "cards_left": left,
                    "loss_thirds": self.per_decision(left).mean,
                    "ci95": self.per_decision(left).ends,
                    "blunder_rate": self.blunder_rate(left),
                }
                for left in range(self.losses.shape[2], 0, -1)
            ],
            "worst": [blunder.to_json() for blunder in self.worst],
        }


def check_endings(rules: RuleSet) -> None:
    """Raise ``RulesError`` unless two seats play for most thirds."""
    if rules.seats != 2 or rules.fewest_wins:
        reason = "less wins" if rules.seats == 2 else f"{rules.seats} seats"
        known = [name for name in playable_presets() if get_rules(name).seats == 2]
        raise RulesError(
            f"endings of {rules.name!r} are not solved: expected two seats and most thirds "
            f"winning, got {reason}; take another house (--rules {', '.join(known)})"
        )


def find_blunders(
    agent: str | SeatPolicy | BatchPolicy,
    opponent: str | SeatPolicy | BatchPolicy | None = None,
    rules: str | RuleSet = "playmore",
    deals: int = 500,
    seed: int = 0,
    on_progress: Callable[[int], None] = lambda cards: None,
) -> Blunders:
    """Play deals 0 to ``deals - 1`` of a seed and hold the agent's endings against exact play.

    Parameters
    ----------
    agent : str, SeatPolicy or BatchPolicy
    opponent : str, SeatPolicy or BatchPolicy, optional
        Plays the other seat, each deal in both seatings; by default the agent itself, whose two
        seats then play each deal once.
    rules : str or RuleSet
    deals : int
        At least 2.
    seed : int
    on_progress : callable
        Called with the number of cards played since the last call.

    Raises
    ------
    TressetteError
        If an argument is out of range, an agent does not exist, does not play the rules, cheats or
        fails, or the endings of these rules are not solved.
    """
    check_endings(get_rules(rules))
    watched = Watched(agent, opponent, rules, deals, seed)
    solver = EndingSolver()
    losses, found = [], []
    for games in watched.games(on_progress):
        parts = [losses_of(game, seat, solver) for seat, game in enumerate(games)]
        losses.append(np.stack(parts, 1))
        found += _worst(games, parts, solver)
    found.sort(key=lambda one: (-one.loss_thirds, one.deal, one.seat, -one.cards_left))
    return Blunders(
        agent=watched.agent.spec,
        opponent=watched.opponent.spec,
        rules=watched.rules.name,
        deals=deals,
        seed=seed,
        losses=np.concatenate(losses),
        worst=tuple(found[:_SHOWN]),
    )


def losses_of(game: PlayedDeals, seat: int, solver: EndingSolver) -> IntArray:
    """Thirds that a seat lost in every decision with an empty stock, int64[D, K] as in Blunders."""
    tricks = _tricks(game.rules)
    losses = np.zeros((len(game.cards), tricks), np.int64)
    for ply in range(game.rules.stock_size, game.rules.deck_size):
        rows = np.flatnonzero(game.seats[:, ply] == seat)
        if not len(rows):
            continue
        own, other, led = _position(game, rows, ply)
        values = solver.card_values(own, other, led)
        played = values[np.arange(len(rows)), game.cards[rows, ply]]
        losses[rows, np.bitwise_count(own) - 1] = values.max(1) - played
    return losses


def _tricks(rules: RuleSet) -> int:
    return (rules.deck_size - rules.stock_size) // 2


def _position(
    game: PlayedDeals, rows: npt.NDArray[np.intp], ply: int
) -> tuple[IntArray, IntArray, IntArray]:
    """Hands of the seat to act and of the other, and the card led (-1: none), at a ply."""
    left = np.int64(1) << game.cards[rows, ply:]
    is_own = game.seats[rows, ply:] == game.seats[rows, ply, None]
    led = game.cards[rows, ply - 1] if ply % 2 else np.full(len(rows), -1)
    return (left * is_own).sum(1), (left * ~is_own).sum(1), led


def _worst(
    games: Sequence[PlayedDeals], losses: list[IntArray], solver: EndingSolver
) -> list[Blunder]:
    """Return the dearest decisions of some games, with the agent in seat 0, 1 of game 0, 1."""
    found = []
    for seat, (game, lost) in enumerate(zip(games, losses, strict=True)):
        for place in np.argsort(-lost, axis=None, kind="stable")[:_SHOWN]:
            row, left = divmod(int(place), lost.shape[1])
            if lost[row, left]:
                found.append(_blunder(game, row, seat, left + 1, int(lost[row, left]), solver))
    return found


def _blunder(
    game: PlayedDeals, row: int, seat: int, cards_left: int, loss: int, solver: EndingSolver
) -> Blunder:
    own_plies = np.flatnonzero(game.seats[row] == seat)
    ply = int(own_plies[len(own_plies) - cards_left])
    own, other, led = _position(game, np.array([row]), ply)
    hands = f"{hand_text(int(own[0]))} / {hand_text(int(other[0]))}"
    return Blunder(
        deal=int(game.numbers[row]),
        seat=seat,
        cards_left=cards_left,
        card=int(game.cards[row, ply]),
        best=int(solver.best_cards(own, other, led)[0]),
        loss_thirds=loss,
        position=f'tressette solve "{hands}"'
        + (f" --led {card_text(int(led[0]))}" if led[0] >= 0 else ""),
    )
