"""Whole matches to the target: both seatings of the same decks, and who won them."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tressette_env.asking import ask
from tressette_env.batch import BatchTable
from tressette_env.batch_dice import decision_seeds
from tressette_env.deals import deck_of
from tressette_env.errors import OptionError, RulesError
from tressette_env.policies import make_agent
from tressette_env.rulesets import get_rules
from tressette_train.cli import main
from tressette_train.match_play import side_seed
from tressette_train.whole_matches import evaluate_matches


def match_by_hand(
    sides: tuple[str, str], house: str, number: int, matches: int, seed: int
) -> tuple[int, int]:
    """Winner's side (-1: nobody) and deals of one match at a table of its own."""
    rules = get_rules(house)
    agents = [make_agent(spec) for spec in sides]
    leader = int(BatchTable(1, rules, seed, first_deal=number).seats[0])
    decks = [(deck_of(rules, seed, number + k * matches), leader) for k in range(60)]
    table = BatchTable(1, rules, deals=decks, episode="match")
    deals = 1
    while True:
        seat, ply = int(table.seats[0]), table.plies
        deal = np.array([number + (deals - 1) * matches])
        dice = decision_seeds(side_seed(seed, seat % 2), deal, ply)
        step = table.play(ask(agents[seat % 2], table.views(), rules, dice))
        if step.is_over[0]:
            return {1: 0, -1: 1, 0: -1}[int(step.margins[0])], deals
        deals += int(table.plies[0] == 0)


def test_matches_are_those_of_single_tables() -> None:
    house, matches, seed = "cuperativa", 4, 5
    (found,) = evaluate_matches(["greedy", "random"], house, matches, seed)
    for number in range(matches):
        for seating, sides in enumerate((("greedy", "random"), ("random", "greedy"))):
            winner, deals = match_by_hand(sides, house, number, matches, seed)
            won = 0.5 if winner < 0 else float(winner == seating)
            assert found.wins[number, seating] == won
            assert found.deals[number, seating] == deals


def test_the_other_order_of_names_gives_the_other_side_of_every_match() -> None:
    (one,) = evaluate_matches(["greedy", "counting"], "playmore", 10, 3)
    (other,) = evaluate_matches(["counting", "greedy"], "playmore", 10, 3)
    assert np.array_equal(one.wins, 1 - other.wins[:, ::-1])
    assert np.array_equal(one.deals, other.deals[:, ::-1])


def test_against_itself_an_agent_wins_half() -> None:
    (found,) = evaluate_matches(["greedy", "greedy"], "playmore", 6, 1)
    assert (found.wins.sum(1) == 1).all()
    assert found.win_rate.mean == 0.5


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> None:
    monkeypatch.setattr("sys.argv", ["tressette", "eval", *arguments])
    main()


def test_the_stronger_agent_wins_nearly_all_matches(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        run(monkeypatch, "greedy", "random", "--matches", "40", "--seed", "2", "--json")
    assert not ended.value.code
    (one,) = json.loads(capsys.readouterr().out)["results"]
    assert (one["rules"], one["target"], one["matches"], one["seed"]) == ("playmore", 21, 40, 2)
    low, high = one["win_rate_ci95"]
    assert 0.8 < low <= one["win_rate"] <= high <= 1
    assert np.mean(one["win_rate_by_seat"]) == pytest.approx(one["win_rate"])
    assert 2 <= one["deals_a_match"] <= 10


def test_four_seats_play_as_teams() -> None:
    (found,) = evaluate_matches(["greedy", "random"], "gamelake_partners", 6, 1)
    assert found.win_rate.mean > 0.7


def test_a_house_without_target_is_refused() -> None:
    with pytest.raises(RulesError, match="expected a house with a target, 'yeeqia' has none"):
        evaluate_matches(["greedy", "random"], "yeeqia", 10)


@pytest.mark.parametrize(
    ("agents", "matches", "message"),
    [
        (["greedy"], 10, "agents: expected at least two, got 1"),
        (["greedy", "random"], 1, "matches: expected an integer from 2 up, got 1"),
        (["greedy", "random"], 10**6, "matches: expected at most 100,000"),
    ],
)
def test_what_is_out_of_range_is_one_line(agents: list[str], matches: int, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        evaluate_matches(agents, "playmore", matches)


@pytest.mark.parametrize("option", [["--deals", "5"], ["--until", "1"], ["--workers", "2"]])
def test_options_of_deals_do_not_go_with_matches(
    option: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        run(monkeypatch, "greedy", "random", "--matches", "5", *option)
    assert f"{option[0]} does not go with --matches" in capsys.readouterr().err
