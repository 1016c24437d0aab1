"""Training configs: every setting with its meaning and bounds, and the reader of the YAML files.

A config is checked as a whole before anything starts. An error names the file, the line, the key,
what was expected and what came (``config_file``).
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    field_validator,
    model_serializer,
    model_validator,
)

from tressette_env.errors import did_you_mean, shown
from tressette_env.observation import layout_for
from tressette_env.policies import installed_additions, installed_agents
from tressette_env.randomness import MAX_SEED
from tressette_env.rulesets import RuleSet, get_rules

__all__ = [
    "MAX_SNAPSHOTS",
    "BenchmarkConfig",
    "CheckpointConfig",
    "CriticConfig",
    "DmcConfig",
    "EvaluationConfig",
    "NetworkConfig",
    "OpponentsConfig",
    "PpoConfig",
    "RewardConfig",
    "RolloutConfig",
    "TrainConfig",
    "UpdateConfig",
    "can_end_exactly",
]

MAX_SNAPSHOTS = 1000  # that a run may keep; a checkpoint with more is damaged
_MANY = 10**9  # the most of what is counted in updates, or decisions of one update
_BYTES_A_PLAY = 40  # of a rollout, beside the observation
_MAX_BYTES = 32 << 30  # of the rollouts of an update
_SECTION_OF = {"ppo": "ppo", "critic": "ppo", "dmc": "dmc"}  # algorithms that need sections
_MAX_SPEC = 1000  # characters of an agent's spec, which may hold a path


class _Section(BaseModel):
    """A part of a config: unknown keys are refused, values are not converted."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class RolloutConfig(_Section):
    """How experience is gathered between two updates."""

    tables: int = Field(default=2048, ge=2, le=65536, description="tables that play at once")
    deals: int = Field(default=1, ge=1, le=64, description="deals played at each table")
    exact_endings: bool = Field(
        default=False,
        description="two seats: whether a deal ends with its stock, for what the last tricks are "
        "worth with best play; the policy then plays them exactly",
    )


class RewardConfig(_Section):
    """What the learner is paid."""

    kind: Literal["tricks", "house"] = Field(
        default="tricks",
        description="tricks: thirds won more than lost, trick by trick; house: the deal's margin "
        "in the house's unit at its end",
    )
    scale: float = Field(default=10.0, ge=1e-3, le=1000, description="rewards are divided by this")


class NetworkConfig(_Section):
    """The policy's network."""

    kind: Literal["mlp", "suit_shared", "history"] = Field(
        default="mlp",
        description="mlp: fully connected layers with ReLU; suit_shared: the same layers for each "
        "suit, and a share of what the others say; history: a transformer over the plays in their "
        "order, then an mlp",
    )
    hidden: list[int] = Field(
        default=[256, 256],
        max_length=16,
        description="widths of its layers; with suit_shared for each suit",
    )
    sees: Literal["flat", "leads"] = Field(
        default="flat",
        description="leads: mlp and suit_shared also see which cards led tricks, and who led them",
    )
    predicts_hands: bool = Field(
        default=False,
        description="whether its layers also learn to predict the others' hands (ppo.hand_weight); "
        "in training only",
    )

    @field_validator("hidden")
    @classmethod
    def _check_widths(cls, widths: list[int]) -> list[int]:
        return _check_widths(widths)

    @model_validator(mode="after")
    def _needs_a_layer(self) -> Self:
        if self.kind != "mlp" and not self.hidden:
            raise ValueError(
                f"{self.kind}: expected at least one width in network.hidden, got none"
            )
        if self.kind == "history" and self.sees != "flat":
            raise ValueError("history sees every play in order; leave out network.sees")
        return self

    @property
    def observation(self) -> Literal["flat", "leads", "history"]:
        """The kind of observation that it reads."""
        return "history" if self.kind == "history" else self.sees


class CriticConfig(_Section):
    """The network that judges positions in training; no part of the policy."""

    hidden: list[int] = Field(
        default=[],
        max_length=16,
        description="widths of its own layers; empty: it shares the policy's",
    )
    sees: Literal["view", "hands", "hands_and_stock"] = Field(
        default="view",
        description="what it sees: what the seat may know, the others' hands, too, or also the "
        "order of the stock; more than the view needs layers of its own",
    )

    @field_validator("hidden")
    @classmethod
    def _check_widths(cls, widths: list[int]) -> list[int]:
        return _check_widths(widths)

    @model_validator(mode="after")
    def _needs_layers(self) -> Self:
        if self.sees != "view" and not self.hidden:
            raise ValueError(
                f"sees: {self.sees} needs layers of the critic's own: expected widths in "
                "critic.hidden, got none"
            )
        return self


class UpdateConfig(_Section):
    """What every algorithm's update has.

    In all its sections what has a ``_final`` moves in a straight line to that share of its value.
    """

    learning_rate: float = Field(default=1e-3, gt=0, le=1, description="step size of Adam")
    learning_rate_final: float = Field(
        default=0.1, ge=0, le=10, description="at the end of the budget, as a share of the first"
    )
    epochs: int = Field(default=1, ge=1, le=100, description="passes over each rollout")
    minibatch: int = Field(default=8192, ge=2, le=_MANY, description="decisions an optimiser step")
    max_grad_norm: float = Field(default=0.5, gt=0, description="longer gradients are shortened")


class PpoConfig(UpdateConfig):
    """The update of ``algorithm: ppo``."""

    clip: float = Field(default=0.2, gt=0, le=1, description="how far the policy's ratio counts")
    entropy: float = Field(default=0.02, ge=0, le=10, description="weight of the entropy bonus")
    entropy_final: float = Field(
        default=0.25, ge=0, le=10, description="at the end of the budget, as a share of the first"
    )
    magnet: float = Field(
        default=0.0,
        ge=0,
        le=100,
        description="weight of the KL divergence from the magnet, an earlier copy of the policy",
    )
    magnet_every: int = Field(
        default=50, ge=1, le=_MANY, description="updates after which the magnet is the policy again"
    )
    value_weight: float = Field(default=0.5, ge=0, le=100, description="weight of the value loss")
    hand_weight: float = Field(
        default=0.1,
        ge=0,
        le=100,
        description="weight of the loss of predicting hands, with network.predicts_hands",
    )
    gae_lambda: float = Field(default=0.95, ge=0, le=1, description="lambda of GAE; gamma is 1")


class DmcConfig(UpdateConfig):
    """The update, and the choice of cards in rollouts, of ``algorithm: dmc``."""

    epsilon: float = Field(
        default=0.1, ge=0, le=1, description="probability of a card at random in rollouts"
    )
    epsilon_final: float = Field(
        default=0.1, ge=0, le=1, description="at the end of the budget, as a share of the first"
    )


class OpponentsConfig(_Section):
    """Who sits at the tables that are not played by the learner alone."""

    share: float = Field(
        default=0.5, ge=0, le=1, description="share of the tables with an opponent from the pool"
    )
    agents: dict[Annotated[str, Field(max_length=_MAX_SPEC)], float] = Field(
        default={"greedy": 2.0, "random": 1.0},
        description="agents by spec, each with its weight in the pool",
    )
    snapshots: float = Field(
        default=1.0, ge=0, le=1e6, description="weight of earlier snapshots of the learner"
    )
    snapshot_choice: Literal["hard", "uniform"] = Field(
        default="hard",
        description="which snapshots play: hard, the more often the more they win against the "
        "learner; uniform, each as often",
    )
    snapshot_every: int = Field(
        default=20, ge=1, le=_MANY, description="updates between two snapshots"
    )
    keep: int = Field(
        default=10, ge=1, le=MAX_SNAPSHOTS, description="snapshots kept, the newest ones"
    )

    @field_validator("agents")
    @classmethod
    def _check_agents(cls, agents: dict[str, float]) -> dict[str, float]:
        for spec, weight in agents.items():
            _check_installed(spec)
            if not 0 <= weight <= 1e6:
                raise ValueError(f"weight of {shown(spec)}: expected 0 to 1,000,000, got {weight}")
        return agents

    @model_validator(mode="after")
    def _needs_somebody(self) -> Self:
        if self.share > 0 and not any((*self.agents.values(), self.snapshots)):
            raise ValueError(
                "a share of the tables needs opponents: expected a weight above 0 in agents or "
                "snapshots, or share: 0"
            )
        return self


class CheckpointConfig(_Section):
    """What is kept to go on from."""

    every: int = Field(default=25, ge=1, le=_MANY, description="updates between two checkpoints")


class EvaluationConfig(_Section):
    """Measurements while training; the best policy by their mean margin is kept beside the last."""

    every: int = Field(
        default=0, ge=0, le=_MANY, description="updates between two measurements; 0: none"
    )
    agents: list[Annotated[str, Field(max_length=_MAX_SPEC)]] = Field(
        default=["greedy"], min_length=1, max_length=100
    )
    deals: int = Field(
        default=500, ge=2, le=10_000_000, description="shuffles, each played in every seating"
    )
    seed: int = Field(default=2, ge=0, le=MAX_SEED)

    @field_validator("agents")
    @classmethod
    def _check_agents(cls, agents: list[str]) -> list[str]:
        for spec in agents:
            _check_installed(spec)
        return agents


class BenchmarkConfig(_Section):
    """The measurement after training (``--benchmark``)."""

    agents: list[Annotated[str, Field(max_length=_MAX_SPEC)]] = Field(
        default=["random", "greedy"], min_length=1, max_length=100
    )
    deals: int = Field(
        default=2000, ge=2, le=10_000_000, description="shuffles, each played in every seating"
    )
    seed: int = Field(default=1, ge=0, le=MAX_SEED)

    @field_validator("agents")
    @classmethod
    def _check_agents(cls, agents: list[str]) -> list[str]:
        for spec in agents:
            _check_installed(spec)
        return agents


class TrainConfig(_Section):
    """A whole training run."""

    rules: str = Field(default="playmore", max_length=100, description="rule set preset")
    algorithm: Literal["ppo", "dmc"] = Field(
        default="ppo",
        description="ppo: proximal policy optimisation with a critic; dmc: deep Monte Carlo. "
        "Sections of the other one are refused",
    )
    seed: int = Field(default=0, ge=0, le=MAX_SEED, description="decides everything random")
    decisions: int | None = Field(
        default=None, ge=1, le=10**15, description="the learner's decisions to train on, in all"
    )
    minutes: float | None = Field(
        default=None,
        gt=0,
        le=_MANY,
        description="time to train, updates only; the policy then depends on the machine's speed",
    )
    start_from: Annotated[str, Field(max_length=_MAX_SPEC)] | None = Field(
        default=None,
        description="policy file or run folder whose policy the learner starts as; its network is "
        "of the same kind and widths",
    )
    shards: int = Field(
        default=2,
        ge=1,
        le=256,
        description="equal parts that every update is computed in; at most one thread each",
    )
    torch_threads: int | Literal["auto"] = Field(
        default="auto",
        description="threads that compute the shards; auto measures. Results do not depend on it",
    )
    device: Literal["auto", "cpu", "cuda"] = Field(
        default="auto",
        description="where the networks compute; auto: on a GPU that torch reaches through CUDA, "
        "if there is one for each process, else on the processor",
    )
    precision: Literal["float32", "bfloat16"] = Field(
        default="float32",
        description="how the hidden layers multiply while training; bfloat16 is quicker on "
        "processors that can, and rounds more",
    )
    warm_start: Annotated[str, Field(max_length=_MAX_SPEC)] | None = Field(
        default=None,
        description="agent whose cards the policy learns first, by spec, as flat:worlds=40",
    )
    warm_start_updates: int = Field(
        default=25, ge=1, le=_MANY, description="updates in which it does"
    )
    rollout: RolloutConfig = RolloutConfig()
    reward: RewardConfig = RewardConfig()
    network: NetworkConfig = NetworkConfig()
    critic: CriticConfig = CriticConfig()
    ppo: PpoConfig = PpoConfig()
    dmc: DmcConfig = DmcConfig()
    opponents: OpponentsConfig = OpponentsConfig()
    checkpoint: CheckpointConfig = CheckpointConfig()
    evaluation: EvaluationConfig = EvaluationConfig()
    benchmark: BenchmarkConfig = BenchmarkConfig()

    @field_validator("rules")
    @classmethod
    def _check_rules(cls, rules: str) -> str:
        return get_rules(rules).name

    @field_validator("warm_start")
    @classmethod
    def _check_warm_start(cls, spec: str | None) -> str | None:
        if spec is not None:
            _check_installed(spec)
        return spec

    @field_validator("torch_threads", mode="before")
    @classmethod
    def _check_threads(cls, threads: object) -> object:
        is_number = isinstance(threads, int) and not isinstance(threads, bool)
        if threads != "auto" and not (is_number and threads in range(1, 257)):
            raise ValueError(f"expected 'auto' or 1 to 256 threads, got {shown(threads)}")
        return threads

    @model_validator(mode="after")
    def _check_budget(self) -> Self:
        if self.decisions is None and self.minutes is None:
            raise ValueError("expected a budget: decisions, minutes, or both; got neither")
        return self

    @property
    def budget(self) -> str:
        """What training may use, in words."""
        decisions = [] if self.decisions is None else [f"{self.decisions:,} decisions"]
        minutes = [] if self.minutes is None else [f"{self.minutes:g} minutes"]
        return " or ".join(decisions + minutes)

    def used(self, decisions: int, seconds: float) -> float:
        """Return the share of the budget that is used up; 1 or more: training is finished.

        Parameters
        ----------
        decisions : int
            Of the learner, that were trained on.
        seconds : float
            Spent on updates.
        """
        of_decisions = 0.0 if self.decisions is None else decisions / self.decisions
        of_minutes = 0.0 if self.minutes is None else seconds / (60 * self.minutes)
        return max(of_decisions, of_minutes)

    @property
    def _unused(self) -> set[str]:
        """Sections that only another algorithm has."""
        return {name for name, needs in _SECTION_OF.items() if needs != self.algorithm}

    @model_validator(mode="after")
    def _check_sections(self) -> Self:
        for name in sorted(self._unused & self.model_fields_set):
            raise ValueError(
                f"{name}: expected no settings of algorithm: {_SECTION_OF[name]} with "
                f"algorithm: {self.algorithm}"
            )
        if self.algorithm == "dmc" and self.network.predicts_hands:
            raise ValueError("network.predicts_hands: expected algorithm: ppo, got dmc")
        return self

    @model_serializer(mode="wrap")
    def _without_unused_sections(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out what would be refused on reading."""
        return {name: value for name, value in dump(self).items() if name not in self._unused}

    @model_validator(mode="after")
    def _check_shards(self) -> Self:
        if self.rollout.tables % self.shards or self.rollout.tables < 2 * self.shards:
            raise ValueError(
                f"rollout.tables: expected a multiple of shards ({self.shards}), at least 2 tables "
                f"a shard; got {self.rollout.tables}"
            )
        rules = get_rules(self.rules)
        plays = self.rollout.tables * self.rollout.deals * rules.deck_size
        features = layout_for(rules, kind=self.network.observation).size
        size = plays * (features + _BYTES_A_PLAY)
        if size > _MAX_BYTES:
            raise ValueError(
                f"rollout.tables: expected at most {_MAX_BYTES >> 30} GiB of rollouts, got about "
                f"{size >> 30} GiB; make rollout.tables or rollout.deals smaller"
            )
        if self.rollout.exact_endings:
            if not can_end_exactly(rules):
                raise ValueError(
                    "rollout.exact_endings: expected rules with two seats and a stock in which "
                    f"more wins, got {rules.name}"
                )
            if self.reward.kind != "tricks":
                raise ValueError(
                    "rollout.exact_endings: expected reward.kind: tricks, for what an ending is "
                    f"worth is in thirds; got {self.reward.kind}"
                )
        minibatch = (self.dmc if self.algorithm == "dmc" else self.ppo).minibatch
        if minibatch < self.shards:
            raise ValueError(
                f"{self.algorithm}.minibatch: expected at least one decision for each of the "
                f"shards ({self.shards}), got {minibatch}"
            )
        return self


def can_end_exactly(rules: RuleSet) -> bool:
    """Whether deals of the rules can be cut at the empty stock (``rollout.exact_endings``)."""
    return rules.seats == 2 and not rules.fewest_wins and rules.stock_size > 0


def _check_widths(widths: list[int]) -> list[int]:
    for width in widths:
        if not 1 <= width <= 8192:
            raise ValueError(f"expected widths from 1 to 8192, got {shown(width)}")
    return widths


def _check_installed(spec: str) -> None:
    """Refuse a spec of an agent, or of an addition after a plus, that is not installed."""
    base, plus, addition = spec.rpartition("+")
    while plus and addition in installed_additions():
        spec = base
        base, plus, addition = spec.rpartition("+")
    name, known = spec.partition(":")[0], installed_agents()
    if name not in known:
        raise ValueError(
            f"unknown agent {shown(name)}{did_you_mean(name, known)} "
            f"(installed: {', '.join(sorted(known))})"
        )
