"""Match play: the same deals from both sides, honest intervals, the same result every time."""

from __future__ import annotations

import dataclasses
import io
import json
import sys
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import scipy.stats
import torch
from rich.console import Console

from tressette_agents import make_agent
from tressette_agents.greedy import greedy_card
from tressette_agents.random import RandomAgent, random_card
from tressette_env.deals import deck_of, first_leader
from tressette_env.errors import AgentFailedError, AgentSpecError, OptionError, RulesError
from tressette_env.policies import Agent, decision_seed
from tressette_env.rules import deal, is_over, play_card, side_of
from tressette_env.rulesets import PRESETS, RuleSet, get_rules, playable_presets
from tressette_env.state import new_state
from tressette_env.view import View, view_of
from tressette_train.evaluate import PairingResult, cards_to_play, evaluate
from tressette_train.intervals import mean_interval, student_t_975
from tressette_train.match_play import play_pairing, side_seed
from tressette_train.tables import results_table

CHOOSE = {
    "greedy": lambda view, seed: greedy_card(view, view.rules),
    "random": random_card,
}


class OtherDice(Agent):
    """``random`` with dice of its own: as strong as ``random``, but not the same cards."""

    spec = "other_dice"
    inner = RandomAgent()

    def act_batch(self, views: Any, rules: RuleSet, seeds: Any) -> npt.NDArray[np.int64]:
        return self.inner.act_batch(views, rules, seeds ^ 0x5DEECE66D)


class Lowest(Agent):
    """The legal card with the lowest number; remembers the views it was asked about."""

    spec = "lowest"

    def __init__(self) -> None:
        self.asked: list[npt.NDArray[np.void]] = []

    def act_batch(self, views: Any, rules: RuleSet, seeds: Any) -> npt.NDArray[np.int64]:
        self.asked.append(views.copy())
        lowest = views["legal"] & -views["legal"]
        return np.log2(lowest.astype(np.float64)).astype(np.int64)


def one(agents: list[Any], rules: str | RuleSet = "playmore", **options: Any) -> PairingResult:
    (result,) = evaluate(agents, rules, **{"deals": 60, "seed": 1, **options})
    return result


# ----------------------------------------------------------------------------- what is played


@pytest.mark.parametrize("rules", ["playmore", "gamelake", "gamelake_partners", "mini_2x5"])
@pytest.mark.parametrize("agents", [("greedy", "random"), ("random", "random")])
def test_margins_are_those_of_the_deals_played_one_by_one(
    agents: tuple[str, str], rules: str
) -> None:
    """Both seatings of each deal, interpreted, with the seeds as documented (report 24)."""
    house, seed, deals = get_rules(rules), 77, 12
    paired = play_pairing(make_agent(agents[0]), make_agent(agents[1]), house, deals, seed)
    for number in range(deals):
        for first_side in range(2):
            state = new_state()
            leader = first_leader(house, seed, number)
            deal(state, house, deck_of(house, seed, number), leader)
            at_stocks_end = None
            while not is_over(state, house):
                if at_stocks_end is None and not view_of(state, house, 0).stock_left:
                    at_stocks_end = state.thirds[first_side] - state.thirds[1 - first_side]
                side = side_of(state.turn)
                spec = agents[0] if side == first_side else agents[1]
                dice = decision_seed(side_seed(seed, side), number, state.ply)
                play_card(state, house, CHOOSE[spec](view_of(state, house, state.turn), dice))
            ours, theirs = state.thirds[first_side], state.thirds[1 - first_side]
            assert paired.margins_thirds[number, first_side] == ours - theirs
            if house.stock_size:
                assert paired.stock_thirds is not None
                assert paired.stock_thirds[number, first_side] == at_stocks_end
            else:
                assert paired.stock_thirds is None
            unit = 3 if house.scoring == "points" else 1
            assert paired.margins_house[number, first_side] == ours // unit - theirs // unit
            assert paired.leads[number, first_side] == (side_of(leader) == first_side)


def test_both_agents_get_every_hand_of_the_same_deals() -> None:
    """Report 24: the agents are swapped between the seats, the cards stay."""
    first, second = Lowest(), Lowest()
    one([first, second], seed=4, deals=25)
    asked = [np.concatenate(agent.asked) for agent in (first, second)]
    openings = [
        {
            (int(view["seat"]), int(view["hand"]))
            for view in views
            if view["ply"] < 2 and not view["played"][0]
        }
        for views in asked
    ]
    expected = set()
    for number in range(25):
        deck = deck_of(PRESETS["playmore"], 4, number)
        for seat in range(2):
            hand = sum(1 << card for card in deck[10 * seat : 10 * seat + 10])
            expected.add((seat, hand))
    # A seat that plays second in a trick still holds its ten cards: every hand is seen whole.
    assert openings[0] == openings[1] == expected


def test_four_seats_play_as_partners_on_either_side() -> None:
    first, second = Lowest(), Lowest()
    one([first, second], "gamelake_partners", deals=5)
    for agent in (first, second):
        views = np.concatenate(agent.asked)
        # 5 deals, 10 cards a seat, all four seats over the two seatings
        assert np.bincount(views["seat"].astype(int)).tolist() == [50, 50, 50, 50]


# ----------------------------------------------------------------------------- the same every time


@pytest.mark.parametrize("rules", ["playmore", "gamelake_partners"])
def test_the_result_does_not_depend_on_the_batch_size(rules: str) -> None:
    results = [
        one(["random", OtherDice()], rules, deals=23, batch_size=size) for size in (1, 7, 23, 4096)
    ]
    for other in results[1:]:
        assert other.to_json() == results[0].to_json()
        assert (other.paired.margins_thirds == results[0].paired.margins_thirds).all()


def test_more_deals_keep_the_first_ones() -> None:
    few, many = one(["greedy", "random"], deals=20), one(["greedy", "random"], deals=50)
    assert (many.paired.margins_thirds[:20] == few.paired.margins_thirds).all()


def test_the_seed_decides() -> None:
    first = one(["greedy", "random"], seed=5)
    assert first.to_json() == one(["greedy", "random"], seed=5).to_json()
    other = one(["greedy", "random"], seed=6)
    assert (first.paired.margins_thirds != other.paired.margins_thirds).any()
    assert one(["greedy", "random"], seed=0).seed == 0


def test_agents_named_in_the_other_order_give_the_negated_margins() -> None:
    for rules in ("playmore", "gamelake_partners", "mini_2x4"):
        ahead, behind = one(["greedy", "random"], rules), one(["random", "greedy"], rules)
        flipped, own = behind.paired.swapped, ahead.paired
        for name in ("margins_thirds", "margins_house", "leads", "stock_thirds"):
            assert np.array_equal(getattr(own, name), getattr(flipped, name)), name
        assert ahead.margin_thirds.mean == -behind.margin_thirds.mean != 0
        assert ahead.margin_thirds.low == pytest.approx(-behind.margin_thirds.high)
        assert ahead.win_rate.mean == pytest.approx(1 - behind.win_rate.mean)


@pytest.mark.parametrize("spec", ["greedy", "random"])
def test_an_agent_against_itself_has_a_margin_of_exactly_zero(spec: str) -> None:
    result = one([spec, spec])
    assert result.margin_thirds.ends == [0, 0]
    assert result.win_rate.mean == 0.5
    assert result.paired.margins_thirds.any()


def test_every_pairing_is_played_on_the_same_deals() -> None:
    agents = ["greedy", "random", Lowest()]
    results = evaluate(agents, "playmore", 20, 3)
    names = [(result.agent, result.opponent) for result in results]
    assert names == [("greedy", "random"), ("greedy", "lowest"), ("random", "lowest")]
    for result in results:
        alone = one([_named(result.agent), _named(result.opponent)], deals=20, seed=3)
        assert alone.to_json() == result.to_json()


def _named(spec: str) -> Any:
    return Lowest() if spec == "lowest" else spec


# ----------------------------------------------------------------------------- the numbers


def test_means_and_splits_are_those_of_the_deals() -> None:
    result = one(["greedy", "random"], "playmore", deals=200, seed=8)
    thirds, house = result.paired.margins_thirds, result.paired.margins_house
    assert (result.deals, result.unit, result.rules) == (200, "points", "playmore")
    assert result.margin_thirds.mean == pytest.approx(thirds.sum() / 400)
    assert result.margin_house.mean == pytest.approx(house.sum() / 400)
    taken = (35 + thirds) // 2
    assert (house == taken // 3 - (35 - taken) // 3).all()
    won = house > 0
    assert result.win_rate.mean == pytest.approx(won.mean())
    assert result.win_rate_by_seat == pytest.approx((won[:, 0].mean(), won[:, 1].mean()))
    assert sum(result.margin_thirds_by_seat) / 2 == pytest.approx(result.margin_thirds.mean)
    leaders = np.array([first_leader(PRESETS["playmore"], 8, deal) for deal in range(200)])
    own = np.array([thirds[deal, leaders[deal]] for deal in range(200)])
    others = np.array([thirds[deal, 1 - leaders[deal]] for deal in range(200)])
    assert result.margin_thirds_by_lead == pytest.approx((own.mean(), others.mean()))
    assert result.win_rate_by_lead == pytest.approx(((own > 0).mean(), (others > 0).mean()))


def test_a_level_deal_counts_half_and_less_wins_where_the_house_says_so() -> None:
    fewest = RuleSet(name="fewest", objective="fewest")
    most = one(["greedy", "random"], deals=300)
    less = one(["greedy", "random"], fewest, deals=300)
    assert less.margin_thirds.mean == most.margin_thirds.mean
    assert less.margin_house.mean == -most.margin_house.mean
    assert less.win_rate.mean == pytest.approx(1 - most.win_rate.mean)
    # Two tricks, with 4 5 6 A of one suit: the ace and the last trick are three thirds each.
    level = RuleSet(name="level", scoring="thirds", target=None, deck=(0, 1, 2, 7), hand_size=2)
    result = one(["random", OtherDice()], level, deals=400)
    assert (result.paired.margins_house == 0).any()
    won, level_deals = (np.count_nonzero(result.paired.margins_house == m) for m in (6, 0))
    assert result.win_rate.mean == pytest.approx((won + level_deals / 2) / 800)


def test_the_interval_is_students_over_pairs() -> None:
    result = one(["greedy", "random"], deals=40)
    house = result.paired.margins_house
    for found, values in (
        (result.margin_thirds, result.paired.margins_thirds),
        (result.margin_house, house),
        (result.win_rate, np.where(house > 0, 1.0, np.where(house == 0, 0.5, 0.0))),
    ):
        pairs = values.mean(axis=1)
        ends = scipy.stats.t.interval(
            0.95, df=len(pairs) - 1, loc=pairs.mean(), scale=scipy.stats.sem(pairs)
        )
        assert found.mean == pytest.approx(pairs.mean(), rel=1e-12)
        assert found.ends == pytest.approx(list(ends), rel=1e-9)
    assert len({tuple(one.ends) for one in (result.margin_thirds, result.margin_house)}) == 2
    # Two deals are few: one degree of freedom.
    assert mean_interval(np.array([0.0, 2.0])).high == pytest.approx(1 + 12.7062, abs=1e-3)


def test_student_t_is_right_for_any_number_of_deals() -> None:
    for degrees in [*range(1, 260), 1000, 1999, 10**6]:
        expected = scipy.stats.t.ppf(0.975, degrees)
        assert student_t_975(degrees) == pytest.approx(expected, rel=1e-8), degrees


def test_the_interval_covers_the_truth_about_19_times_in_20() -> None:
    """Two random agents are equally strong: the interval should hold 0 in 95 % of evaluations."""
    covered = 0
    for seed in range(300):
        result = one([RandomAgent(), OtherDice()], "mini_2x5", deals=40, seed=seed)
        assert result.margin_thirds.low < result.margin_thirds.high
        covered += result.margin_thirds.low <= 0 <= result.margin_thirds.high
    # binomial(300, 0.95) lies in this range with probability 0.999
    assert 271 <= covered <= 297


def test_pairing_takes_away_the_luck_of_the_cards() -> None:
    thirds = one(["greedy", "random"], "gamelake_partners", deals=2000).paired.margins_thirds
    unpaired = thirds.std(ddof=1) / np.sqrt(4000)
    assert thirds.mean(axis=1).std(ddof=1) / np.sqrt(2000) < 0.9 * unpaired


@pytest.mark.parametrize("name", playable_presets())
def test_greedy_beats_random_in_every_house(name: str) -> None:
    assert one(["greedy", "random"], name, deals=500, seed=2).margin_thirds.low > 0


def test_a_result_as_json() -> None:
    content = json.loads(json.dumps(one(["greedy", "random"]).to_json(), allow_nan=False))
    assert set(content) == {
        *("agent", "opponent", "rules", "deals", "seed", "margin_thirds", "ci95", "unit"),
        *("margin_house", "margin_house_ci95", "win_rate", "win_rate_ci95"),
        *("margin_thirds_by_seat", "win_rate_by_seat"),
        *("margin_thirds_by_lead", "win_rate_by_lead"),
        *("agent_cheats", "opponent_cheats"),
        *("interval", "ci95_bootstrap", "pairing_gain", "corrected"),
    }
    assert content["corrected"] is None
    assert content["interval"] == "student_t"
    assert content["agent_cheats"] is content["opponent_cheats"] is False
    assert content["ci95"][0] < content["margin_thirds"] < content["ci95"][1]
    assert set(content["win_rate_by_lead"]) == {"agent", "opponent"}


def test_progress_adds_up() -> None:
    cards: list[int] = []
    agents = ["greedy", "random", "random"]
    evaluate(agents, "mini_2x4", 30, 1, batch_size=8, on_progress=cards.append)
    assert sum(cards) == cards_to_play(3, PRESETS["mini_2x4"], 30) == 3 * 30 * 2 * 8


def test_every_result_is_told_as_soon_as_it_is_there() -> None:
    told: list[PairingResult] = []
    cards = [0]

    def on_result(result: PairingResult) -> None:
        told.append(result)
        assert sum(cards) == cards_to_play(2, PRESETS["mini_2x4"], 5) * len(told)

    results = evaluate(
        *(["greedy", "random", Lowest()], "mini_2x4", 5, 1),
        on_progress=cards.append,
        on_result=on_result,
    )
    assert told == results and len(told) == 3


# ----------------------------------------------------------------------------- agents that fail


class Faulty(Agent):
    """Plays by ``greedy`` until deal 3 (of seed 1) is in its tenth ply, then as told."""

    spec = "faulty"

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        deck = deck_of(PRESETS["playmore"], 1, 3)
        self.cards = {frozenset(deck[10 * seat : 10 * seat + 10]) for seat in range(2)}

    def act(self, view: View, seed: int) -> Any:
        dealt = frozenset(view.hand_cards) | frozenset(
            card for card in range(40) if view.played[0] >> card & 1
        )
        if view.ply >= 10 and any(hand <= dealt for hand in self.cards):
            return self.answer(view)
        return greedy_card(view, view.rules)


def _raise(view: View) -> int:
    raise ZeroDivisionError("nothing to share")


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda view: view.plays[0], ["not legal; expected one of", "played "]),
        (lambda view: 40, ["played no card (40), not legal"]),
        (lambda view: -1, ["played no card (-1), not legal"]),
        (_raise, ["raised ZeroDivisionError: nothing to share"]),
        (lambda view: sys.exit(0), ["raised SystemExit: 0"]),
    ],
)
@pytest.mark.parametrize("batch_size", [1, 4096])
def test_a_failing_agent_is_named_with_the_deal(
    answer: Any, words: list[str], batch_size: int
) -> None:
    """Report 23: never a silent loss, never a random card instead."""
    with pytest.raises(AgentFailedError) as caught:
        one(["greedy", Faulty(answer)], batch_size=batch_size)
    message = str(caught.value)
    for word in [
        *words,
        "agent 'faulty'",
        "deal 3 of seed 1; reproduce",
        "tressette eval greedy faulty --rules playmore --deals 4 --seed 1",
    ]:
        assert word in message
    # and what it says reproduces it
    with pytest.raises(AgentFailedError, match="deal 3 of seed 1"):
        one(["greedy", Faulty(answer)], deals=4)


@pytest.mark.parametrize(
    "answer",
    [
        np.array([3]),
        np.zeros((0,), np.int64),
        None,
        "3D",
        np.full(120, 3.0),
        [[1, 2], [3]],
        ["3"] * 60,
        [3.0] * 60,
        [True] * 60,
        [2**70] * 60,
        torch.ones(60, requires_grad=True),
    ],
)
def test_an_answer_that_is_no_array_of_cards_is_refused(answer: Any) -> None:
    class Odd(Agent):
        spec = "odd"

        def act_batch(self, views: Any, rules: RuleSet, seeds: Any) -> Any:
            return answer

    with pytest.raises(AgentFailedError, match=r"agent 'odd': expected an integer array of shape"):
        one([Odd(), "random"])


def test_an_object_with_only_act_can_be_measured() -> None:
    class Plain:
        def act(self, view: View, seed: int) -> int:
            return greedy_card(view, view.rules)

    result = one([Plain(), "greedy"])
    assert result.agent == "Plain"
    assert result.margin_thirds.ends == [0, 0]


def test_an_agent_that_does_not_play_the_house_is_not_asked() -> None:
    class TwoSeats(Agent):
        spec = "two_seats"

        def check_rules(self, rules: RuleSet) -> None:
            if rules.seats != 2:
                raise RulesError(f"two_seats does not play {rules.name}")

    with pytest.raises(RulesError, match="two_seats does not play gamelake_partners"):
        one(["greedy", TwoSeats()], "gamelake_partners")


@pytest.mark.parametrize(
    ("options", "error", "word"),
    [
        ({"agents": ["greedy"]}, OptionError, "at least two, got 'greedy'"),
        ({"agents": []}, OptionError, "at least two, got none"),
        ({"agents": "greedy"}, OptionError, "put it into a list"),
        ({"agents": 5}, OptionError, "at least two, got 5; put"),
        ({"agents": None}, OptionError, "at least two, got None; put"),
        ({"agents": object()}, OptionError, "at least two, got <object"),
        ({"deals": 10**12}, OptionError, "deals: expected an integer up to 100,000,000"),
        ({"agents": ["greedy", "rnadom"]}, AgentSpecError, "did you mean 'random'"),
        ({"rules": "playmroe"}, RulesError, "did you mean 'playmore'"),
        ({"rules": "fitres"}, RulesError, "fitres"),
        ({"deals": 1}, OptionError, "deals: expected an integer from 2 up, got 1"),
        ({"deals": 2.5}, OptionError, "deals"),
        ({"deals": True}, OptionError, "deals"),
        ({"seed": -1}, OptionError, "seed"),
        ({"seed": 2**63}, OptionError, "seed"),
        ({"seed": "1"}, OptionError, "seed"),
        ({"batch_size": 0}, OptionError, "batch_size"),
    ],
)
def test_wrong_arguments_are_refused(
    options: dict[str, Any], error: type[Exception], word: str
) -> None:
    with pytest.raises(error, match=word):
        evaluate(**{"agents": ["greedy", "random"], "deals": 4, **options})


def test_an_agent_that_fails_when_asked_about_the_rules_is_named() -> None:
    class Odd(Agent):
        spec = "odd"

        def check_rules(self, rules: RuleSet) -> None:
            raise KeyError(rules.name)

    with pytest.raises(AgentFailedError, match="'odd', asked about 'playmore', raised KeyError"):
        one(["greedy", Odd()])


# ----------------------------------------------------------------------------- how it is shown


@pytest.mark.parametrize("width", [20, 40, 60, 72, 78, 100])
@pytest.mark.parametrize("rules", ["playmore", "yeeqia"])
def test_every_figure_is_readable_in_any_width(rules: str, width: int) -> None:
    result = one(["greedy", "random"], rules)
    console = Console(file=io.StringIO(), width=width)
    console.print(results_table([result, result]))
    assert isinstance(console.file, io.StringIO)
    lines = console.file.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    text = "\n".join(lines)
    low, high = result.margin_thirds.ends
    figures = [f"{result.margin_thirds.mean:+.2f}", f"{low:+.2f} to {high:+.2f}"]
    figures += [f"{100 * result.win_rate.mean:.1f} %", "greedy", "random"]
    for figure in figures:
        assert text.count(figure) >= 2
    assert "…" not in text


def test_names_are_no_markup() -> None:
    agents: list[Any] = ["greedy", "random"]
    result = dataclasses.replace(one(agents), agent="learned:[red]")
    console = Console(file=io.StringIO(), width=100)
    console.print(results_table([result]))
    assert isinstance(console.file, io.StringIO)
    assert "learned:[red]" in console.file.getvalue()
