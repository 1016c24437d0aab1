"""Policy files: weights in safetensors, and JSON that says what they were made for.

Nothing in a file is executed, and its sizes and shapes are checked against its own description
before a network is made. Files are written aside, flushed and renamed, so that none is ever
half-written.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import safetensors
import torch
from safetensors.torch import save
from torch import Tensor

from tressette_agents.networks import NetworkSpec, PolicyNetwork
from tressette_agents.whole_file import write_whole
from tressette_env.errors import OptionError, PolicyFileError, RulesError
from tressette_env.observation import OBSERVATION_VERSION, Layout, layout_for
from tressette_env.rulesets import RuleSet

__all__ = [
    "POLICY_FILE",
    "LoadedPolicy",
    "check_bytes",
    "check_shapes",
    "describe_file",
    "describe_observation",
    "find_policy_file",
    "load_policy",
    "open_tensors",
    "rule_differences",
    "rules_to_json",
    "save_policy",
]

POLICY_FILE = "policy.safetensors"  # its name in a run folder
FORMAT = "tressette-policy"
FORMAT_VERSION = 1
OUTPUTS = ("logits", "values")  # what a network gives each card
_METADATA_KEY = "tressette"


@dataclass(frozen=True)
class LoadedPolicy:
    """A policy and what it was made for.

    Attributes
    ----------
    network : PolicyNetwork
        In evaluation mode, weights float32.
    rules : RuleSet
        The rules that it was trained for.
    layout : Layout
        The observations that it reads.
    exact_endings : bool
        Whether it was trained to leave the tricks after the stock to the solver.
    training : dict
        Counters of the training, and its config, as JSON values.
    outputs : {"logits", "values"}
        What the network gives each card: a logit of its probability, or the reward it expects.
    """

    network: PolicyNetwork
    rules: RuleSet
    layout: Layout
    exact_endings: bool
    training: dict[str, Any]
    outputs: str = "logits"


def rules_to_json(rules: RuleSet) -> dict[str, Any]:
    """Return the fields of a rule set as JSON values."""
    return {**dataclasses.asdict(rules), "deck": list(rules.deck)}


def _rules_from_json(values: Any) -> RuleSet:
    if not isinstance(values, dict) or not isinstance(values.get("deck"), list):
        raise RulesError("rules: expected the fields of a rule set")
    return RuleSet(**{**values, "deck": tuple(values["deck"])}).require_playable()


def rule_differences(trained: RuleSet, played: RuleSet, episode: str) -> list[str]:
    """Say in which fields two rule sets differ that a policy depends on.

    Names and sources do not matter, nor does the target unless episodes are whole matches.
    """
    ignored = {"name", "source"} | ({"target"} if episode == "deal" else set())
    return [
        f"{field.name} {getattr(trained, field.name)!r} there, {getattr(played, field.name)!r} here"
        if field.name != "deck"
        else f"a deck of {trained.deck_size} cards there, of {played.deck_size} here"
        for field in dataclasses.fields(RuleSet)
        if field.name not in ignored and getattr(trained, field.name) != getattr(played, field.name)
    ]


def describe_observation(layout: Layout) -> dict[str, Any]:
    """Return version and layout of an observation as JSON values."""
    return {
        "version": OBSERVATION_VERSION,
        "episode": layout.episode,
        "kind": layout.kind,
        "size": layout.size,
        "blocks": [[block.name, block.start, block.size] for block in layout.blocks],
    }


def save_policy(
    path: Path,
    network: PolicyNetwork,
    rules: RuleSet,
    layout: Layout,
    training: dict[str, Any],
    *,
    exact_endings: bool = False,
    outputs: str = "logits",
) -> None:
    """Write a policy file.

    Raises
    ------
    OSError
        If it cannot be written; an older file of that name is kept whole.
    """
    described = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "network": network.spec.to_json(),
        "observation": describe_observation(layout),
        "rules": rules_to_json(rules),
        "exact_endings": exact_endings,
        "outputs": outputs,
        "training": training,
    }
    tensors = {
        name: tensor.detach().cpu().contiguous() for name, tensor in network.state_dict().items()
    }
    write_whole(path, save(tensors, describe_file(described, tensors)))


def describe_file(described: dict[str, Any], tensors: dict[str, Tensor]) -> dict[str, str]:
    """Return a description as safetensors metadata: one key, as their order is not kept.

    The sum of the tensors is added, so that ``check_bytes`` can find damage in them.
    """
    return {_METADATA_KEY: json.dumps({**described, "sha256": _sum(tensors)})}


def _sum(tensors: dict[str, Tensor]) -> str:
    """Return the SHA-256 of tensors, with their names and in the order of these."""
    digest = hashlib.sha256()
    for name in sorted(tensors):
        digest.update(name.encode() + b"\0")
        digest.update(tensors[name].detach().contiguous().numpy().tobytes())
    return digest.hexdigest()


def check_bytes(path: Path, tensors: dict[str, Tensor], described: dict[str, Any]) -> None:
    """Compare the bytes of a file's tensors with the sum in its description.

    Raises
    ------
    PolicyFileError
        If they differ, or there is no sum.
    """
    if described.get("sha256") != _sum(tensors):
        raise PolicyFileError(
            f"{path}: its tensors are damaged: they do not have the SHA-256 in its description"
        )


def find_policy_file(path: str | Path) -> Path:
    """Return the policy file for a path to it or to a run folder.

    Raises
    ------
    PolicyFileError
        If there is none.
    """
    given = Path(path)
    try:
        file = given / POLICY_FILE if given.is_dir() else given
        if file.is_file():
            return file
    except (OSError, ValueError) as error:
        raise PolicyFileError(f"policy file {given}: {error}") from error
    if given.is_dir():
        raise PolicyFileError(
            f"policy file: the folder {given} holds no {POLICY_FILE}; expected a run folder as "
            "'tressette train' makes them, or the file itself"
        )
    raise PolicyFileError(
        f"policy file {given}: there is no such file or run folder (runs are kept in runs/NAME)"
    )


def open_tensors(path: Path, expected_format: str, version: int) -> tuple[Any, dict[str, Any]]:
    """Open a safetensors file of the kit, and read its JSON.

    Returns
    -------
    tensors : safetensors.safe_open
        Nothing is loaded yet.
    described : dict
        Its description, decoded.

    Raises
    ------
    PolicyFileError
        If it is not a whole safetensors file, or not of the format and version.
    """
    try:
        tensors = safetensors.safe_open(str(path), framework="pt")
        metadata = tensors.metadata() or {}  # type: ignore[no-untyped-call]
    except (OSError, safetensors.SafetensorError) as error:
        raise PolicyFileError(
            f"{path}: not a whole safetensors file ({error}); it may have been truncated"
        ) from error
    try:
        described = json.loads(metadata.get(_METADATA_KEY, "{}"))
    except (ValueError, RecursionError) as error:
        raise PolicyFileError(f"{path}: its description is damaged: {error}") from error
    if not isinstance(described, dict):
        raise PolicyFileError(f"{path}: its description is damaged: expected an object")
    if described.get("format") != expected_format:
        raise PolicyFileError(
            f"{path}: expected a file of the format {expected_format!r}, "
            f"got {described.get('format')!r}"
        )
    if described.get("format_version") != version:
        raise PolicyFileError(
            f"{path}: format version {described.get('format_version')!r}, this version of "
            f"tressette reads {version}"
        )
    return tensors, described


def check_shapes(path: Path, tensors: Any, expected: dict[str, Tensor]) -> None:
    """Compare names, shapes and types of a file's tensors with what is expected, loading none.

    Parameters
    ----------
    expected : dict
        Tensors by name; those of a network on the device "meta" take no memory.

    Raises
    ------
    PolicyFileError
    """
    names = set(tensors.keys())
    if names != set(expected):
        missing = sorted(set(expected) - names)
        strange = sorted(names - set(expected))
        raise PolicyFileError(
            f"{path}: its tensors are not those of its network"
            + (f"; missing: {', '.join(missing[:3])}" if missing else "")
            + (f"; unknown: {', '.join(strange[:3])}" if strange else "")
        )
    for name, tensor in expected.items():
        part = tensors.get_slice(name)
        if list(part.get_shape()) != list(tensor.shape) or part.get_dtype() != "F32":
            raise PolicyFileError(
                f"{path}: tensor {name}: expected F32 {list(tensor.shape)}, "
                f"got {part.get_dtype()} {list(part.get_shape())}"
            )


def load_policy(path: str | Path) -> LoadedPolicy:
    """Load a policy file, or the one in a run folder.

    Raises
    ------
    PolicyFileError
        If there is none, or it is damaged, or its observations are not those of this version.
    """
    file = find_policy_file(path)
    tensors, described = open_tensors(file, FORMAT, FORMAT_VERSION)
    try:
        spec = NetworkSpec.from_json(described.get("network"))
        rules = _rules_from_json(described.get("rules"))
        layout = _check_observation(described.get("observation"), rules, file)
        if spec.inputs != layout.size:
            raise ValueError(f"network inputs {spec.inputs}, observations have {layout.size}")
        exact_endings = described.get("exact_endings", False)
        if not isinstance(exact_endings, bool):
            raise ValueError(f"exact_endings: expected true or false, got {exact_endings!r:.40}")
        outputs = described.get("outputs", "logits")
        if outputs not in OUTPUTS:
            raise ValueError(f"outputs: expected {' or '.join(OUTPUTS)}, got {outputs!r:.40}")
    except PolicyFileError:
        raise
    except (TypeError, ValueError) as error:
        raise PolicyFileError(f"{file}: its description is damaged: {error}") from error
    with torch.device("meta"):
        expected = PolicyNetwork(spec).state_dict()
    check_shapes(file, tensors, expected)
    network = PolicyNetwork(spec)
    weights = {name: tensors.get_tensor(name) for name in expected}
    check_bytes(file, weights, described)
    network.load_state_dict(weights)
    if not all(bool(tensor.isfinite().all()) for tensor in network.parameters()):
        raise PolicyFileError(f"{file}: its weights are not all finite numbers")
    network.eval().requires_grad_(False)
    training = described.get("training")
    if not isinstance(training, dict):
        training = {}
    return LoadedPolicy(network, rules, layout, exact_endings, training, outputs)


def _check_observation(described: Any, rules: RuleSet, file: Path) -> Layout:
    if not isinstance(described, dict):
        raise ValueError("observation: expected version and layout")
    if described.get("version") != OBSERVATION_VERSION:
        raise PolicyFileError(
            f"{file}: trained on observations of version {described.get('version')!r}, this "
            f"version of tressette makes version {OBSERVATION_VERSION}; train it again"
        )
    try:
        layout = layout_for(rules, str(described.get("episode")), str(described.get("kind")))
    except OptionError as error:
        raise ValueError(f"observation: {error}") from error
    if describe_observation(layout) != described:
        raise PolicyFileError(
            f"{file}: trained on observations of another layout ({described.get('size')!r} "
            f"features) than this version's ({layout.size}); train it again"
        )
    return layout
