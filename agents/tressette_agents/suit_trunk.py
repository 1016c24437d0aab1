"""Layers that treat the four suits alike.

The rules do not know one suit from another, so what a network learns about one should hold for all.
Every suit is described by the same features, whatever belongs to no suit is given to each; all
suits go through the same layers, and each layer also sees the mean over the suits (M. Zaheer and
others, "Deep Sets", arXiv 1703.06114, equation 4). Renaming suits in an observation renames them in
what comes out. Shapes: B decisions, F features, W width of a layer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from tressette_env.cards import CARDS_PER_SUIT, NUM_SUITS
from tressette_env.observation import Layout

__all__ = ["SuitPart", "SuitTrunk", "hidden_parts", "suit_parts"]

#: Features that describe suits: where they start, and how many of them belong to each suit.
SuitPart = tuple[int, int]

_BY_CARD = ("hand", "table", "unseen", "played", "known", "led")  # blocks of 40 features a seat
_BY_SUIT = ("led_suit", "voids")  # blocks of 4 features a seat


def suit_parts(layout: Layout) -> tuple[SuitPart, ...]:
    """Return the parts of an observation that describe suits."""
    parts: list[SuitPart] = []
    for names, width in ((_BY_CARD, CARDS_PER_SUIT), (_BY_SUIT, 1)):
        for block in (one for one in layout.blocks if one.name in names):
            stop = block.start + block.size
            parts += [(start, width) for start in range(block.start, stop, NUM_SUITS * width)]
    return tuple(parts)


def hidden_parts(inputs: int, hidden_inputs: int) -> tuple[SuitPart, ...]:
    """Return the parts of a critic's hidden card sets, which follow ``inputs`` features."""
    step = NUM_SUITS * CARDS_PER_SUIT
    return tuple((start, CARDS_PER_SUIT) for start in range(inputs, inputs + hidden_inputs, step))


class SuitTrunk(nn.Module):
    """Observations to features of each suit, with the same layers for all suits.

    Parameters
    ----------
    inputs : int
        Features of an observation (F).
    parts : sequence of SuitPart
        Those that describe suits; the others belong to none.
    hidden : sequence of int
        Widths of the layers, at least one.
    make_linear : callable
        Makes a linear layer from the numbers of its inputs and outputs.
    """

    def __init__(
        self,
        inputs: int,
        parts: Sequence[SuitPart],
        hidden: Sequence[int],
        make_linear: Callable[[int, int], nn.Linear],
    ) -> None:
        super().__init__()
        columns = [
            [start + suit * width + place for start, width in parts for place in range(width)]
            for suit in range(NUM_SUITS)
        ]
        of_suits = [column for suit in columns for column in suit]
        taken = set(of_suits)
        others = [column for column in range(inputs) if column not in taken]
        self._suit_size = len(columns[0])
        # Not persistent: they follow from the spec. On the processor even if weights are not yet.
        for name, values in (("_suit_columns", of_suits), ("_other_columns", others)):
            column = torch.tensor(values, dtype=torch.int64, device="cpu")
            self.register_buffer(name, column, persistent=False)
        sizes = [self._suit_size + len(others), *(2 * width for width in hidden)]
        self.layers = nn.ModuleList(
            make_linear(size, width) for size, width in zip(sizes, hidden, strict=False)
        )

    def forward(self, observations: Tensor) -> Tensor:
        """Return float[B, 4, W] for observations float[B, F]."""
        suits = observations.index_select(1, self.get_buffer("_suit_columns"))
        features = suits.view(-1, NUM_SUITS, self._suit_size)
        common = observations.index_select(1, self.get_buffer("_other_columns"))
        for layer in self.layers:
            assert isinstance(layer, nn.Linear)
            sizes = [features.shape[2], common.shape[1]]
            own, shared = torch.split(layer.weight, sizes, 1)
            of_all = linear(common, shared, layer.bias)
            features = (linear(features, own) + of_all[:, None]).relu()
            common = features.mean(1)
        return features
