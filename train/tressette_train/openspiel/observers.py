"""What a seat knows of a deal, as text and as a tensor: now, or with all it has seen before.

The observation is the kit's own (``tressette_env.observation``). The information state adds what
that forgets: the order of play, the hand dealt, and which card came with which draw. Together they
are all a seat has ever been shown, so that it can tell every decision of its own apart.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tressette_env.card_notation import card_text
from tressette_env.cards import NUM_CARDS
from tressette_env.observation import Layout, encode, explain, layout_for
from tressette_env.rulesets import RuleSet
from tressette_env.view import view_of
from tressette_train.openspiel.deal import Deal

__all__ = ["DealObserver"]

_TEXTS = tuple(map(card_text, range(NUM_CARDS)))  # algorithms ask for millions of texts


class DealObserver:
    """Observes deals of a rule set; OpenSpiel's ``PyObserver`` in all but the state's type.

    Until all hands are dealt, a seat knows nothing but that it is this seat.

    Parameters
    ----------
    rules : RuleSet
    perfect_recall : bool
        The information state instead of the observation.

    Attributes
    ----------
    tensor : float32[N]
        What ``observe`` has seen last.
    parts : dict
        Its parts by name, over the same memory: ``player`` (float32[S]), the seat, and
        ``observation`` (float32[F]); with perfect recall also ``dealt`` (float32[40]), the hand
        dealt, and where there is a stock ``draws`` (float32[D, 40]), the drawn card of every draw
        that the seat has seen.
    """

    def __init__(self, rules: RuleSet, perfect_recall: bool) -> None:
        self.rules = rules
        self.perfect_recall = perfect_recall
        self.layout: Layout = layout_for(rules, kind="history" if perfect_recall else "flat")
        shapes: dict[str, tuple[int, ...]] = {
            "player": (rules.seats,),
            "observation": (self.layout.size,),
        }
        if perfect_recall:
            shapes["dealt"] = (NUM_CARDS,)
            if rules.stock_size:
                shapes["draws"] = (rules.stock_size, NUM_CARDS)
        sizes = [int(np.prod(shape)) for shape in shapes.values()]
        self.tensor = np.zeros(sum(sizes), np.float32)
        pieces = np.split(self.tensor, np.cumsum(sizes)[:-1])
        self.parts: dict[str, npt.NDArray[np.float32]] = {
            name: piece.reshape(shape)
            for (name, shape), piece in zip(shapes.items(), pieces, strict=True)
        }

    def observe(self, deal: Deal, seat: int) -> None:
        """Write what a seat knows into the tensor."""
        self.tensor[:] = 0
        self.parts["player"][seat] = 1
        if not deal.has_hands:
            return
        self.parts["observation"][:] = self._features(deal, seat)
        if self.perfect_recall:
            self.parts["dealt"][_hand(deal, seat)] = 1
            for place, card in enumerate(_seen_draws(deal, seat)):
                if card is not None:
                    self.parts["draws"][place, card] = 1

    def text(self, deal: Deal, seat: int) -> str:
        """Say what a seat knows on one line; two texts are equal where the knowledge is."""
        if not deal.has_hands:
            return f"seat {seat}"
        if not self.perfect_recall:
            blocks = explain(self._features(deal, seat), self.layout)
            return "; ".join([f"seat {seat}", *(f"{name} {what}" for name, what in blocks.items())])
        drawn = (
            f"{drawer}:{'--' if card is None else _TEXTS[card]}"
            for drawer, card in zip(deal.drawers, _seen_draws(deal, seat), strict=True)
        )
        return (
            f"seat {seat}; leader {deal.leader}; dealt {_cards(_hand(deal, seat))}; "
            f"played {_cards(deal.state.plays[: deal.state.ply])}; drawn {' '.join(drawn)}"
        )

    def _features(self, deal: Deal, seat: int) -> npt.NDArray[np.int8]:
        words = np.zeros(self.layout.size // 8, np.int64)
        view = view_of(deal.state, self.rules, seat)
        encode(view, self.rules, self.layout.places, words)
        return words.view(np.int8)


def _hand(deal: Deal, seat: int) -> list[int]:
    """Return the hand dealt to a seat."""
    size = deal.rules.hand_size
    return list(deal.cards[size * seat : size * seat + size])


def _seen_draws(deal: Deal, seat: int) -> list[int | None]:
    """Return the cards drawn so far, None for those hidden from the seat (R9)."""
    return [
        card if drawer == seat or deal.rules.draws_shown else None
        for drawer, card in zip(deal.drawers, deal.state.stock, strict=False)
    ]


def _cards(cards: Sequence[int]) -> str:
    return " ".join(_TEXTS[card] for card in cards)
