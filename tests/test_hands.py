"""Predicting the others' hands: what is asked, how it is measured, and that nothing leaks."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors import safe_open

from tressette_agents.networks import ActorCritic
from tressette_env import BatchTable, get_rules
from tressette_env.cards import card_list
from tressette_train.config import RolloutConfig, TrainConfig
from tressette_train.hands import BINS, hand_metrics, hand_terms
from tressette_train.metrics import read_metrics
from tressette_train.opponents import SELF, Group
from tressette_train.parallel import ShardWorkers
from tressette_train.ppo import Ppo
from tressette_train.rollout import Experience, ShardRollout, mask_tensor
from tressette_train.run_folder import RunFolder
from tressette_train.trainer import Trainer, make_network

TABLES = 16
HOUSES = ["playmore", "cuperativa", "gamelake_partners", "mini_2x5"]
KINDS = ["mlp", "suit_shared"]


def config_for(rules: str, kind: str = "mlp", **changes: object) -> TrainConfig:
    values: dict[str, object] = {
        "rules": rules,
        "decisions": 1000,
        "shards": 1,
        "rollout": RolloutConfig(tables=TABLES),
        "network": {"kind": kind, "hidden": [16], "predicts_hands": True},
    }
    return TrainConfig.model_validate(values | changes)


def collected(config: TrainConfig) -> tuple[ShardRollout, ActorCritic, Experience]:
    network = make_network(config)
    rollout = ShardRollout(config, get_rules(config.rules), 0)
    return rollout, network, rollout.collect(network, [Group(SELF, slice(0, TABLES))], 0)


# What is asked


@pytest.mark.parametrize("house", HOUSES)
@pytest.mark.parametrize("critic", [{}, {"hidden": [8], "sees": "hands_and_stock"}])
def test_the_rollout_keeps_the_hands_and_asks_for_hidden_cards(
    house: str, critic: dict[str, object]
) -> None:
    rollout, network, experience = collected(config_for(house, critic=critic))
    rules, others = rollout.rules, rollout.rules.seats - 1
    head = network.hand_head
    assert head is not None and head.spec.others == others
    table = BatchTable(TABLES, rules, rollout.deal_seed)
    unseen = head.unseen(experience.observations).numpy().reshape(-1, TABLES, 40)
    for ply in range(rules.deck_size):
        views, seats = table.views(), table.seats
        for after in range(others):
            hands = table.views((seats + after + 1) % rules.seats)["hand"]
            np.testing.assert_array_equal(rollout.hidden_sets[ply, :, after], hands)
        for row, cards in zip(unseen[ply], views["unseen"], strict=True):
            assert np.flatnonzero(row).tolist() == card_list(int(cards))
        table.play(rollout.cards[ply])


@pytest.mark.parametrize("house", HOUSES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_prediction_for_every_other_seat_and_card(house: str, kind: str) -> None:
    _, network, experience = collected(config_for(house, kind))
    logits, values, hands = network.judge(experience.observations.float())
    assert hands is not None
    assert hands.shape == (len(logits), get_rules(house).seats - 1, 40)
    for one, other in zip(network(experience.observations.float()), (logits, values), strict=True):
        assert torch.equal(one, other)


@pytest.mark.parametrize("names", [(1, 0, 2, 3), (2, 3, 1, 0)])
def test_renaming_the_suits_renames_the_prediction(names: tuple[int, ...]) -> None:
    house = "gamelake_partners"
    network = make_network(config_for(house, "suit_shared")).double()
    rng = np.random.default_rng(0)
    back = [10 * names[card // 10] + card % 10 for card in range(40)]
    decks = [rng.permutation(40).tolist() for _ in range(TABLES)]
    tables = [
        BatchTable(TABLES, house, deals=[(deck, 0) for deck in cards])
        for cards in (decks, [[back[card] for card in deck] for deck in decks])
    ]
    for _ply in range(30):
        plain, renamed = (
            network.judge(torch.from_numpy(table.observations).double())[2] for table in tables
        )
        assert plain is not None and renamed is not None
        torch.testing.assert_close(renamed[:, :, back], plain)
        cards = [int(rng.choice(np.flatnonzero(row))) for row in tables[0].legal_masks]
        tables[0].play(np.array(cards))
        tables[1].play(np.array([back[card] for card in cards]))
        assert plain.std() > 0


# How it is measured


def test_loss_and_calibration_of_a_case_by_hand() -> None:
    """Two decisions, one other seat; four cards are hidden in the first, two in the second."""
    probabilities = torch.full((2, 1, 40), 0.999)  # of cards that are not hidden: must not count
    probabilities[0, 0, :4] = torch.tensor([0.82, 0.88, 0.12, 0.55])
    probabilities[1, 0, :2] = torch.tensor([0.15, 1.0 - 1e-6])
    hands = torch.zeros(2, 1, 40, dtype=torch.bool)
    hands[0, 0, [0, 3, 20]] = True  # card 20 is known: not asked
    hands[1, 0, 1] = True
    unseen = torch.zeros(2, 40, dtype=torch.bool)
    unseen[0, :4] = unseen[1, :2] = True
    loss, stats = hand_terms(probabilities.logit(), hands, unseen)
    likelihoods = [0.82, 1 - 0.88, 1 - 0.12, 0.55, 1 - 0.15, 1.0 - 1e-6]
    expected = -sum(map(math.log, likelihoods)) / 6
    assert float(loss) == pytest.approx(expected, rel=1e-5)
    metrics = hand_metrics(stats)
    assert metrics["hands/loss"] == pytest.approx(expected, rel=1e-5)
    # Half of the hidden cards are held in both decisions.
    assert metrics["hands/base_loss"] == pytest.approx(math.log(2), rel=1e-6)
    # Bins: 0.82 and 0.88 (one of two held), 0.12 and 0.15 (none of two), 0.55 (one), 1.0 (one).
    error = (2 * abs(0.85 - 0.5) + 2 * abs(0.135 - 0) + abs(0.55 - 1) + abs(1 - 1)) / 6
    assert metrics["hands/calibration_error"] == pytest.approx(error, abs=1e-5)
    assert len(stats) == 2 + BINS and hand_metrics(stats[:0]) == {}


def test_the_base_loss_counts_each_hand_of_each_decision() -> None:
    hands = torch.zeros(2, 2, 40, dtype=torch.bool)
    hands[0, 0, 0] = hands[0, 1, 1:4] = hands[1, 0, 0] = True
    unseen = torch.zeros(2, 40, dtype=torch.bool)
    unseen[0, :4] = unseen[1, 0] = True  # the second decision knows where its one card is
    _, stats = hand_terms(torch.zeros(2, 2, 40), hands, unseen)
    quarter = -(0.25 * math.log(0.25) + 0.75 * math.log(0.75))
    assert float(stats[0]) == pytest.approx(math.log(2))
    assert float(stats[1]) == pytest.approx(8 * quarter / 10)


def test_nothing_hidden_is_no_loss() -> None:
    nothing = torch.zeros(3, 40, dtype=torch.bool)
    predictions = torch.full((3, 1, 40), 5.0, requires_grad=True)
    loss, stats = hand_terms(predictions, torch.ones(3, 1, 40, dtype=torch.bool), nothing)
    (gradient,) = torch.autograd.grad(loss, predictions)
    assert not stats.any() and not gradient.any()


def test_cards_in_sight_have_no_gradient() -> None:
    generator = torch.Generator().manual_seed(0)
    hands = torch.rand(6, 3, 40, generator=generator) < 0.3
    unseen = torch.rand(6, 40, generator=generator) < 0.5
    predictions = torch.randn(6, 3, 40, generator=generator).requires_grad_()
    loss, stats = hand_terms(predictions, hands, unseen)
    (gradient,) = torch.autograd.grad(loss, predictions)
    assert torch.equal(gradient != 0, unseen[:, None].expand_as(gradient))
    _, same = hand_terms(predictions, hands & unseen[:, None], unseen)
    assert torch.equal(stats, same)


# What the policy sees


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("critic", [{}, {"hidden": [8], "sees": "hands"}])
def test_the_hidden_cards_change_no_logit_and_no_prediction(
    kind: str, critic: dict[str, object]
) -> None:
    """The hands are in the loss alone: of what is played, nothing moves with them."""
    _, network, experience = collected(config_for("gamelake_partners", kind, critic=critic))
    observations = experience.observations.float().requires_grad_()
    hidden = mask_tensor(experience.hidden_sets).flatten(1).float().requires_grad_()
    order = torch.randperm(hidden.shape[1], generator=torch.Generator().manual_seed(0))
    one, other = network.judge(observations, hidden), network.judge(observations, hidden[:, order])
    assert torch.equal(one[0], other[0])
    assert one[2] is not None and other[2] is not None and torch.equal(one[2], other[2])
    assert torch.equal(one[1], other[1]) == (not critic)
    gradients = torch.autograd.grad(
        one[0].sum() + one[2].sum(), (observations, hidden), allow_unused=True
    )
    assert gradients[0] is not None and gradients[1] is None


@pytest.mark.parametrize("weight", [0.0, 0.5])
def test_gradients_of_a_plain_reading_of_the_loss(weight: float) -> None:
    """What the head adds is the weighted mean over hidden cards; weight 0 adds nothing."""
    config = config_for("playmore", ppo={"hand_weight": weight})
    _, network, experience = collected(config)
    ppo, chosen = Ppo(network, config.ppo), torch.arange(0, len(experience.rows), 7)
    advantages = experience.advantages[experience.rows]
    found, _ = ppo.gradients(experience, chosen, advantages, None, 0.0)
    head, network.hand_head = network.hand_head, None
    assert head is not None
    plain = Ppo(network, config.ppo)
    without, _ = plain.gradients(experience, chosen, advantages, None, 0.0)
    network.hand_head = head
    rows = experience.rows[chosen]
    terms = []
    for row in rows.tolist():
        features = network.policy.trunk(experience.observations[row : row + 1].float())
        logits = head(features)[0, 0]
        for card in np.flatnonzero(experience.observations[row, 80:120].numpy()).tolist():
            held = int(experience.hidden_sets[row, 0]) >> card & 1
            terms.append(-torch.nn.functional.logsigmoid(logits[card] if held else -logits[card]))
    loss = weight * torch.stack(terms).mean()
    added = torch.autograd.grad(loss, ppo.parameters, allow_unused=True)
    names = [name for name, _ in network.named_parameters()]
    before = dict(zip([name for name in names if "hand_head" not in name], without, strict=True))
    for name, one, other in zip(names, found, added, strict=True):
        expected = torch.zeros_like(one) if other is None else other
        expected = expected + before.get(name, torch.zeros_like(one))
        torch.testing.assert_close(one, expected, atol=1e-6, rtol=1e-4)


def test_it_learns_more_than_counting_from_hands_that_play_tells() -> None:
    """Here the other seat holds the lowest hidden cards: the head finds that, and is calibrated."""
    config = config_for("playmore", ppo={"hand_weight": 1.0, "learning_rate": 0.01, "epochs": 4})
    _, network, experience = collected(config)
    unseen = experience.observations[:, 80:120]
    held = (unseen.cumsum(1) <= 3) & (unseen > 0)
    sets = (held.long() << torch.arange(40)).sum(1, keepdim=True)
    experience = replace(experience, hidden_sets=sets)
    ppo = Ppo(network, config.ppo)
    with ShardWorkers(1) as workers:
        for update in range(60):
            stats = ppo.update([experience], workers, 0.0, [update])
    assert stats.hands["hands/loss"] < 0.5 * stats.hands["hands/base_loss"]
    assert stats.hands["hands/calibration_error"] < 0.05


def test_certainty_is_in_the_last_bin() -> None:
    everything = torch.ones(1, 1, 40, dtype=torch.bool)
    _, stats = hand_terms(torch.full((1, 1, 40), 200.0), everything, everything[:, 0])
    assert hand_metrics(stats)["hands/calibration_error"] == 0


def test_the_stock_is_no_hand() -> None:
    config = config_for("playmore", critic={"hidden": [8], "sees": "hands_and_stock"})
    _, network, experience = collected(config)
    ppo, chosen = Ppo(network, config.ppo), torch.arange(40)
    changed = replace(experience, hidden_sets=experience.hidden_sets.clone())
    changed.hidden_sets[:, 1:] = 0
    advantages = torch.zeros(len(experience.rows))
    found, same = (
        ppo.gradients(one, chosen, advantages, None, 0.0)[1] for one in (experience, changed)
    )
    assert torch.equal(found[6:], same[6:]) and found[6] > 0


# What is kept


def test_the_policy_file_holds_no_head(tmp_path: Path) -> None:
    settings: dict[str, object] = {
        "decisions": 2 * TABLES * 10,
        "opponents": {"share": 0.0},
        "torch_threads": 1,
    }
    for name, predicts in (("with", True), ("without", False)):
        network = {"hidden": [8], "predicts_hands": predicts}
        config = config_for("mini_2x5", "mlp", network=network, **settings)
        trainer = Trainer(config, RunFolder.create(tmp_path / name, config))
        trainer.train()
        with safe_open(str(trainer.folder.policy), framework="pt") as tensors:
            assert set(tensors.keys()) == set(trainer.network.policy.state_dict())
        tags = {tag for row in read_metrics(tmp_path / name) for tag in row if "hands/" in tag}
        assert len(tags) == (3 if predicts else 0)


def test_a_head_leaves_the_first_weights_of_the_others_alone() -> None:
    with_head = make_network(config_for("playmore")).state_dict()
    without = make_network(config_for("playmore", network={"hidden": [16]})).state_dict()
    assert set(with_head) - set(without) == {"hand_head.layer.weight", "hand_head.layer.bias"}
    assert all(torch.equal(value, with_head[name]) for name, value in without.items())
