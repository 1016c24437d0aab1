"""The command ``tressette export``: a policy as an ONNX file, for other languages and runtimes."""

from __future__ import annotations

import importlib
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import torch

from tressette_agents.policy_file import LoadedPolicy, load_policy
from tressette_env import BatchTable
from tressette_env.errors import OptionError, TressetteError
from tressette_env.observation import OBSERVATION_VERSION
from tressette_train.output_file import check_output, write_output

__all__ = ["ExportError", "export_onnx", "largest_difference", "run"]

_OPSET = 17
_CHECKED = 10_000  # observations
_TOLERANCE = 1e-5


class ExportError(TressetteError):
    """An exported policy that does not compute what the policy computes; no file was written."""


def run(policy: str, onnx: Path) -> None:
    """Export a policy, compare the file with it, and say what it takes and gives.

    Raises
    ------
    PolicyFileError
        If there is no such policy, or it is damaged.
    OptionError
        If a package is missing, or the file cannot be written.
    ExportError
        If the file's logits differ from the policy's.
    """
    check_output("--onnx", onnx)
    loaded = load_policy(policy)
    data = export_onnx(loaded)
    difference = largest_difference(loaded, data)
    if not difference <= _TOLERANCE:
        raise ExportError(
            f"export: expected logits within {_TOLERANCE} of the policy's, got {difference:.2g}; "
            f"{onnx} was not written"
        )
    write_output("--onnx", onnx, data)
    print(
        f"{onnx}: {len(data):,} bytes, opset {_OPSET}\n"
        f"  input   observations  float32[B, {loaded.layout.size}]\n"
        "  output  logits        float32[B, 40], illegal cards not masked\n"
        f"  within {difference:.1e} of the policy on {_CHECKED:,} observations of random play"
    )
    if loaded.exact_endings:
        print("  it was trained to leave the tricks after the stock to the solver")


def export_onnx(policy: LoadedPolicy) -> bytes:
    """Return a policy's network as an ONNX model of observations float32[B, F] to logits.

    Raises
    ------
    OptionError
        If the package ``onnx`` is missing.
    """
    onnx: Any = _package("onnx")
    example = torch.zeros(2, policy.layout.size)
    with tempfile.TemporaryDirectory(prefix="tressette-export-") as folder:
        file = Path(folder) / "policy.onnx"
        torch.onnx.export(
            policy.network,
            (example,),
            file,
            dynamo=False,
            opset_version=_OPSET,
            input_names=["observations"],
            output_names=["logits"],
            dynamic_axes={"observations": {0: "B"}, "logits": {0: "B"}},
        )
        model = onnx.load(file)
    described = {
        "rules": policy.rules.name,
        "observation_version": OBSERVATION_VERSION,
        "episode": policy.layout.episode,
        "exact_endings": policy.exact_endings,
        "outputs": policy.outputs,
        "blocks": [[block.name, block.start, block.size] for block in policy.layout.blocks],
    }
    onnx.helper.set_model_props(model, {"tressette": json.dumps(described)})
    onnx.checker.check_model(model)
    return bytes(model.SerializeToString())


def largest_difference(policy: LoadedPolicy, model: bytes, count: int = _CHECKED) -> float:
    """Return how far a model's logits are from the policy's at most, on random play.

    Of logits above 1, the share of them: float32 holds some seven digits.

    Raises
    ------
    OptionError
        If the package ``onnxruntime`` is missing.
    """
    runtime: Any = _package("onnxruntime")
    session = runtime.InferenceSession(model, providers=["CPUExecutionProvider"])
    table = BatchTable(
        count, policy.rules, seed=0, episode=policy.layout.episode, observation=policy.layout.kind
    )
    largest = 0.0
    parts = np.array_split(np.arange(count), 8)
    for number, part in enumerate(parts):  # five plies further for each part
        table.play_randomly(5, seed=number)
        observations = table.observations[part].astype(np.float32)
        (found,) = session.run(["logits"], {"observations": observations})
        with torch.inference_mode():
            expected = policy.network(torch.from_numpy(observations)).numpy()
        distances = np.abs(found - expected) / np.maximum(1.0, np.abs(expected))
        largest = max(largest, float(distances.max()))
    return largest


def _package(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise OptionError(
            f"export: the package {name} is missing; pip install 'tressette[onnx]'"
        ) from None
