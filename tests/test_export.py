"""Policies as ONNX files: the same logits, and nothing written that does not give them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
import torch

from tressette_agents.history_trunk import history_parts
from tressette_agents.networks import NetworkSpec, PolicyNetwork
from tressette_agents.policy_file import load_policy, save_policy
from tressette_agents.suit_trunk import suit_parts
from tressette_env import BatchTable, get_rules
from tressette_env.observation import layout_for
from tressette_train import cli, export_command

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["tressette", "export", *arguments])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    return int(ended.value.code or 0)


def write_policy(folder: Path, house: str, kind: str) -> Path:
    rules = get_rules(house)
    layout = layout_for(rules, kind="history" if kind == "history" else "flat")
    suits = suit_parts(layout) if kind == "suit_shared" else ()
    history = history_parts(layout) if kind == "history" else None
    spec = NetworkSpec(layout.size, (24, 16), kind, suits, history)
    network = PolicyNetwork(spec, torch.Generator().manual_seed(3))
    with torch.no_grad():
        network.head.weight.mul_(300)  # logits of a trained policy's size
    path = folder / "policy.safetensors"
    save_policy(path, network, rules, layout, {}, exact_endings=rules.seats == 2)
    return path


@pytest.mark.parametrize("kind", ["mlp", "suit_shared", "history"])
@pytest.mark.parametrize("house", ["playmore", "gamelake_partners"])
def test_the_file_gives_the_policys_logits(
    house: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_policy(tmp_path, house, kind)
    file = tmp_path / "out.onnx"
    assert run(monkeypatch, str(tmp_path), "--onnx", str(file)) == 0
    loaded = load_policy(tmp_path)
    table = BatchTable(500, house, seed=9, observation=loaded.layout.kind)
    session = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
    for _ in range(3):
        table.play_randomly(7)
        for rows in (slice(0, 500), slice(3, 4)):  # any number at once
            observations = table.observations[rows].astype(np.float32)
            (logits,) = session.run(["logits"], {"observations": observations})
            expected = loaded.network(torch.from_numpy(observations)).detach().numpy()
            np.testing.assert_allclose(logits, expected, atol=1e-5, rtol=1e-5)
    assert np.abs(expected).max() > 1
    (described,) = onnx.load(file).metadata_props
    content = json.loads(described.value)
    assert content["rules"] == house and content["exact_endings"] == (house == "playmore")
    assert ["hand", 0, 40] in content["blocks"]
    assert content["outputs"] == "logits"


def test_a_file_that_differs_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_policy(tmp_path, "playmore", "mlp")
    export = export_command.export_onnx

    def wrong(policy: Any) -> bytes:
        with torch.no_grad():
            policy.network.head.bias[7] += 0.01
        try:
            return export(policy)
        finally:
            with torch.no_grad():
                policy.network.head.bias[7] -= 0.01

    monkeypatch.setattr(export_command, "export_onnx", wrong)
    file = tmp_path / "out.onnx"
    assert run(monkeypatch, str(tmp_path), "--onnx", str(file)) == 2
    message = capsys.readouterr().err
    assert "expected logits within 1e-05" in message and len(message.splitlines()) == 1
    assert not file.exists()


@pytest.mark.parametrize("name", ["onnx", "onnxruntime"])
def test_a_missing_package_is_named(
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    write_policy(tmp_path, "playmore", "mlp")
    monkeypatch.setitem(sys.modules, name, None)
    assert run(monkeypatch, str(tmp_path), "--onnx", str(tmp_path / "out.onnx")) == 2
    assert f"the package {name} is missing; pip install" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("policy", "onnx_file", "message"),
    [
        ("none", "out.onnx", "there is no such file or run folder"),
        (".", "no/folder/out.onnx", "expected a file in an existing folder"),
        (".", ".", "expected a file in an existing folder"),
    ],
)
def test_what_cannot_be_exported_is_refused_in_one_line(
    policy: str,
    onnx_file: str,
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    write_policy(tmp_path, "playmore", "mlp")
    monkeypatch.chdir(tmp_path)
    assert run(monkeypatch, policy, "--onnx", onnx_file) == 2
    told = capsys.readouterr().err
    assert message in told and len(told.splitlines()) == 1
