"""The network that reads the plays in order: what it reads, and that it does so everywhere."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tressette_agents.history_trunk import (
    PLAY_FEATURES,
    HistoryParts,
    history_parts,
    plays_and_wins,
)
from tressette_agents.learned import LearnedAgent
from tressette_agents.networks import ActorCritic, CriticSpec, NetworkSpec, PolicyNetwork
from tressette_agents.policy_file import load_policy, save_policy
from tressette_env import BatchTable, get_rules
from tressette_env.errors import OptionError
from tressette_env.observation import layout_for
from tressette_env.rulesets import playable_presets
from tressette_train.config import RolloutConfig, TrainConfig
from tressette_train.run_folder import RunFolder
from tressette_train.trainer import Trainer, make_network

HOUSES = playable_presets()


def spec_for(house: str, episode: str = "deal") -> NetworkSpec:
    layout = layout_for(get_rules(house), episode, "history")
    return NetworkSpec(layout.size, (24, 16), "history", history=history_parts(layout))


def network_for(house: str, episode: str = "deal") -> PolicyNetwork:
    """A policy with opinions."""
    network = PolicyNetwork(spec_for(house, episode), torch.Generator().manual_seed(3)).double()
    with torch.no_grad():
        network.head.weight.mul_(200)
    return network


def table_for(house: str, tables: int = 20) -> BatchTable:
    return BatchTable(tables, house, seed=4, observation="history")


def seen(table: BatchTable) -> torch.Tensor:
    return torch.from_numpy(table.observations).double()


# What is read


@pytest.mark.parametrize("house", HOUSES)
def test_tokens_tell_card_seat_lead_and_trick_of_every_play(house: str) -> None:
    rules = get_rules(house)
    table = table_for(house, 6)
    parts = history_parts(table.layout)
    cards: list[Any] = []
    players: list[Any] = []
    leaders: list[Any] = []  # of the tricks, the one to come included
    for ply in range(rules.deck_size):
        seats = table.seats
        if ply % rules.seats == 0:
            leaders.append(seats)
        plays, was_played = plays_and_wins(seen(table), parts)
        assert was_played[:, :ply].all() and not was_played[:, ply:].any()
        assert not plays[:, ply:].any()
        for number in range(ply):
            trick = number // rules.seats
            taker = leaders[trick + 1] if trick + 1 < len(leaders) else -1
            card, player, led, took = torch.split(plays[:, number], [40, 4, 1, 1], 1)
            assert torch.equal(card.argmax(1), cards[number]) and (card.sum(1) == 1).all()
            relative = (players[number] - seats) % rules.seats
            assert player.argmax(1).tolist() == relative.tolist() and (player.sum(1) == 1).all()
            assert (led == float(number % rules.seats == 0)).all()
            assert took[:, 0].tolist() == (players[number] == taker).astype(float).tolist()
        chosen = np.array([np.flatnonzero(row)[ply % row.sum()] for row in table.legal_masks])
        cards.append(torch.from_numpy(chosen))
        players.append(seats)
        table.play(chosen)


def test_the_order_of_the_plays_matters() -> None:
    """The same cards from the same seats in another order: other logits; an mlp would see none."""
    table = table_for("playmore")
    table.play_randomly(14)
    network, rows = network_for("playmore"), seen(table)
    start = history_parts(table.layout).plays
    other = rows.clone()
    for first, size in ((start, 40), (start + 1600, 4)):
        for one, two in ((0, 4), (1, 5)):  # whole tricks change places
            one_place, two_place = first + one * size, first + two * size
            other[:, one_place : one_place + size] = rows[:, two_place : two_place + size]
            other[:, two_place : two_place + size] = rows[:, one_place : one_place + size]
    difference = (network(rows) - network(other)).abs().amax(1)
    assert (difference > 1e-3).all()


def test_places_without_a_play_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Alone, beside decisions that come later in a deal, and untrimmed as it is exported."""
    early, late = table_for("playmore"), table_for("playmore")
    early.play_randomly(3)
    late.play_randomly(30)
    network = network_for("playmore")
    alone = network(seen(early))
    beside = network(torch.cat((seen(early), seen(late))))
    torch.testing.assert_close(beside[:20], alone, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(network(seen(early)[:1]), alone[:1], rtol=1e-12, atol=1e-12)
    assert network(seen(early)[:0]).shape == (0, 40)
    monkeypatch.setattr(torch.onnx, "is_in_onnx_export", lambda: True)
    torch.testing.assert_close(network(seen(early)), alone, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("episode", ["deal", "match"])
def test_every_feature_counts(episode: str) -> None:
    house = "gamelake_partners"
    network = network_for(house, episode)
    table = BatchTable(1, house, seed=1, observation="history", episode=episode)
    table.play_randomly(39)
    row = seen(table)
    rows = row.repeat(1 + row.shape[1], 1)
    rows[1:] = (rows[1:] - torch.eye(row.shape[1])).abs()
    with torch.no_grad():
        logits = network(rows)
    changed = (logits[1:] - logits[0]).abs().amax(1) > 1e-12
    parts = history_parts(table.layout)
    changed[parts.plays + 39 * 40 : parts.plays + 1600] = True  # nobody has made the last play
    assert changed.all()


# Everywhere alike


@pytest.mark.parametrize("house", HOUSES)
def test_the_agent_plays_from_a_view_what_the_batch_says(tmp_path: Path, house: str) -> None:
    rules = get_rules(house)
    network = network_for(house)
    layout = layout_for(rules, "deal", "history")
    save_policy(tmp_path / "policy.safetensors", network.float(), rules, layout, {})
    loaded = load_policy(tmp_path)
    assert loaded.network.spec == network.spec and loaded.layout is layout
    agent = LearnedAgent(loaded, "learned")
    network = network.double()
    table = table_for(house)
    nothing = np.zeros(20, np.int64)
    for ply in range(rules.deck_size):
        logits = network(seen(table)).detach().numpy()
        best = np.where(table.legal_masks, logits, -np.inf).argmax(1)
        np.testing.assert_array_equal(agent.act_batch(table.views(), rules, nothing), best)
        one = ply % 20
        assert agent.act(table.view(one), 0) == best[one]
        table.play(best)


@pytest.mark.parametrize("sees", ["", "hands"])
@pytest.mark.parametrize("house", ["playmore", "cuperativa", "gamelake_partners", "mini_2x5"])
def test_it_trains_and_its_policy_plays(tmp_path: Path, house: str, sees: str) -> None:
    critic: dict[str, object] = {"hidden": [8], "sees": sees} if sees else {}
    config = TrainConfig.model_validate(
        {
            "rules": house,
            "decisions": 400,
            "torch_threads": 1,
            "precision": "bfloat16" if sees and house == "mini_2x5" else "float32",
            "rollout": RolloutConfig(tables=8),
            "network": {"kind": "history", "hidden": [8], "predicts_hands": bool(sees)},
            "critic": critic,
            "ppo": {"magnet": 0.1},
            "opponents": {"agents": {"greedy": 1.0}, "snapshot_every": 1},
        }
    )
    trainer = Trainer(config, RunFolder.create(tmp_path / "run", config))
    first = {name: value.clone() for name, value in trainer.network.state_dict().items()}
    trainer.train()
    for name, value in trainer.network.state_dict().items():
        assert not torch.equal(value, first[name]) or "key.bias" in name, name
    again = Trainer(config, RunFolder.open(tmp_path / "run"))
    again.resume()
    for name, value in trainer.network.state_dict().items():
        assert torch.equal(value, again.network.state_dict()[name])
    policy = load_policy(tmp_path / "run")
    assert policy.layout.kind == "history"
    table = table_for(house)
    agent = LearnedAgent(policy, "learned")
    for _ in range(table.rules.deck_size):
        table.play(agent.act_batch(table.views(), table.rules, np.zeros(20, np.int64)))


def test_a_critic_of_its_own_does_not_read_the_plays() -> None:
    """It is given the other hands; what was played is in its features without the order."""
    spec = spec_for("playmore")
    network = ActorCritic(spec, CriticSpec((8,), 40), torch.Generator().manual_seed(0)).double()
    table = table_for("playmore")
    table.play_randomly(12)
    rows, hidden = seen(table), torch.ones(20, 40).double()
    other = rows.clone()
    assert spec.history is not None
    other[:, spec.history.plays : spec.history.plays + PLAY_FEATURES] = 0
    (logits, values), (others, same) = network(rows, hidden), network(other, hidden)
    assert torch.equal(values, same) and not torch.allclose(logits, others)
    assert not torch.allclose(network(rows, 1 - hidden)[1], values)


# Specs


def test_a_spec_reads_back_and_older_files_lack_the_field() -> None:
    spec = spec_for("gamelake_partners")
    assert NetworkSpec.from_json(spec.to_json()) == spec
    old = {"inputs": 400, "hidden": [8], "kind": "mlp"}
    assert NetworkSpec.from_json(old) == NetworkSpec(400, (8,))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"history": None}, "expected parts for history, and only there"),
        ({"kind": "mlp"}, "expected parts for history, and only there"),
        ({"history": [2, 384]}, "expected a list of seats, leader and plays"),
        ({"history": 7}, "expected a list of seats, leader and plays"),
        ({"history": [3, 384, 400]}, "expected 2 or 4 seats, got 3"),
        ({"history": [2, 384, 401]}, "plays, up to 2160; got starts 384 and 401"),
        ({"history": [2, 398, 400]}, "got starts 398 and 400"),
        ({"history": [2, -1, 400]}, "got starts -1 and 400"),
        ({"history": [2, 384.0, 400]}, "expected integers"),
        ({"history": [2, True, 400]}, "expected integers"),
        ({"hidden": []}, "history needs a layer"),
    ],
)
def test_a_damaged_spec_is_refused(changes: dict[str, object], message: str) -> None:
    good = spec_for("playmore").to_json()
    assert good["history"] == [2, 384, 400]
    with pytest.raises(ValueError, match=message):
        NetworkSpec.from_json({**good, **changes})


def test_observations_without_the_plays_are_refused() -> None:
    with pytest.raises(OptionError, match="observation block"):
        history_parts(layout_for(get_rules("playmore")))
    parts = HistoryParts(2, 384, 400)
    with pytest.raises(ValueError, match="up to 400"):
        replace(spec_for("playmore"), inputs=400, history=parts)


def test_the_seed_decides_the_first_weights() -> None:
    values = {"decisions": 100, "network": {"kind": "history", "hidden": [8]}}
    one, same, other = (
        make_network(TrainConfig.model_validate({**values, "seed": seed})).state_dict()
        for seed in (1, 1, 2)
    )
    assert all(torch.equal(value, same[name]) for name, value in one.items())
    assert not torch.equal(one["policy.trunk.play.weight"], other["policy.trunk.play.weight"])
