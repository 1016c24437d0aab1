"""Layers that treat the suits alike: renaming suits renames what they say, and nothing else."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest
import torch

from tressette_agents.networks import ActorCritic, CriticSpec, NetworkSpec, PolicyNetwork
from tressette_agents.suit_trunk import suit_parts
from tressette_env import BatchTable, get_rules
from tressette_env.observation import layout_for

HOUSES = ["playmore", "gamelake", "gamelake_partners"]


def network_for(house: str, hidden_sets: int = 0, sees: str = "flat") -> ActorCritic:
    layout = layout_for(get_rules(house), kind=sees)
    spec = NetworkSpec(layout.size, (16, 12), "suit_shared", suit_parts(layout))
    critic = CriticSpec((16, 8), 40 * hidden_sets) if hidden_sets else CriticSpec()
    network = ActorCritic(spec, critic, torch.Generator().manual_seed(0))
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            if name.endswith("bias"):
                parameter.normal_(generator=torch.Generator().manual_seed(1))
    return network.double()


def renamed_card(card: int, names: tuple[int, ...]) -> int:
    return 10 * names[card // 10] + card % 10


@pytest.mark.parametrize("sees", ["flat", "leads"])
@pytest.mark.parametrize("house", HOUSES)
@pytest.mark.parametrize("names", [(1, 0, 2, 3), (3, 0, 1, 2), (2, 3, 0, 1)])
def test_renaming_the_suits_of_a_deal_renames_the_logits(
    house: str, names: tuple[int, ...], sees: str
) -> None:
    rules = get_rules(house)
    rng = random.Random(1)
    decks = [rng.sample(range(40), 40) for _ in range(20)]
    other = [[renamed_card(card, names) for card in deck] for deck in decks]
    tables = [
        BatchTable(20, rules, deals=[(deck, 0) for deck in cards], observation=sees)
        for cards in (decks, other)
    ]
    network = network_for(house, 1, sees)
    for _ply in range(38):
        both = [torch.from_numpy(table.observations).double() for table in tables]
        hidden = torch.from_numpy(
            np.stack([np.random.default_rng(2).integers(0, 2, (20, 40))] * 2)
        ).double()
        for card in range(40):
            hidden[1, :, renamed_card(card, names)] = hidden[0, :, card]
        (logits, values), (renamed, others_values) = (
            network(rows, seen) for rows, seen in zip(both, hidden, strict=True)
        )
        back = [renamed_card(card, names) for card in range(40)]
        torch.testing.assert_close(renamed[:, back], logits)
        torch.testing.assert_close(others_values, values)
        cards = np.array([int(rng.choice(np.flatnonzero(row))) for row in tables[0].legal_masks])
        tables[0].play(cards)
        tables[1].play(np.array([renamed_card(int(card), names) for card in cards]))


def test_every_feature_counts() -> None:
    """None is left out: a change of any one changes the logits or the value."""
    house = "gamelake_partners"
    layout = layout_for(get_rules(house))
    policy = network_for(house).policy
    rows = torch.zeros(1 + layout.size, layout.size, dtype=torch.float64)
    rows[1:] = torch.eye(layout.size)
    with torch.no_grad():
        logits = policy(rows)
    used = sorted(
        {place for block in layout.blocks for place in range(block.start, block.start + block.size)}
    )
    changed = (logits[1:] - logits[0]).abs().sum(1) > 1e-9
    assert changed[used].all()


def test_suits_are_told_apart_by_their_features_alone() -> None:
    layout = layout_for(get_rules("playmore"))
    policy = network_for("playmore").policy
    with torch.no_grad():
        logits = policy(torch.zeros(1, layout.size, dtype=torch.float64)).view(4, 10)
        hand = torch.zeros(1, layout.size, dtype=torch.float64)
        hand[0, layout["hand"].start + 10] = 1  # a card of the second suit
        held = policy(hand).view(4, 10)
    assert all(torch.equal(one, two) for one, two in itertools.pairwise(logits))
    assert not torch.allclose(held[1], held[0])
    torch.testing.assert_close(held[0], held[3])


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"suits": ()}, "expected parts for suit_shared"),
        ({"kind": "mlp"}, "expected parts for suit_shared, and only there"),
        ({"hidden": ()}, "needs a layer"),
        ({"suits": ((0, 10), (30, 10))}, "starts at 30, before 40"),
        ({"suits": ((70, 10),)}, "ends at 110, past 100"),
        ({"suits": ((-4, 1),)}, "starts at -4"),
        ({"suits": ((0, 0),)}, "expected integers from 1"),
        ({"kind": "deep"}, "expected mlp, suit_shared, history"),
    ],
)
def test_a_spec_that_is_damaged_is_refused(fields: dict[str, object], message: str) -> None:
    good = {"inputs": 100, "hidden": (8,), "kind": "suit_shared", "suits": ((0, 10), (40, 1))}
    PolicyNetwork(NetworkSpec(**good))  # type: ignore[arg-type]
    assert NetworkSpec.from_json(NetworkSpec(**good).to_json()) == NetworkSpec(**good)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=message):
        NetworkSpec(**{**good, **fields})  # type: ignore[arg-type]
