"""Networks that choose cards: the policy, and the critic that training adds to it.

A policy needs only what one seat may know. The critic judges positions in training and is not
part of a policy file; it may be given the cards that the seat cannot see. Nor is a head that
predicts those cards (``hand_head``). Shapes: B decisions, F features of an observation, H features
of hidden cards, A actions, O seats other than the one to act.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any

import torch
from torch import Tensor, nn

from tressette_agents.hand_head import HandHead, HandSpec
from tressette_agents.history_trunk import (
    PLAY_FEATURES,
    HistoryParts,
    HistoryTrunk,
    WithoutPlays,
)
from tressette_agents.suit_trunk import SuitPart, SuitTrunk, hidden_parts
from tressette_env.cards import CARDS_PER_SUIT, NUM_CARDS, NUM_SUITS

__all__ = [
    "KINDS",
    "ActorCritic",
    "CriticSpec",
    "NetworkSpec",
    "PolicyNetwork",
    "mask_logits",
]

KINDS = ("mlp", "suit_shared", "history")
MAX_WIDTH = 8192
MAX_DEPTH = 16
MAX_INPUTS = 1 << 16
_ILLEGAL = -1e9  # logit of an illegal card: its probability is exactly 0, and 0 times it is not NaN


@dataclass(frozen=True)
class NetworkSpec:
    """Shape of a policy network.

    Attributes
    ----------
    inputs : int
        Features of an observation (F).
    hidden : tuple of int
        Widths of the hidden layers.
    kind : {"mlp", "suit_shared", "history"}
        Fully connected layers with ReLU, such that treat the suits alike (``suit_trunk``), or such
        that a reader of the plays in their order goes before (``history_trunk``).
    suits : tuple of (int, int)
        For suit_shared: the features that describe suits, see ``suit_trunk.SuitPart``.
    history : HistoryParts, optional
        For history: the features that tell the plays.
    """

    inputs: int
    hidden: tuple[int, ...]
    kind: str = "mlp"
    suits: tuple[SuitPart, ...] = ()
    history: HistoryParts | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"network kind: expected {', '.join(KINDS)}, got {self.kind!r}")
        if (self.kind == "suit_shared") != bool(self.suits):
            raise ValueError("network suits: expected parts for suit_shared, and only there")
        if (self.kind == "history") != (self.history is not None):
            raise ValueError("network history: expected parts for history, and only there")
        _check_sizes("network inputs", (self.inputs,), MAX_INPUTS)
        _check_sizes("network hidden", self.hidden, MAX_WIDTH)
        if len(self.hidden) > MAX_DEPTH:
            raise ValueError(f"network hidden: expected at most {MAX_DEPTH} layers")
        if self.kind != "mlp" and not self.hidden:
            raise ValueError(f"network hidden: {self.kind} needs a layer")
        end = 0
        for start, width in sorted(self.suits):
            _check_sizes("network suits", (width,), NUM_CARDS)
            if not isinstance(start, int) or start < end:
                raise ValueError(f"network suits: a part starts at {start!r}, before {end}")
            end = start + NUM_SUITS * width
        if end > self.inputs:
            raise ValueError(f"network suits: a part ends at {end}, past {self.inputs} inputs")
        if self.history is not None:
            self.history.check(self.inputs)

    def to_json(self) -> dict[str, Any]:
        """Return the fields as JSON values."""
        values = {**asdict(self), "hidden": list(self.hidden)}
        values["suits"] = [list(part) for part in self.suits]
        values["history"] = None if self.history is None else list(self.history)
        return values

    @classmethod
    def from_json(cls, values: Any) -> NetworkSpec:
        """Read what ``to_json`` gave.

        Raises
        ------
        ValueError
            If a field is missing, unknown, or out of range.
        """
        known = {field.name for field in fields(cls)}
        if isinstance(values, dict):
            values = {"suits": [], "history": None, **values}  # older files lack them
        if not isinstance(values, dict) or set(values) != known:
            raise ValueError(f"network: expected the fields {', '.join(sorted(known))}")
        if not isinstance(values["hidden"], list):
            raise ValueError("network hidden: expected a list of widths")
        parts = values["suits"]
        if not isinstance(parts, list) or not all(
            isinstance(part, list) and len(part) == 2 for part in parts
        ):
            raise ValueError("network suits: expected a list of pairs")
        suits = tuple((start, width) for start, width in parts)
        history = values["history"]
        if history is not None:
            if not isinstance(history, list) or len(history) != len(HistoryParts._fields):
                raise ValueError("network history: expected a list of seats, leader and plays")
            history = HistoryParts(*history)
        read = {"hidden": tuple(values["hidden"]), "suits": suits, "history": history}
        return cls(**{**values, **read})


@dataclass(frozen=True)
class CriticSpec:
    """Shape of the critic.

    Attributes
    ----------
    hidden : tuple of int
        Widths of its own hidden layers; empty: one linear layer on the policy's last hidden layer.
        Its own layers do not read the plays in their order.
    hidden_inputs : int
        Features of hidden cards that it sees beside the observation (H).
    """

    hidden: tuple[int, ...] = ()
    hidden_inputs: int = 0


def _check_sizes(name: str, sizes: tuple[int, ...], largest: int) -> None:
    for size in sizes:
        if not isinstance(size, int) or isinstance(size, bool) or not 1 <= size <= largest:
            raise ValueError(f"{name}: expected integers from 1 to {largest}, got {size!r}")


def _linear(inputs: int, outputs: int, gain: float, generator: torch.Generator | None) -> nn.Linear:
    """Return a linear layer: orthogonal weights, zero biases; without a generator not filled."""
    layer: nn.Linear = nn.utils.skip_init(  # type: ignore[no-untyped-call]
        nn.Linear, inputs, outputs
    )
    if generator is not None:
        # The factorization behind it rounds differently with another number of threads.
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            nn.init.orthogonal_(layer.weight, gain, generator)
        finally:
            torch.set_num_threads(threads)
        nn.init.zeros_(layer.bias)
    return layer


def _trunk(
    spec: NetworkSpec,
    inputs: int,
    suits: tuple[SuitPart, ...],
    hidden: tuple[int, ...],
    generator: torch.Generator | None,
    *,
    reads_plays: bool = True,
) -> nn.Module:
    """Return the hidden layers of a network of the spec's kind."""

    def make_linear(inputs: int, outputs: int) -> nn.Linear:
        return _linear(inputs, outputs, 2**0.5, generator)

    if spec.kind == "suit_shared":
        return SuitTrunk(inputs, suits, hidden, make_linear)
    layers: list[nn.Module] = []
    if spec.history is not None:
        if reads_plays:
            return HistoryTrunk(inputs, spec.history, hidden, make_linear)
        layers.append(WithoutPlays(spec.history))
        inputs -= PLAY_FEATURES
    for width in hidden:
        layers += [make_linear(inputs, width), nn.ReLU()]
        inputs = width
    return nn.Sequential(*layers)


class PolicyNetwork(nn.Module):
    """Observation to one logit a card.

    Parameters
    ----------
    spec : NetworkSpec
    generator : torch.Generator, optional
        Draws the first weights; without one they are left unset, to be loaded.
    """

    def __init__(self, spec: NetworkSpec, generator: torch.Generator | None = None) -> None:
        super().__init__()
        self.spec = spec
        self.trunk = _trunk(spec, spec.inputs, spec.suits, spec.hidden, generator)
        outputs = CARDS_PER_SUIT if spec.kind == "suit_shared" else NUM_CARDS
        self.head = _linear(_last(spec), outputs, 0.01, generator)

    def forward(self, observations: Tensor) -> Tensor:
        """Return logits float[B, A] for observations float[B, F]; illegal cards are not masked."""
        return self.logits(self.trunk(observations))

    def logits(self, features: Tensor) -> Tensor:
        """Return logits float[B, A] for what the trunk gave."""
        logits: Tensor = self.head(features)
        return logits.flatten(1)  # with shared layers each suit has its own ten


class ActorCritic(nn.Module):
    """The policy and the critic, if any, that is trained with it.

    Attributes
    ----------
    policy : PolicyNetwork
    in_bfloat16 : bool
        Whether the hidden layers of both multiply in bfloat16, where the processor is quick at it;
        weights, logits and values stay float32.
    hand_head : HandHead, optional
        None unless given what it is to predict.
    """

    def __init__(
        self,
        spec: NetworkSpec,
        critic: CriticSpec | None,
        generator: torch.Generator | None = None,
        *,
        in_bfloat16: bool = False,
        hands: HandSpec | None = None,
    ) -> None:
        super().__init__()
        self.in_bfloat16 = in_bfloat16
        self.policy = PolicyNetwork(spec, generator)
        self.critic_spec = critic
        self.critic_trunk: nn.Module | None = None
        self.critic_head: nn.Linear | None = None
        if critic is not None:
            width = _last(spec)
            if critic.hidden:
                inputs = spec.inputs + critic.hidden_inputs
                suits = spec.suits + hidden_parts(spec.inputs, critic.hidden_inputs)
                self.critic_trunk = _trunk(
                    spec, inputs, suits, critic.hidden, generator, reads_plays=False
                )
                width = critic.hidden[-1]
            self.critic_head = _linear(width, 1, 1.0, generator)
        self.hand_head: HandHead | None = None
        if hands is not None:
            groups = NUM_SUITS if spec.kind == "suit_shared" else 1
            self.hand_head = HandHead(
                hands, _last(spec), groups, lambda i, o: _linear(i, o, 0.01, generator)
            )

    def forward(
        self, observations: Tensor, hidden_cards: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Judge and choose: logits and values of ``judge``."""
        return self.judge(observations, hidden_cards)[:2]

    def judge(
        self, observations: Tensor, hidden_cards: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        """Choose, judge and predict.

        Parameters
        ----------
        observations : float[B, F]
        hidden_cards : float[B, H], optional
            For a critic that sees them; of more it reads the first that it was made for.

        Returns
        -------
        logits : float[B, A]
        values : float[B]
            Reward still to come for the side to act; without a critic 0.
        hands : float[B, O, A], optional
            The hand head's logits, if there is one.
        """
        with torch.autocast(observations.device.type, torch.bfloat16, enabled=self.in_bfloat16):
            features = of_critic = self.policy.trunk(observations)
            if self.critic_trunk is not None:
                if hidden_cards is not None:
                    assert self.critic_spec is not None
                    seen = hidden_cards[:, : self.critic_spec.hidden_inputs]
                    observations = torch.cat((observations, seen), 1)
                of_critic = self.critic_trunk(observations)
        features, of_critic = (part.to(self.policy.head.weight) for part in (features, of_critic))
        hands = None if self.hand_head is None else self.hand_head(features)
        logits = self.policy.logits(features)
        if self.critic_head is None:
            return logits, logits.new_zeros(len(logits)), hands
        if of_critic.dim() == 3:
            of_critic = of_critic.mean(1)  # over the suits
        return logits, self.critic_head(of_critic).squeeze(1), hands


def _last(spec: NetworkSpec) -> int:
    return spec.hidden[-1] if spec.hidden else spec.inputs


def mask_logits(logits: Tensor, legal_masks: Tensor) -> Tensor:
    """Return logits float[B, A] in which a softmax gives an illegal card exactly 0."""
    return logits.masked_fill(~legal_masks, _ILLEGAL)
