"""What training measures: one table of metrics, and the log that keeps them.

TensorBoard, ``metrics.jsonl``, the charts and the glossary in ``docs/training.md`` all use it.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tressette_agents.whole_file import write_whole
from tressette_train.run_folder import RunFolder

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter

__all__ = ["METRICS", "Metric", "MetricLog", "glossary", "read_metrics"]

OPPONENT = "{opponent}"


@dataclass(frozen=True)
class Metric:
    """One metric.

    Attributes
    ----------
    tag : str
        Its name in TensorBoard; ``{opponent}`` stands for each opponent of the pool.
    formula : str
    unit : str
    good : str
        What good looks like.
    """

    tag: str
    formula: str
    unit: str
    good: str


METRICS: tuple[Metric, ...] = (
    Metric(
        "margin_thirds/{opponent}",
        "mean over the update's deals of the learner's thirds less the opponent's (the reverse "
        "where less wins, R19); cards are drawn as always in training: from the policy, or "
        "epsilon-greedily",
        "thirds a deal",
        "rises, then flattens; the benchmark, which plays the best card each time, is higher",
    ),
    Metric(
        "win_rate/{opponent}",
        "share of the update's deals that the learner won by thirds; a tie counts half",
        "0 to 1",
        "above 0.5 against every opponent; against snapshots slowly nearing 0.5 as learning slows",
    ),
    Metric(
        "reference_margin_thirds/{opponent}",
        "margin over an agent of evaluation.agents on evaluation.deals deals in both seatings, the "
        "best card each time; only after every evaluation.every updates",
        "thirds a deal",
        "rises, then flattens",
    ),
    Metric(
        "reference_half_width/{opponent}",
        "half of the 95 % interval of that margin",
        "thirds a deal",
        "differences within it mean nothing; falls with the root of evaluation.deals",
    ),
    Metric(
        "returns/mean",
        "mean over the learner's decisions of the target of V, A + V or with dmc the return: the "
        "reward still to come",
        "reward",
        "rises with the share of tables against weaker opponents; near 0 in pure self-play",
    ),
    Metric(
        "returns/std",
        "standard deviation of the same targets",
        "reward",
        "steady; it says how much luck and skill there is to explain",
    ),
    Metric(
        "losses/policy",
        "-mean min(r A, clip(r, 1 - e, 1 + e) A), r the ratio of new to old probability; while a "
        "warm start lasts -mean log p of the cards played",
        "normalised advantage",
        "slightly negative; its size says little",
    ),
    Metric(
        "losses/value",
        "mean of (V - target)^2 / 2; with dmc V is the value of the card played",
        "reward squared",
        "falls quickly, then stays at the luck of the cards",
    ),
    Metric(
        "policy/entropy",
        "mean of -sum p log p over the legal cards",
        "nats",
        "falls slowly from about 1.3; near 0 early means that exploring has stopped",
    ),
    Metric(
        "policy/kl",
        "mean of r - 1 - log r: divergence of the rollout's policy from the new one",
        "nats",
        "0.001 to 0.02; above, the learning rate is too high",
    ),
    Metric(
        "policy/magnet_kl",
        "divergence of the policy from the magnet, mean of sum p (log p - log m); 0 without one",
        "nats",
        "rises after each renewal and flattens; 0.01 to 0.1",
    ),
    Metric(
        "policy/clip_fraction",
        "share of decisions with |r - 1| above ppo.clip",
        "0 to 1",
        "below 0.2",
    ),
    Metric(
        "critic/explained_variance",
        "1 - var(target - V) / var(target), V as it was in the rollout",
        "up to 1",
        "rises to 0.5 or more; below 0 the critic is worse than a constant",
    ),
    Metric(
        "values/explained_variance",
        "dmc: 1 - mean (V - target)^2 / var(target), V as it is just before each step",
        "up to 1",
        "rises, then stays below 1 by the luck of the cards; below 0 values are worse than a "
        "constant",
    ),
    Metric(
        "policy/epsilon",
        "dmc: probability of a card at random in the rollout",
        "0 to 1",
        "as configured",
    ),
    Metric(
        "hands/loss",
        "mean binary cross-entropy of the predicted hands, over the others' hidden cards; this and "
        "the next two only with network.predicts_hands",
        "nats",
        "below hands/base_loss, and falling as play tells more",
    ),
    Metric(
        "hands/base_loss",
        "the same for a prediction of each hand's share of the hidden cards, as counting gives it",
        "nats",
        "what the loss is to be compared with",
    ),
    Metric(
        "hands/calibration_error",
        "expected calibration error: mean over predictions of |mean p - share held| in their bin "
        "of ten",
        "0 to 1",
        "below 0.02; above, the predicted probabilities are not to be believed",
    ),
    Metric(
        "optimiser/grad_norm",
        "mean length of the gradient before it is shortened to max_grad_norm",
        "1",
        "steady; leaps announce divergence",
    ),
    Metric("optimiser/learning_rate", "Adam's step size in this update", "1", "as configured"),
    Metric("optimiser/entropy_weight", "weight of the entropy in the loss", "1", "as configured"),
    Metric(
        "speed/plays_per_second",
        "cards played at all tables, over the time of rollout and update",
        "1/s",
        "steady; halves when another process takes a core",
    ),
    Metric(
        "speed/decisions_per_second",
        "the learner's decisions that were trained on, over the same time",
        "1/s",
        "as above; budgets count these decisions",
    ),
)


def glossary() -> str:
    """Return the table of metrics in Markdown, as ``docs/training.md`` holds it."""
    lines = ["| tag | formula | unit | what good looks like |", "|---|---|---|---|"]
    for metric in METRICS:
        cells = (f"`{metric.tag}`", metric.formula, metric.unit, metric.good)
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines)


def _known_tag(tag: str) -> bool:
    prefix = tag.partition("/")[0] + "/" + OPPONENT
    return any(metric.tag in (tag, prefix) for metric in METRICS)


class MetricLog:
    """Writes one row an update, to TensorBoard and to ``metrics.jsonl``.

    Parameters
    ----------
    folder : Path
        The run folder.
    first_update : int
        Rows of this update and later ones, left by a run that was stopped, are dropped.
    on_skipped : callable, optional
        Told in one line, if lines of the file were damaged; they are dropped too.

    Raises
    ------
    OSError
        From every method, if the files cannot be written.
    """

    def __init__(
        self,
        folder: Path,
        first_update: int = 0,
        on_skipped: Callable[[str], None] | None = None,
    ) -> None:
        file = RunFolder(folder).metrics
        kept = [row for row in read_metrics(folder, on_skipped) if row["update"] < first_update]
        purge_step = int(kept[-1]["decisions"]) + 1 if kept else 0
        write_whole(file, "".join(json.dumps(row) + "\n" for row in kept).encode())
        self._file = file.open("a", encoding="utf-8")
        self._board = _summary_writer(RunFolder(folder).tensorboard, purge_step)

    def write(self, row: dict[str, float]) -> None:
        """Write a row: ``update``, ``decisions``, ``seconds`` and the metrics by tag."""
        self._file.write(json.dumps(row) + "\n")
        self._file.flush()
        for tag, value in row.items():
            if "/" not in tag:
                continue
            assert _known_tag(tag), f"metric {tag} is not in METRICS"
            self._board.add_scalar(tag, value, int(row["decisions"]))

    def close(self) -> None:
        """Close the files."""
        self._file.close()
        self._board.close()


def _summary_writer(folder: Path, purge_step: int) -> SummaryWriter:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # tensorboard's own, at import
        from torch.utils.tensorboard import SummaryWriter

    return SummaryWriter(str(folder), purge_step=purge_step)


def read_metrics(
    folder: Path, on_skipped: Callable[[str], None] | None = None
) -> list[dict[str, Any]]:
    """Return the rows of a run's ``metrics.jsonl``; without the file, none.

    Damaged lines, such as a last one that was cut off, are left out.

    Parameters
    ----------
    folder : Path
    on_skipped : callable, optional
        Told in one line how many lines were damaged, if any were.
    """
    file = RunFolder(folder).metrics
    if not file.exists():
        return []
    lines = file.read_bytes().splitlines()
    rows = [row for row in map(parse_row, lines) if row is not None]
    skipped = len(lines) - len(rows)
    if skipped and on_skipped is not None:
        on_skipped(f"{file}: {skipped} of {len(lines)} lines are damaged and were skipped")
    return rows


def parse_row(line: bytes) -> dict[str, Any] | None:
    """Return the row of a line of ``metrics.jsonl``; None if it is damaged."""
    try:
        row = json.loads(line.decode())
    except (ValueError, RecursionError):
        return None
    if not isinstance(row, dict) or not {"update", "decisions"} <= row.keys():
        return None
    is_whole = all(type(value) in (int, float) and isfinite(value) for value in row.values())
    counts = (row["update"], row["decisions"])
    return row if is_whole and all(type(one) is int and one >= 0 for one in counts) else None
