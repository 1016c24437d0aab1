"""Policy files and the agent that plays them: exact there and back, and every damage refused."""

from __future__ import annotations

import json
import pickle
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from safetensors.torch import save_file

from tressette_agents import make_agent
from tressette_agents.learned import LearnedAgent, make
from tressette_agents.networks import NetworkSpec, PolicyNetwork
from tressette_agents.policy_file import (
    describe_file,
    find_policy_file,
    load_policy,
    save_policy,
)
from tressette_env import BatchTable, RuleSet, get_rules
from tressette_env.cards import card_list, card_set
from tressette_env.errors import AgentSpecError, PolicyFileError, RulesError, TressetteError
from tressette_env.observation import layout_for

SOURCES = Path(__file__).parent.parent


def write_policy(path: Path, rules: str | RuleSet = "playmore", seed: int = 0) -> PolicyNetwork:
    house = get_rules(rules)
    layout = layout_for(house)
    generator = torch.Generator().manual_seed(seed)
    network = PolicyNetwork(NetworkSpec(layout.size, (16, 8)), generator)
    with torch.no_grad():
        network.head.weight.mul_(200)  # opinions, not almost uniform
    save_policy(path, network, house, layout, {"updates": 3})
    return network


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "policy.safetensors"
    write_policy(path)
    return path


def rewrite(file: Path, change: Callable[[dict[str, Any], dict[str, torch.Tensor]], None]) -> None:
    """Write the file anew with its description and tensors changed."""
    import safetensors

    with safetensors.safe_open(str(file), framework="pt") as opened:
        described = json.loads(opened.metadata()["tressette"])
        tensors = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118
    change(described, tensors)
    save_file(tensors, str(file), describe_file(described, tensors))


def refusal(path: Path | str) -> str:
    with pytest.raises(PolicyFileError) as caught:
        load_policy(path)
    message = str(caught.value)
    assert "\n" not in message and str(path) in message
    return message


# Files


def test_a_policy_reads_back_exactly(tmp_path: Path) -> None:
    path = tmp_path / "p.safetensors"
    network = write_policy(path, "gamelake_partners")
    loaded = load_policy(path)
    assert loaded.rules == get_rules("gamelake_partners")
    assert loaded.layout == layout_for(loaded.rules)
    assert loaded.training == {"updates": 3}
    assert loaded.network.spec == network.spec
    for name, value in network.state_dict().items():
        assert torch.equal(loaded.network.state_dict()[name], value)


def test_a_run_folder_stands_for_its_policy(file: Path) -> None:
    assert find_policy_file(file.parent) == file
    assert load_policy(file.parent).rules.name == "playmore"


def test_missing_files(tmp_path: Path) -> None:
    assert "there is no such file or run folder" in refusal(tmp_path / "none")
    assert "holds no policy.safetensors" in refusal(tmp_path)
    with pytest.raises(PolicyFileError):
        load_policy("\0")
    with pytest.raises(PolicyFileError):
        load_policy("x" * 5000)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\0" * 7,
        b"\xff" * 100,
        b"\0" * 1000,
        b"PK\x03\x04 a zip",
        pickle.dumps({"weights": [1.0]}),
        (1 << 62).to_bytes(8, "little") + b"{}",
        (2).to_bytes(8, "little") + b"{}",
        (4).to_bytes(8, "little") + b"[[[[",
    ],
)
def test_garbage(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "p.safetensors"
    path.write_bytes(content)
    refusal(path)


def test_truncated_anywhere(file: Path) -> None:
    whole = file.read_bytes()
    for length in [*range(0, 64, 7), *np.linspace(64, len(whole) - 1, 25).astype(int)]:
        file.write_bytes(whole[:length])
        assert "not a whole safetensors file" in refusal(file)
    file.write_bytes(whole + b"\0")
    refusal(file)
    file.write_bytes(whole)
    load_policy(file)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("format", "other", "expected a file of the format 'tressette-policy', got 'other'"),
        ("format_version", 2, "format version 2, this version of tressette reads 1"),
        ("network", None, "its description is damaged: network"),
        ("network", {"inputs": 400}, "its description is damaged: network"),
        ("network", {"inputs": 400, "hidden": [0], "kind": "mlp", "suits": []}, "1 to 8192, got 0"),
        ("network", {"inputs": 400, "hidden": [1 << 40], "kind": "mlp", "suits": []}, "1 to 8192"),
        (
            "network",
            {"inputs": 400, "hidden": [8] * 99, "kind": "mlp", "suits": []},
            "at most 16 layers",
        ),
        ("network", {"inputs": 400, "hidden": 8, "kind": "mlp", "suits": []}, "a list of widths"),
        ("network", {"inputs": 400, "hidden": [8], "kind": "rnn", "suits": []}, "got 'rnn'"),
        ("network", {"inputs": 400, "hidden": [8], "kind": "mlp", "suits": 1}, "list of pairs"),
        ("exact_endings", 1, "exact_endings: expected true or false, got 1"),
        ("outputs", "cards", "outputs: expected logits or values, got 'cards'"),
        ("outputs", ["logits"], "outputs: expected logits or values, got ['logits']"),
        ("rules", {"seats": 2}, "its description is damaged: rules"),
        ("rules", [], "its description is damaged: rules"),
        ("observation", 3, "its description is damaged: observation"),
    ],
)
def test_damaged_descriptions(file: Path, key: str, value: Any, message: str) -> None:
    rewrite(file, lambda described, tensors: described.update({key: value}))
    assert message in refusal(file)


@pytest.mark.parametrize(
    ("field", "value"), [("seats", 3), ("deck", [0, 0]), ("hand_size", "ten"), ("bonus", 1)]
)
def test_damaged_rules(file: Path, field: str, value: Any) -> None:
    rewrite(file, lambda described, tensors: described["rules"].update({field: value}))
    assert "its description is damaged" in refusal(file)


def test_other_observations(file: Path) -> None:
    whole = file.read_bytes()
    rewrite(file, lambda described, tensors: described["observation"].update(version=99))
    assert "trained on observations of version 99" in refusal(file)
    file.write_bytes(whole)

    def swap(described: dict[str, Any], tensors: dict[str, torch.Tensor]) -> None:
        blocks = described["observation"]["blocks"]
        blocks[0], blocks[1] = blocks[1], blocks[0]

    rewrite(file, swap)
    assert "observations of another layout" in refusal(file)


def test_tensors_that_do_not_fit(file: Path) -> None:
    whole = file.read_bytes()

    def refused(change: Callable[[dict[str, torch.Tensor]], Any]) -> str:
        file.write_bytes(whole)
        rewrite(file, lambda described, tensors: (change(tensors), None)[1])
        return refusal(file)

    assert "missing: head.bias" in refused(lambda tensors: tensors.pop("head.bias"))
    assert "unknown: x" in refused(lambda tensors: tensors.update(x=torch.zeros(1)))
    assert "head.bias: expected F32 [40], got F32 [39]" in refused(
        lambda tensors: tensors.update({"head.bias": torch.zeros(39)})
    )
    assert "expected F32 [40], got F64 [40]" in refused(
        lambda tensors: tensors.update({"head.bias": torch.zeros(40, dtype=torch.float64)})
    )
    assert "not all finite" in refused(lambda tensors: tensors["head.bias"].fill_(float("nan")))


@pytest.mark.parametrize("offset", [-1, -4, -400, -2001])
def test_a_flipped_bit_in_the_weights(file: Path, offset: int) -> None:
    data = bytearray(file.read_bytes())
    data[offset] ^= 1
    file.write_bytes(data)
    assert "its tensors are damaged" in refusal(file)


def test_weights_without_a_sum_are_refused(file: Path) -> None:
    whole = file.read_bytes()
    file.write_bytes(whole.replace(b'\\"sha256\\"', b'\\"sha257\\"'))
    assert file.read_bytes() != whole
    assert "its tensors are damaged" in refusal(file)


def test_nothing_in_the_kit_reads_or_writes_pickles() -> None:
    files = [
        path
        for package in ("tressette_env", "agents/tressette_agents", "train/tressette_train")
        for path in (SOURCES / package).rglob("*.py")
    ]
    assert len(files) > 20
    for path in files:
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"torch\.(save|load)\b|\b(c?[pP]ickle|joblib|dill|shelve)\b", text), (
            path
        )


def test_a_file_that_does_not_say_gives_logits(file: Path) -> None:
    rewrite(file, lambda described, tensors: described.pop("outputs"))
    assert load_policy(file).outputs == "logits"


# The agent


@pytest.mark.parametrize("name", ["playmore", "gamelake_partners", "mini_2x5"])
@pytest.mark.parametrize("options", ["", ",sample=true"])
def test_plays_legal_cards_and_the_same_ones_alone_and_in_a_batch(
    tmp_path: Path, name: str, options: str
) -> None:
    write_policy(tmp_path / "policy.safetensors", name)
    agent = make_agent(f"learned:{tmp_path}{options}")
    rules = get_rules(name)
    table = BatchTable(50, rules, seed=1)
    rng = np.random.default_rng(0)
    for ply in range(rules.deck_size):
        seeds = rng.integers(0, 1 << 63, 50, np.int64)
        cards = agent.act_batch(table.views(), rules, seeds)
        for one in range(ply % 9, 50, 9):
            assert agent.act(table.view(one), int(seeds[one])) == cards[one]
        order = rng.permutation(50)
        shuffled = agent.act_batch(table.views()[order], rules, seeds[order])
        np.testing.assert_array_equal(shuffled, cards[order])
        table.play(cards)  # raises if a card was illegal


@pytest.mark.parametrize("name", ["playmore", "cuperativa", "gamelake_partners"])
@pytest.mark.parametrize("options", ["", ",sample=true"])
def test_does_not_peek(tmp_path: Path, name: str, options: str) -> None:
    """Hidden cards dealt anew, same view and seed: the same card."""
    write_policy(tmp_path / "policy.safetensors", name)
    agent = make_agent(f"learned:{tmp_path}{options}")
    rules = get_rules(name)
    table = BatchTable(20, rules, seed=6)
    rng = np.random.default_rng(1)
    hidden = 0
    for ply in range(rules.deck_size):
        seeds = np.arange(20, dtype=np.int64) + 20 * ply
        views, next_seats = table.views(), (table.seats + 1) % rules.seats
        cards = agent.act_batch(views, rules, seeds)
        before, hands = table.snapshot(), table.views(next_seats)["hand"]
        table.restore(replace(before, states=redealt(before.states, views, rules, rng)))
        hidden += np.count_nonzero(table.views(next_seats)["hand"] != hands)
        np.testing.assert_array_equal(agent.act_batch(table.views(), rules, seeds), cards)
        table.restore(before)
        table.play(cards)
    assert hidden > 4 * rules.deck_size


def redealt(
    states: npt.NDArray[np.void],
    views: npt.NDArray[np.void],
    rules: RuleSet,
    rng: np.random.Generator,
) -> npt.NDArray[np.void]:
    """States with the cards permuted that each viewer cannot place."""
    states = states.copy()
    for row, view in enumerate(views):
        state = states[..., row].reshape(-1)
        unseen = card_list(int(view["unseen"]))
        other = dict(zip(unseen, rng.permutation(unseen).tolist(), strict=True))
        for seat in range(rules.seats):
            hand = card_list(int(state["hands"][0, seat]))
            state["hands"][0, seat] = card_set(other.get(card, card) for card in hand)
        for place in range(int(state["drawn"][0]), rules.stock_size):
            card = int(state["stock"][0, place])
            state["stock"][0, place] = other.get(card, card)
        states[..., row] = state.reshape(states[..., row].shape)
    return states


def test_plays_the_most_probable_legal_card(file: Path) -> None:
    network = load_policy(file).network.double()
    agent = LearnedAgent(load_policy(file), f"learned:{file}")
    table = BatchTable(200, seed=2)
    logits = network(torch.from_numpy(table.observations).double()).numpy()
    best = np.where(table.legal_masks, logits, -np.inf).argmax(1)
    cards = agent.act_batch(table.views(), table.rules, np.zeros(200, np.int64))
    np.testing.assert_array_equal(cards, best)
    assert (logits.argmax(1) != best).any()  # the mask matters


def test_samples_with_the_policys_probabilities(file: Path) -> None:
    count = 20_000
    agent = LearnedAgent(load_policy(file), f"learned:{file},sample=true", sample=True)
    table = BatchTable(1, seed=5)
    views = np.repeat(table.views(), count)
    cards = agent.act_batch(views, table.rules, np.arange(count))
    logits = load_policy(file).network.double()(torch.from_numpy(table.observations).double())
    masked = torch.where(torch.from_numpy(table.legal_masks), logits, -torch.inf)
    expected = torch.softmax(masked, 1)[0].numpy()
    assert (expected > 0.05).sum() > 2
    shares = np.bincount(cards, minlength=40) / count
    np.testing.assert_allclose(shares, expected, atol=5 * 0.5 / count**0.5)
    assert not shares[expected == 0].any()


def test_refuses_other_rules_by_their_fields_not_their_names(file: Path) -> None:
    agent = LearnedAgent(load_policy(file), f"learned:{file}")
    agent.check_rules(get_rules("playmore").replace(name="mine", source="", target=11))
    with pytest.raises(
        RulesError, match=r"trained for 'playmore' and cannot play 'gamelake'.*foll"
    ):
        agent.check_rules(get_rules("gamelake"))
    with pytest.raises(RulesError, match="draws 'hidden' there, 'shown' here"):
        agent.check_rules(get_rules("cuperativa"))
    with pytest.raises(RulesError, match="seats 2 there, 4 here"):
        agent.check_rules(get_rules("gamelake_partners"))
    with pytest.raises(RulesError, match="a deck of 40 cards there, of 8 here"):
        agent.check_rules(get_rules("mini_2x4"))
    impostor = get_rules("gamelake").replace(name="playmore")
    table = BatchTable(3, impostor, seed=0)
    with pytest.raises(RulesError, match="follow"):
        agent.act_batch(table.views(), impostor, np.zeros(3, np.int64))


def test_spec_and_options(file: Path) -> None:
    assert make_agent(f"learned:{file}").spec == f"learned:{file}"
    sampling = make(f"{file},sample=true")
    assert sampling.sample and sampling.spec == f"learned:{file},sample=true"
    assert not make(f"{file},sample=false").sample
    with pytest.raises(AgentSpecError, match="expected the path of a policy file or run folder"):
        make_agent("learned")
    with pytest.raises(AgentSpecError, match="unknown option 'smaple=true'; did you mean 'sample'"):
        make_agent(f"learned:{file},smaple=true")
    with pytest.raises(AgentSpecError, match="expected true or false, got 'yes'"):
        make_agent(f"learned:{file},sample=yes")
    with pytest.raises(TressetteError):
        make_agent("learned:nowhere")


def test_a_path_may_hold_commas(tmp_path: Path) -> None:
    folder = tmp_path / "rate=1e-3, wide,sample=no"
    folder.mkdir()
    write_policy(folder / "policy.safetensors")
    for path in (folder, folder / "policy.safetensors"):
        assert not make(str(path)).sample
        sampling = make(f"{path},sample=true")
        assert sampling.sample and make_agent(sampling.spec).spec == sampling.spec
        with pytest.raises(AgentSpecError, match="unknown option 'smaple=true'"):
            make(f"{path},smaple=true")
