"""How strong are agents against each other: every pairing, on the same deals, in every seating.

The unit of every mean and interval is the pair: one deal played in both seatings, so that the luck
of the cards and of the first lead falls on both agents alike.
"""

from __future__ import annotations

import itertools
import math
import platform
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import tressette_env
from tressette_env.asking import failure_text
from tressette_env.errors import AgentFailedError, OptionError, TressetteError, shown
from tressette_env.observation import OBSERVATION_VERSION
from tressette_env.policies import Agent, BatchPolicy, SeatPolicy, as_agent
from tressette_env.randomness import check_seed
from tressette_env.rulesets import RuleSet, get_rules
from tressette_train.chunks import Chunk, Player, cut, looks
from tressette_train.critic import Critic, CriticError, load_critic
from tressette_train.eval_record import DealsRecord
from tressette_train.eval_workers import EvalWorkers
from tressette_train.intervals import mean_sequence
from tressette_train.match_play import PairedDeals, play_pairing
from tressette_train.pairing_result import PairingResult, summarise

__all__ = [
    "MAX_DEALS",
    "PairingResult",
    "cards_to_play",
    "check_deals",
    "check_rules",
    "evaluate",
    "summarise",
    "versions",
]

MAX_DEALS = 100_000_000  # of a pairing: days of playing, and gigabytes of margins
MAX_WORKERS = 256


def evaluate(
    agents: Sequence[str | SeatPolicy | BatchPolicy],
    rules: str | RuleSet = "playmore",
    deals: int = 2000,
    seed: int = 0,
    *,
    until: float | None = None,
    workers: int = 1,
    record: Path | None = None,
    critic: str | Critic | None = None,
    batch_size: int = 4096,
    on_progress: Callable[[int], None] | None = None,
    on_result: Callable[[PairingResult], None] | None = None,
) -> list[PairingResult]:
    """Play every pairing of the agents on deals 0 to ``deals - 1`` of the seed.

    Parameters
    ----------
    agents : sequence of str, SeatPolicy or BatchPolicy
        At least two; the same one twice plays against itself.
    rules : str or RuleSet
    deals : int
        Shuffles, at least 2; each is played in both seatings.
    seed : int
        0 to 2**63 - 1; the same seed gives the same result.
    until : float, optional
        Stop as soon as every pairing's ``margin_thirds`` (with a critic: ``margin_corrected``) is
        known to plus or minus so much; ``deals`` is the most then. The intervals are made for
        repeated looks.
    workers : int
        Processes that play; each makes its own agents from their specs. If an agent is an object,
        all is played here.
    record : Path, optional
        File of finished deals, for agents that are specs: what is in it is not played again.
    critic : str or Critic, optional
        Path of a critic's file, or ``kit``: takes the luck of the draws out of the margins.
    batch_size : int
        Deals that advance together, and that a process plays at once; the result does not depend
        on it.
    on_progress : callable, optional
        Called with the number of cards played since the last call; ``cards_to_play`` in all.
    on_result : callable, optional
        Called with each pairing's result when it has been played, so that none is lost if a later
        one is interrupted.

    Returns
    -------
    list of PairingResult
        The first agent against each later one, then the second, and so on.

    Raises
    ------
    OptionError, RulesError, AgentSpecError
        If an argument is out of range, or an agent does not exist or does not play the rules.
    AgentFailedError
        If an agent raises, or plays a card that it may not.
    CriticError
        If the critic is damaged, or not for these deals or agents.
    DealsRecordError
        If the record is damaged, or that of something else.
    """
    house = get_rules(rules)
    is_list = isinstance(agents, Iterable) and not isinstance(agents, str | bytes)
    if not is_list or len(agents := list(agents)) < 2:
        raise OptionError(f"agents: expected at least two, got {_shown(agents)}")
    check_deals(deals)
    _check_count(batch_size, "batch_size", 1)
    _check_count(workers, "workers", 1, MAX_WORKERS)
    check_seed(seed)
    if until is not None and not (isinstance(until, int | float) and 0 < until < math.inf):
        raise OptionError(f"until: expected a number of thirds above 0, got {shown(until)}")
    specs = [agent for agent in agents if isinstance(agent, str)]
    if record is not None and len(specs) < len(agents):
        raise OptionError("record: expected agents as specs, got an object; leave out record")
    made = [as_agent(agent, may_cheat=True) for agent in agents]
    for agent in made:
        check_rules(agent, house)
    judge = None if critic is None else _critic(critic, house, seed, made)
    pairs = list(itertools.combinations(made, 2))
    with ExitStack() as open_until_the_end:
        play: Player = _PlayHere(pairs, house, seed, judge)
        if workers > 1 and len(specs) == len(agents):
            named = list(itertools.combinations(specs, 2))
            play = open_until_the_end.enter_context(EvalWorkers(named, house, seed, workers, judge))
        if record is not None:
            kept = DealsRecord(record, specs, house, seed, versions(), judge)
            play = open_until_the_end.enter_context(kept).around(play)
        return _Evaluation(
            pairs, house, seed, until, judge, on_result or (lambda result: None)
        ).run(play, int(deals), batch_size, on_progress or (lambda cards: None))


def _critic(critic: str | Critic, house: RuleSet, seed: int, agents: Sequence[Agent]) -> Critic:
    """Return a critic that was found right for these deals and agents."""
    if not isinstance(critic, str | Critic):
        raise OptionError(f"critic: expected a path, 'kit' or a Critic, got {shown(critic)}")
    found = load_critic(critic, house) if isinstance(critic, str) else critic
    found.check_use(house, seed)
    for agent in agents:
        if agent.cheats:
            raise CriticError(
                f"critic {found.name}: expected agents that do not see the stock, {agent.spec!r} "
                "does: its draws are no luck; leave out one of them"
            )
    return found


@dataclass(frozen=True)
class _PlayHere:
    """The ``Player`` that needs no other process."""

    pairs: Sequence[tuple[Agent, Agent]]
    rules: RuleSet
    seed: int
    critic: Critic | None

    def __call__(
        self, chunks: Sequence[Chunk], on_progress: Callable[[int], None]
    ) -> Iterator[tuple[Chunk, PairedDeals]]:
        for chunk in chunks:
            count = chunk.stop - chunk.start
            yield (
                chunk,
                play_pairing(
                    *self.pairs[chunk.pairing],
                    self.rules,
                    count,
                    self.seed,
                    first_deal=chunk.start,
                    batch_size=count,
                    critic=self.critic,
                    on_progress=on_progress,
                ),
            )


@dataclass(frozen=True)
class _Evaluation:
    """What is measured, and who is told."""

    pairs: Sequence[tuple[Agent, Agent]]
    rules: RuleSet
    seed: int
    until: float | None
    critic: Critic | None
    on_result: Callable[[PairingResult], None]

    def run(
        self, play: Player, deals: int, batch_size: int, on_progress: Callable[[int], None]
    ) -> list[PairingResult]:
        """Play up to so many deals, and return every pairing's result."""
        played: list[dict[int, PairedDeals]] = [{} for _ in self.pairs]
        results: list[PairingResult] = []
        start = 0
        for stop in [deals] if self.until is None else looks(deals):
            chunks = cut(len(self.pairs), start, stop, batch_size)
            left = Counter(chunk.pairing for chunk in chunks)
            for chunk, paired in play(chunks, on_progress):
                played[chunk.pairing][chunk.start] = paired
                left[chunk.pairing] -= 1
                # In their order, whatever is finished first.
                while self.until is None and len(results) < len(played) and not left[len(results)]:
                    self._add(results, played)
            if self.until is not None and self._is_known(played, self.until):
                break
            start = stop
        while len(results) < len(played):
            self._add(results, played)
        return results

    def _is_known(self, played: list[dict[int, PairedDeals]], until: float) -> bool:
        """Whether every pairing's margin is known to plus or minus ``until``, for this look too."""
        margins = [mean_sequence(_joined(parts).best_thirds.mean(1)) for parts in played]
        return all(margin.half_width <= until for margin in margins)

    def _add(self, results: list[PairingResult], played: list[dict[int, PairedDeals]]) -> None:
        """Add the next pairing's result, and tell it."""
        number = len(results)
        paired = _joined(played[number])
        results.append(
            summarise(
                *self.pairs[number],
                self.rules,
                self.seed,
                paired,
                critic=self.critic,
                repeated=self.until is not None,
            )
        )
        self.on_result(results[-1])


def _joined(parts: dict[int, PairedDeals]) -> PairedDeals:
    return PairedDeals.join([parts[start] for start in sorted(parts)])


def cards_to_play(num_agents: int, rules: RuleSet, deals: int) -> int:
    """Cards that ``evaluate`` plays in all, for a progress bar."""
    pairings = num_agents * (num_agents - 1) // 2
    return pairings * deals * 2 * rules.deck_size


def versions() -> dict[str, Any]:
    """Versions that a result depends on."""
    return {
        "tressette": tressette_env.__version__,
        "observation": OBSERVATION_VERSION,
        "numpy": np.__version__,
        "python": platform.python_version(),
    }


def check_rules(agent: Agent, house: RuleSet) -> None:
    """Ask an agent whether it plays the rules; how it fails at that is told, too."""
    try:
        agent.check_rules(house)
    except TressetteError:
        raise
    except (Exception, SystemExit) as error:
        raise AgentFailedError(
            f"agent {agent.spec!r}, asked about {house.name!r}, raised {failure_text(error)}"
        ) from error


def check_deals(deals: object, name: str = "deals") -> None:
    """Raise ``OptionError`` unless a pairing can have so many deals."""
    _check_count(deals, name, 2, MAX_DEALS)


def _check_count(value: object, name: str, least: int, most: int | None = None) -> None:
    is_integer = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not is_integer or value < least:  # type: ignore[operator]
        raise OptionError(f"{name}: expected an integer from {least} up, got {shown(value)}")
    if most is not None and value > most:  # type: ignore[operator]
        raise OptionError(f"{name}: expected an integer up to {most:,}, got {shown(value)}")


def _shown(agents: object) -> str:
    if isinstance(agents, str | bytes):
        return f"the text {shown(agents)}; put it into a list"
    if isinstance(agents, list):
        return ", ".join(map(shown, agents)) or "none"
    return f"{shown(agents)}; put specs or agents into a list"
