"""Layers that read the plays of a deal in their order.

What a seat plays, and when, tells of its hand: who follows low keeps its high cards, who leads a
suit has others of it. A small transformer (A. Vaswani and others, "Attention is all you need",
arXiv 1706.03762, with the norms first: R. Xiong and others, arXiv 2002.04745) reads the blocks
``history`` and ``history_seats`` of an observation, one token a play; what its first token has
gathered joins the other features in fully connected layers. Shapes: B decisions, F features of an
observation, P plays, W width of a token.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import linear, pad, scaled_dot_product_attention

from tressette_env.cards import NUM_CARDS
from tressette_env.observation import Layout

__all__ = [
    "PLAY_FEATURES",
    "HistoryParts",
    "HistoryTrunk",
    "WithoutPlays",
    "history_parts",
    "plays_and_wins",
]

_SEATS = 4  # features that say who made a play, with two seats too
PLAY_FEATURES = NUM_CARDS * (NUM_CARDS + _SEATS)  # features that tell the plays
_OF_PLAY = NUM_CARDS + _SEATS + 2  # of a token: the card, who played it, whether it led, and took
_WIDTH = 64
_HEADS = 4
_BLOCKS = 2

_MakeLinear = Callable[[int, int], nn.Linear]


class HistoryParts(NamedTuple):
    """Where an observation tells the plays.

    Attributes
    ----------
    seats : int
        Plays in a trick.
    leader : int
        Where the features start that say who led, or leads, the current trick.
    plays : int
        Where those of the cards played start; those of their seats follow.
    """

    seats: int
    leader: int
    plays: int

    def check(self, inputs: int) -> None:
        """Raise ``ValueError`` unless the parts lie in so many inputs, apart from each other."""
        if not all(isinstance(part, int) and not isinstance(part, bool) for part in self):
            raise ValueError(f"network history: expected integers, got {tuple(self)}")
        if self.seats not in (2, 4):
            raise ValueError(f"network history: expected 2 or 4 seats, got {self.seats}")
        if not 0 <= self.leader <= self.plays - _SEATS or self.plays + PLAY_FEATURES > inputs:
            raise ValueError(
                f"network history: expected a leader from 0, then {PLAY_FEATURES} features of "
                f"plays, up to {inputs}; got starts {self.leader} and {self.plays}"
            )


def history_parts(layout: Layout) -> HistoryParts:
    """Return the parts of an observation that holds the history.

    Raises
    ------
    OptionError
        If it holds none.
    """
    return HistoryParts(layout.seats, layout["leader"].start, layout["history"].start)


class WithoutPlays(nn.Module):
    """Drops the features that tell the plays."""

    def __init__(self, parts: HistoryParts) -> None:
        super().__init__()
        self._start, self._stop = parts.plays, parts.plays + PLAY_FEATURES

    def forward(self, observations: Tensor) -> Tensor:
        """Return float[B, F - 1760] for float[B, F]."""
        return torch.cat((observations[:, : self._start], observations[:, self._stop :]), 1)


def plays_and_wins(observations: Tensor, parts: HistoryParts) -> tuple[Tensor, Tensor]:
    """Return the plays as features of tokens.

    Parameters
    ----------
    observations : float[B, F]
    parts : HistoryParts

    Returns
    -------
    plays : float[B, 40, 46]
        For each play its card, its relative seat, whether it led, and whether it took the trick.
    was_played : bool[B, 40]
        The plays that were made; the others are all 0.
    """
    seats, start, middle = parts.seats, parts.plays, parts.plays + NUM_CARDS**2
    cards = observations[:, start:middle].reshape(-1, NUM_CARDS, NUM_CARDS)
    players = observations[:, middle : start + PLAY_FEATURES].reshape(-1, NUM_CARDS, _SEATS)
    played = players.sum(2, keepdim=True)
    led = pad(played.reshape(-1, NUM_CARDS // seats, seats)[:, :, :1], (0, seats - 1))
    # Who takes a trick leads the next one: the player of its first card or, before it, the leader.
    leader = observations[:, None, parts.leader : parts.leader + _SEATS]
    is_newest = played[:, seats - 1 :: seats] - pad(played[:, seats::seats], (0, 0, 0, 1))
    takers = pad(players[:, seats::seats], (0, 0, 0, 1)) + is_newest * leader
    by_trick = players.reshape(-1, NUM_CARDS // seats, seats, _SEATS)
    took = (by_trick * takers[:, :, None]).sum(3)
    both = [flags.reshape(-1, NUM_CARDS, 1) for flags in (led, took)]
    return torch.cat((cards, players, *both), 2), played[:, :, 0] > 0


class _Block(nn.Module):
    """Attention of some tokens to all, then two layers for each of them."""

    def __init__(self, make_linear: _MakeLinear) -> None:
        super().__init__()
        self.norm_all = nn.LayerNorm(_WIDTH)
        self.query = make_linear(_WIDTH, _WIDTH)
        self.key = make_linear(_WIDTH, _WIDTH)
        self.value = make_linear(_WIDTH, _WIDTH)
        self.gathered = make_linear(_WIDTH, _WIDTH)
        self.norm_own = nn.LayerNorm(_WIDTH)
        self.wide = make_linear(_WIDTH, 2 * _WIDTH)
        self.narrow = make_linear(2 * _WIDTH, _WIDTH)

    def forward(self, tokens: Tensor, is_token: Tensor, asking: int) -> Tensor:
        """Return float[B, asking, W]: the first tokens of float[B, P, W], further on."""
        everyone = self.norm_all(tokens)
        query, key, value = (
            layer(part).view(-1, part.shape[1], _HEADS, _WIDTH // _HEADS).transpose(1, 2)
            for layer, part in (
                (self.query, everyone[:, :asking]),
                (self.key, everyone),
                (self.value, everyone),
            )
        )
        found = scaled_dot_product_attention(query, key, value, is_token[:, None, None])
        own = tokens[:, :asking] + self.gathered(found.transpose(1, 2).flatten(2))
        further: Tensor = own + self.narrow(self.wide(self.norm_own(own)).relu())
        return further


class HistoryTrunk(nn.Module):
    """Observations to features, the plays read in their order.

    Parameters
    ----------
    inputs : int
        Features of an observation (F).
    parts : HistoryParts
    hidden : sequence of int
        Widths of the layers after the transformer, at least one.
    make_linear : callable
        Makes a linear layer from the numbers of its inputs and outputs.
    """

    def __init__(
        self, inputs: int, parts: HistoryParts, hidden: Sequence[int], make_linear: _MakeLinear
    ) -> None:
        super().__init__()
        self._parts = parts
        self._others = WithoutPlays(parts)
        self.play = make_linear(_OF_PLAY + NUM_CARDS, _WIDTH)  # what it is, and its place
        self.first = make_linear(inputs - PLAY_FEATURES, _WIDTH)
        self.blocks = nn.ModuleList(_Block(make_linear) for _ in range(_BLOCKS))
        self.norm = nn.LayerNorm(_WIDTH)
        sizes = [inputs - PLAY_FEATURES + _WIDTH, *hidden]
        self.layers = nn.ModuleList(
            make_linear(size, width) for size, width in zip(sizes, hidden, strict=False)
        )

    def forward(self, observations: Tensor) -> Tensor:
        """Return float[B, W] of the last layer for observations float[B, F]."""
        others = self._others(observations)
        plays, was_played = plays_and_wins(observations, self._parts)
        if not torch.onnx.is_in_onnx_export():
            # Places without a play tell nothing, but cost; a file must hold for any number.
            count = int(was_played.sum(1).max()) if len(was_played) else 0
            plays, was_played = plays[:, :count], was_played[:, :count]
        own, places = torch.split(self.play.weight, [_OF_PLAY, NUM_CARDS], 1)
        tokens = linear(plays, own, self.play.bias) + places.T[: plays.shape[1]]
        tokens = torch.cat((self.first(others)[:, None], tokens), 1)
        is_token = pad(was_played, (1, 0), value=True)
        for number, block in enumerate(self.blocks, 1):
            # Only the first token is asked in the end.
            tokens = block(tokens, is_token, tokens.shape[1] if number < _BLOCKS else 1)
        features = torch.cat((others, self.norm(tokens[:, 0])), 1)
        for layer in self.layers:
            features = layer(features).relu()
        return features
