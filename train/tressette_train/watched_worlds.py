"""Watch ``pimc`` think: one decision of a deal, and what each world more makes of its cards.

Shapes: W solved worlds, S seats, C cards.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tressette_agents.pimc import PimcAgent
from tressette_env.batch import BatchTable
from tressette_env.card_notation import card_text
from tressette_env.cards import NUM_CARDS, card_list
from tressette_env.errors import OptionError
from tressette_env.policies import SeatPolicy, as_agent
from tressette_env.rulesets import RuleSet, get_rules
from tressette_env.view import View
from tressette_env.worlds import WorldSampler
from tressette_train.evaluate import check_rules
from tressette_train.intervals import Interval, mean_interval
from tressette_train.played_deals import play_deals

__all__ = ["MAX_WORLDS", "WatchedWorlds", "view_in_deal", "watch_worlds"]

MAX_WORLDS = 100_000
_SHARES = 2000  # worlds that say who holds which card: they cost next to nothing


@dataclass(frozen=True)
class WatchedWorlds:
    """What the worlds of one view say.

    Attributes
    ----------
    view : View
    seed : int
    means : float64[W, C]
        Mean margin of the seat's side at the end of the deal, in thirds, for each card that it may
        play now, after 1, 2, ... W solved worlds; NaN for other cards.
    held : float64[S, C]
        Share of worlds in which each relative seat holds each card.
    """

    view: View
    seed: int
    means: npt.NDArray[np.float64]
    held: npt.NDArray[np.float64]

    def margins(self) -> dict[int, Interval]:
        """Mean margin of each legal card with its 95 % interval over worlds, the best first."""
        counts = np.arange(1, len(self.means) + 1)[:, None]
        single = np.diff(self.means * counts, axis=0, prepend=0.0)
        found = {card: mean_interval(single[:, card]) for card in self.view.legal_cards}
        return dict(sorted(found.items(), key=lambda item: -item[1].mean))

    def to_json(self) -> dict[str, Any]:
        """Return plain numbers and text."""
        return {
            "rules": self.view.rules.name,
            "seat": self.view.seat,
            "ply": self.view.ply,
            "seed": self.seed,
            "worlds": len(self.means),
            "cards": [
                {"card": card_text(card), "margin_thirds": one.mean, "ci95": one.ends}
                for card, one in self.margins().items()
            ],
            "unseen": [
                {
                    "card": card_text(card),
                    "held": self.held[1 : self.view.rules.seats, card].tolist(),
                }
                for card in card_list(self.view.unseen)
            ],
        }


def view_in_deal(
    rules: str | RuleSet, seed: int, deal: int, ply: int, player: str | SeatPolicy = "greedy"
) -> View:
    """Return the view of the seat to act in a deal that an agent has played so far.

    Parameters
    ----------
    rules : str or RuleSet
    seed, deal : int
        Which deal, as ``tressette eval`` numbers them.
    ply : int
        Cards played before.
    player : str or SeatPolicy
        Plays all seats.

    Raises
    ------
    TressetteError
        If an argument is out of range, or the agent does not exist or does not play the rules.
    """
    house, agent = get_rules(rules), as_agent(player)
    check_rules(agent, house)
    if not 0 <= ply < house.deck_size:
        raise OptionError(f"ply: expected cards played, 0 to {house.deck_size - 1}, got {ply}")
    table = BatchTable(1, house, seed, first_deal=deal)
    game = play_deals((agent, agent), house, seed, deal, 1)
    for card in game.cards[0, :ply]:
        table.play(np.array([card]))
    return table.view(0)


def watch_worlds(view: View, worlds: int = 32, seed: int = 0) -> WatchedWorlds:
    """Solve worlds of a view one after another, as ``pimc`` does.

    Parameters
    ----------
    view : View
        Of a seat to act, while cards are hidden.
    worlds : int
        At least 2.
    seed : int
        The decision's random number.

    Raises
    ------
    OptionError
        If an argument is out of range, or nothing is hidden.
    """
    if not 2 <= worlds <= MAX_WORLDS:
        raise OptionError(f"worlds: expected an integer from 2 to {MAX_WORLDS:,}, got {worlds}")
    if view.rules.seats == 2 and not view.stock_left:
        raise OptionError(
            "view: expected one with hidden cards; with two seats and the stock empty all are "
            "known, and 'tressette solve' gives each card's exact worth"
        )
    agent = PimcAgent(worlds, threads=1)
    agent.check_rules(view.rules)
    states = WorldSampler(view).sample(_SHARES, seed)
    seats = (view.seat + np.arange(view.rules.seats)) % view.rules.seats
    hands = states["hands"][:, seats]
    held = np.stack([(hands >> card & 1).mean(0) for card in range(NUM_CARDS)], 1)
    means = np.stack([*itertools.islice(agent.mean_margins(view, seed), worlds)])
    return WatchedWorlds(view, seed, means, held)
