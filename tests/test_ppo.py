"""The PPO update: its loss by autograd of a plain reading, and what it must never do."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import pytest
import torch

from tressette_agents.networks import ActorCritic, CriticSpec, NetworkSpec, PolicyNetwork
from tressette_train import ppo as ppo_module
from tressette_train.config import PpoConfig
from tressette_train.learner import DivergedError
from tressette_train.parallel import ShardWorkers
from tressette_train.ppo import Ppo
from tressette_train.rollout import Experience, Results

FEATURES, DECISIONS = 12, 64


def network(hidden_inputs: int = 0, seed: int = 0) -> ActorCritic:
    critic = CriticSpec((8,), hidden_inputs) if hidden_inputs else CriticSpec()
    return ActorCritic(NetworkSpec(FEATURES, (16,)), critic, torch.Generator().manual_seed(seed))


def experience(seed: int, model: ActorCritic, hidden: int = 0) -> Experience:
    """Random decisions of which every second one is the learner's."""
    generator = torch.Generator().manual_seed(seed)

    def integers(high: int, *shape: int) -> torch.Tensor:
        return torch.randint(0, high, shape, generator=generator)

    rows = 2 * DECISIONS
    observations = integers(2, rows, FEATURES).to(torch.int8)
    cards = integers(40, rows)
    legal_sets = integers(1 << 40, rows) | (1 << cards)
    masks = (legal_sets[:, None] >> torch.arange(40)) & 1
    hidden_sets = integers(1 << 40, rows, hidden)
    bits = ((hidden_sets[:, :, None] >> torch.arange(40)) & 1).flatten(1).float()
    with torch.no_grad():
        logits, values = model(observations.float(), bits if hidden else None)
    log_probabilities = torch.log_softmax(logits.masked_fill(masks == 0, float("-inf")), 1)
    return Experience(
        observations,
        hidden_sets,
        legal_sets,
        cards,
        log_probabilities.gather(1, cards[:, None])[:, 0]
        + 0.1 * torch.randn(rows, generator=generator),
        values,
        torch.randn(rows, generator=generator),
        torch.arange(0, rows, 2),
        Results(),
    )


def plain_terms(
    model: ActorCritic,
    shard: Experience,
    chosen: list[int],
    advantages: torch.Tensor,
    config: PpoConfig,
    magnet: PolicyNetwork | None = None,
) -> torch.Tensor:
    """Means over the chosen decisions, with probabilities of the legal cards only.

    Policy loss, value loss, entropy, KL, KL from the magnet, clipped share.
    """
    terms = []
    for index in chosen:
        row = int(shard.rows[index])
        hidden = None
        if shard.hidden_sets.shape[1]:
            sets = shard.hidden_sets[row].tolist()
            bits = [float(one >> card & 1) for one in sets for card in range(40)]
            hidden = torch.tensor([bits])
        logits, value = model(shard.observations[row : row + 1].float(), hidden)
        legal = [card for card in range(40) if int(shard.legal_sets[row]) >> card & 1]
        probabilities = torch.softmax(logits[0, legal], 0)
        probability = probabilities[legal.index(int(shard.cards[row]))]
        ratio = probability / shard.log_probabilities[row].exp()
        advantage = advantages[index]
        clipped = min(max(ratio, 1 - config.clip), 1 + config.clip)  # type: ignore[type-var]
        surrogate = torch.min(ratio * advantage, torch.as_tensor(clipped) * advantage)
        target = shard.advantages[row] + shard.values[row]
        entropy = -(probabilities * probabilities.log()).sum()
        magnet_kl = torch.tensor(0.0)
        if magnet is not None:
            with torch.no_grad():
                other = torch.softmax(
                    magnet(shard.observations[row : row + 1].float())[0, legal], 0
                )
            magnet_kl = (probabilities * (probabilities / other).log()).sum()
        terms.append(
            torch.stack(
                (
                    -surrogate,
                    (value[0] - target) ** 2 / 2,
                    entropy,
                    ratio - 1 - ratio.log(),
                    magnet_kl,
                    torch.tensor(float(abs(ratio - 1) > config.clip)),
                )
            )
        )
    return torch.stack(terms).mean(0)


def plain_loss(terms: torch.Tensor, config: PpoConfig, entropy_weight: float) -> torch.Tensor:
    loss = terms[0] + config.value_weight * terms[1] - entropy_weight * terms[2]
    return loss + config.magnet * terms[4]


@pytest.mark.parametrize("hidden", [0, 1, 3])
def test_gradients_are_those_of_a_plain_reading_of_the_loss(hidden: int) -> None:
    model = network(40 * hidden)
    config = PpoConfig(entropy=0.3, clip=0.1)
    shard = experience(1, model, hidden)
    advantages = shard.advantages[shard.rows]
    ppo = Ppo(model, config)
    found, stats = ppo.gradients(shard, torch.arange(DECISIONS), advantages, None, config.entropy)
    terms = plain_terms(model, shard, list(range(DECISIONS)), advantages, config)
    expected = torch.autograd.grad(plain_loss(terms, config, 0.3), list(model.parameters()))
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(stats, terms.detach(), atol=1e-5, rtol=1e-4)
    assert 0 < float(stats[5]) < 1  # some ratios were clipped, some not


@pytest.mark.parametrize("magnet_weight", [0.0, 0.5])
def test_an_update_is_that_of_a_plain_loop(magnet_weight: float) -> None:
    """Two shards, two epochs, three minibatches that are not all equal, Adam by its formulas."""
    config = PpoConfig(
        learning_rate=0.02,
        learning_rate_final=0.5,
        entropy=0.2,
        entropy_final=0.5,
        epochs=2,
        minibatch=50,
        clip=0.1,
        value_weight=0.7,
        max_grad_norm=1.2,
        magnet=magnet_weight,
    )
    seeds, progress = [11, 4], 0.5
    learning_rate, entropy_weight = 0.015, 0.15
    model, reference = network(), network()
    shards = [experience(seed, model) for seed in (1, 2)]
    shards[1] = dataclasses.replace(shards[1], advantages=2 * shards[1].advantages + 1)
    ppo = Ppo(model, config)
    magnet = network(seed=9).policy if magnet_weight else None
    if magnet is not None:
        assert ppo.magnet is not None
        ppo.magnet.load_state_dict(magnet.state_dict())
    with ShardWorkers(1) as workers:
        found = ppo.update(shards, workers, progress, seeds)

    together = torch.cat([shard.advantages[shard.rows] for shard in shards])
    normalized = [
        (shard.advantages[shard.rows] - together.mean()) / together.std() for shard in shards
    ]
    parameters = list(reference.parameters())
    first = [torch.zeros_like(parameter) for parameter in parameters]
    second = [torch.zeros_like(parameter) for parameter in parameters]
    generators = [torch.Generator().manual_seed(seed) for seed in seeds]
    norms, all_terms, step = [], [], 0
    for _epoch in range(2):
        orders = [torch.randperm(DECISIONS, generator=one).tolist() for one in generators]
        for start, end in ((0, 21), (21, 42), (42, 64)):  # 128 / 50 is nearest to three
            terms = [
                plain_terms(reference, shard, order[start:end], advantages, config, magnet)
                for shard, order, advantages in zip(shards, orders, normalized, strict=True)
            ]
            all_terms += [one.detach() for one in terms]
            loss = (
                plain_loss(terms[0], config, entropy_weight)
                + plain_loss(terms[1], config, entropy_weight)
            ) / 2
            gradients = torch.autograd.grad(loss, parameters)
            norm = sum(float(gradient.square().sum()) for gradient in gradients) ** 0.5
            norms.append(norm)
            step += 1
            with torch.no_grad():
                for index, gradient in enumerate(gradients):
                    short = gradient * min(1.0, config.max_grad_norm / norm)
                    first[index] = 0.9 * first[index] + 0.1 * short
                    second[index] = 0.999 * second[index] + 0.001 * short**2
                    mean = first[index] / (1 - 0.9**step)
                    root = (second[index] / (1 - 0.999**step)).sqrt()
                    parameters[index] -= learning_rate * mean / (root + 1e-5)
    assert min(norms) < config.max_grad_norm < max(norms)  # some were shortened, some not
    for one, other in zip(model.parameters(), parameters, strict=True):
        torch.testing.assert_close(one, other, atol=2e-5, rtol=1e-3)
    targets = torch.cat([(shard.advantages + shard.values)[shard.rows] for shard in shards])
    means = torch.stack(all_terms).mean(0).tolist()
    names = ("policy_loss", "value_loss", "entropy", "kl", "magnet_kl", "clip_fraction")
    expected = dict(zip(names, means, strict=True)) | {
        "grad_norm": sum(norms) / len(norms),
        "explained_variance": float(1 - together.var() / targets.var()),
        "learning_rate": learning_rate,
        "entropy_weight": entropy_weight,
    }
    measured = dataclasses.asdict(found)
    assert measured.pop("hands") == {}
    assert measured == pytest.approx(expected, rel=1e-3, abs=1e-5)
    assert means[3] > 1e-4 and 0 < means[5] < 1
    assert (means[4] > 0.001) == (magnet_weight > 0)


def test_chosen_decisions_are_the_shards_and_the_others_do_not_count() -> None:
    model = network()
    shard = experience(1, model)
    ppo = Ppo(model, PpoConfig())
    chosen = torch.tensor([5, 9])
    advantages = shard.advantages[shard.rows]
    before, _ = ppo.gradients(shard, chosen, advantages, None, 0.0)
    changed = dataclasses.replace(shard, observations=shard.observations.clone())
    keep = shard.rows[chosen]
    others = torch.ones(len(shard.observations), dtype=torch.bool)
    others[keep] = False
    changed.observations[others] = 1
    after, _ = ppo.gradients(changed, chosen, advantages, None, 0.0)
    assert all(torch.equal(one, other) for one, other in zip(before, after, strict=True))


def updated(threads: int, shards: int = 2, minibatch: int = 32) -> list[torch.Tensor]:
    model = network()
    ppo = Ppo(model, PpoConfig(minibatch=minibatch, epochs=2))
    parts = [experience(seed, model) for seed in range(shards)]
    with ShardWorkers(threads) as workers:
        ppo.update(parts, workers, 0.0, list(range(shards)))
    return [parameter.detach().clone() for parameter in model.parameters()]


def test_threads_change_nothing() -> None:
    for one, other in zip(updated(1, 4), updated(4, 4), strict=True):
        assert torch.equal(one, other)


@pytest.mark.parametrize("threads_then", [2, 3])
def test_a_network_begins_the_same_with_any_number_of_threads(threads_then: int) -> None:
    before = torch.get_num_threads()
    spec = NetworkSpec(400, (32, 32))
    try:
        begun = []
        for threads in (1, threads_then):
            torch.set_num_threads(threads)
            begun.append(ActorCritic(spec, CriticSpec(), torch.Generator().manual_seed(1)))
            assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)
    for one, other in zip(*(network.parameters() for network in begun), strict=True):
        assert torch.equal(one, other)


def test_good_cards_become_more_likely() -> None:
    model = network()
    shard = experience(2, model)
    advantages = torch.where(shard.cards < 20, 1.0, -1.0)
    shard = dataclasses.replace(shard, advantages=advantages)
    ppo = Ppo(model, PpoConfig(learning_rate=1e-2, learning_rate_final=1.0, entropy=0.0))

    def low_share() -> float:
        with torch.no_grad():
            logits, _ = model(shard.observations.float())
        return float(torch.softmax(logits, 1)[:, :20].sum(1).mean())

    before = low_share()
    with ShardWorkers(1) as workers:
        for update in range(5):
            ppo.update([shard], workers, 0.0, [update])
    assert low_share() > before + 0.1


def test_learning_rate_and_entropy_move_over_the_budget() -> None:
    model = network()
    config = PpoConfig(learning_rate=1e-3, learning_rate_final=0.0, entropy=0.4, entropy_final=0.5)
    ppo = Ppo(model, config)
    with ShardWorkers(1) as workers:
        stats = ppo.update([experience(0, model)], workers, 0.5, [0])
        assert stats.learning_rate == pytest.approx(5e-4)
        assert stats.entropy_weight == pytest.approx(0.3)
        before = [parameter.detach().clone() for parameter in model.parameters()]
        ppo.update([experience(0, model)], workers, 1.0, [0])
    assert all(torch.equal(a, b) for a, b in zip(before, model.parameters(), strict=True))


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_loss_that_is_no_number_stops_before_the_step(bad: float) -> None:
    model = network()
    shard = experience(0, model)
    shard.advantages[shard.rows[3]] = bad
    ppo = Ppo(model, PpoConfig())
    before = [parameter.detach().clone() for parameter in model.parameters()]
    with ShardWorkers(1) as workers, pytest.raises(DivergedError, match="not a finite number"):
        ppo.update([shard], workers, 0.0, [0])
    assert all(torch.equal(a, b) for a, b in zip(before, model.parameters(), strict=True))


def test_the_magnet_holds_the_policy_and_keeps_its_own_weights() -> None:
    """Cards that are paid become more likely, the less so the stronger the magnet is."""

    def trained(weight: float) -> tuple[float, bool]:
        model = network()
        shard = experience(2, model)
        shard = dataclasses.replace(shard, advantages=torch.where(shard.cards < 20, 1.0, -1.0))
        config = PpoConfig(learning_rate=1e-2, learning_rate_final=1.0, entropy=0.0, magnet=weight)
        ppo = Ppo(model, config)
        before = [parameter.clone() for parameter in model.policy.parameters()]
        with ShardWorkers(1) as workers:
            for update in range(40):
                stats = ppo.update([shard], workers, 0.0, [update])
        own = [] if ppo.magnet is None else list(ppo.magnet.parameters())
        kept = all(torch.equal(one, other) for one, other in zip(own, before, strict=False))
        if ppo.magnet is not None:
            assert stats.magnet_kl > 0
            ppo.renew_magnet()
            assert all(
                torch.equal(one, other) and one.data_ptr() != other.data_ptr()
                for one, other in zip(
                    ppo.magnet.parameters(), model.policy.parameters(), strict=True
                )
            )
        with torch.no_grad():
            logits, _ = model(shard.observations.float())
        return float(torch.softmax(logits, 1)[:, :20].sum(1).mean()), kept

    shares = [trained(weight) for weight in (0.0, 1.0, 10.0)]
    assert all(kept for _, kept in shares)
    assert shares[0][0] > shares[1][0] + 0.02 > shares[2][0] + 0.02


def test_the_magnet_is_asked_in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ppo_module, "_CHUNK", 7)
    model = network()
    shard = experience(1, model)
    ppo = Ppo(model, PpoConfig(magnet=1.0))
    found = ppo._magnet_logits(shard)
    assert ppo.magnet is not None
    with torch.no_grad():
        torch.testing.assert_close(found, ppo.magnet(shard.observations[::2].float()))


def test_the_magnet_is_renewed_as_often_as_told() -> None:
    ppo = Ppo(network(), PpoConfig(magnet=1.0, magnet_every=3))
    renewed = []
    for update in range(1, 8):
        before = ppo.magnet
        ppo.end_update(update)
        if ppo.magnet is not before:
            renewed.append(update)
    assert renewed == [3, 6]


def test_neither_the_magnet_nor_advantages_count_while_it_imitates() -> None:
    model = network()
    shard, chosen = experience(1, model), torch.arange(9)
    ppo = Ppo(model, PpoConfig(magnet=1.0))
    found, other = (
        ppo.gradients(shard, chosen, advantages, None, weight, imitates=True)[0]
        for advantages, weight in ((torch.zeros(DECISIONS), 0.3), (torch.ones(DECISIONS), 0.0))
    )
    assert all(map(torch.equal, found, other))

    def imitated(weight: float) -> list[torch.Tensor]:
        model = network()
        ppo = Ppo(model, PpoConfig(magnet=weight, epochs=2, minibatch=32))
        if ppo.magnet is not None:
            ppo.magnet.load_state_dict(network(seed=9).policy.state_dict())
        with ShardWorkers(1) as workers:
            stats = ppo.update([experience(1, model)], workers, 0.0, [0], imitates=True)
        assert stats.magnet_kl == 0
        return list(model.parameters())

    assert all(map(torch.equal, imitated(0.0), imitated(5.0)))


@pytest.mark.parametrize("critic", [CriticSpec(), CriticSpec((8,), 40)])
def test_bfloat16_is_for_the_hidden_layers_alone(critic: CriticSpec) -> None:
    spec = NetworkSpec(FEATURES, (16,))
    plain, short = (
        ActorCritic(spec, critic, torch.Generator().manual_seed(0), in_bfloat16=in_bfloat16)
        for in_bfloat16 in (False, True)
    )
    kinds: dict[str, tuple[torch.dtype, torch.dtype]] = {}

    def noting(name: str) -> Callable[..., None]:
        def note(_: object, given: tuple[torch.Tensor, ...], made: torch.Tensor) -> None:
            kinds[name] = (given[0].dtype, made.dtype)

        return note

    for name, layer in short.named_modules():
        if isinstance(layer, torch.nn.Linear):
            layer.register_forward_hook(noting(name))
    rows, hidden = torch.rand(9, FEATURES), torch.ones(9, 40)
    logits, values = short(rows, hidden)
    assert logits.dtype == values.dtype == torch.float32
    assert {"policy.trunk.0", "policy.head", "critic_head"} <= set(kinds)
    for name, (given, made) in kinds.items():
        if "trunk" in name:
            assert made == torch.bfloat16, name
        else:
            assert given == made == torch.float32, name
    assert all(parameter.dtype == torch.float32 for parameter in short.parameters())
    assert not torch.equal(values, plain(rows, hidden)[1])
    assert torch.equal(short.policy(rows), plain.policy(rows))
