"""What agents give away: nothing by exact play, and what an independent count says otherwise."""

from __future__ import annotations

import json
import shlex

import numpy as np
import pytest
from test_cli import run

from tressette_agents.solver import EndingSolver, card_values, solve_ending
from tressette_env.errors import AgentFailedError, AgentSpecError, OptionError, RulesError
from tressette_env.notation import parse_record, record_text
from tressette_env.policies import Agent, make_agent
from tressette_env.rules import deal, play_card
from tressette_env.rulesets import PRESETS, RuleSet
from tressette_env.state import new_state
from tressette_train import played_deals
from tressette_train.blunders import find_blunders, losses_of
from tressette_train.evaluate import evaluate
from tressette_train.exploit.agent_plans import PolicyReader, policy_at
from tressette_train.exploit.endings import exact_margins
from tressette_train.exploit.game import build_game
from tressette_train.exploit.measure import Reference, reference
from tressette_train.exploit.plans import best_response, plan_of
from tressette_train.exploit.stock_losses import _card_values, _losses, stock_losses
from tressette_train.match_play import play_pairing
from tressette_train.played_deals import play_deals

PLAYMORE = PRESETS["playmore"]


# ----------------------------------------------------------------------------- played deals


@pytest.mark.parametrize("house", ["playmore", "gamelake", "gamelake_partners", "mini_2x4"])
def test_the_deals_are_those_of_match_play(house: str) -> None:
    rules = PRESETS[house]
    first, second = make_agent("counting"), make_agent("random")
    expected = play_pairing(first, second, rules, 30, 5)
    there = play_deals((first, second), rules, 5, 10, 20)
    back = play_deals((second, first), rules, 5, 10, 20)
    assert (there.thirds @ [1, -1] == expected.margins_thirds[10:, 0]).all()
    assert (back.thirds @ [-1, 1] == expected.margins_thirds[10:, 1]).all()
    for row in (0, 19):
        record = there.record(row)
        assert parse_record(record_text(record)) == record
        assert record.deals[0].number == 10 + row


def test_one_deal_by_itself_is_the_same_deal() -> None:
    sides = make_agent("random"), make_agent("greedy")
    many, one = play_deals(sides, PLAYMORE, 3, 0, 8), play_deals(sides, PLAYMORE, 3, 6, 1)
    assert (one.cards[0] == many.cards[6]).all()
    assert one.record(0) == many.record(6)


class Fails(Agent):
    spec = "fails"

    def act(self, view: object, seed: int) -> int:
        raise KeyError("lost")


def test_an_agent_that_fails_is_named_with_the_deal() -> None:
    with pytest.raises(AgentFailedError, match=r"'fails' raised KeyError.*deal \d of seed 3"):
        play_deals((make_agent("random"), Fails()), PLAYMORE, 3, 4, 3)


# ----------------------------------------------------------------------------- endings


@pytest.mark.parametrize("house", ["playmore", "gamelake", "cuperativa", "mini_2x5"])
@pytest.mark.parametrize("opponent", [None, "random"])
def test_exact_endings_give_nothing_away(house: str, opponent: str | None) -> None:
    found = find_blunders("greedy+endings", opponent, house, deals=25, seed=2)
    assert found.losses.shape == (25, 2, PRESETS[house].hand_size)
    assert not found.losses.any()
    assert found.per_ending.ends == [0, 0]
    assert (found.perfect_endings, found.worst) == (1.0, ())


def test_losses_are_those_of_a_deal_replayed_card_by_card() -> None:
    game = play_deals((make_agent("random"), make_agent("greedy")), PLAYMORE, 1, 0, 6)
    expected = np.zeros((2, 6, 10), np.int64)
    for row in range(6):
        record = game.record(row).deals[0]
        state = new_state()
        deal(state, PLAYMORE, record.deck, record.leader)
        for ply, card in enumerate(record.plays):
            seat = state.turn
            own, other = state.hands[seat], state.hands[1 - seat]
            if state.drawn == 20:
                led = record.plays[ply - 1] if ply % 2 else None
                values = card_values(own, other, led)
                expected[seat, row, own.bit_count() - 1] = max(values.values()) - values[card]
            play_card(state, PLAYMORE, card)
    for seat in (0, 1):
        assert (losses_of(game, seat, EndingSolver()) == expected[seat]).all()
    assert expected.any()


def test_losses_add_up_to_what_exact_play_had_promised() -> None:
    game = play_deals((make_agent("greedy"), make_agent("random")), PLAYMORE, 4, 0, 20)
    lost = [losses_of(game, seat, EndingSolver()).sum(1) for seat in (0, 1)]
    for row in range(20):
        before, plays = new_state(), game.record(row).deals[0]
        deal(before, PLAYMORE, plays.deck, plays.leader)
        for card in plays.plays[:20]:
            play_card(before, PLAYMORE, card)
        leads = before.turn
        promised = solve_ending(before.hands[leads], before.hands[1 - leads])
        taken = int(game.thirds[row, leads]) - before.thirds[leads]
        assert taken == promised - lost[leads][row] + lost[1 - leads][row]


@pytest.mark.parametrize("agent", ["greedy", "random"])
def test_twice_the_losses_are_what_exact_endings_win(agent: str) -> None:
    # Until the stock is empty both seatings of a deal are the same game; then one plays exactly.
    found = find_blunders(agent, f"{agent}+endings", deals=60, seed=1)
    (result,) = evaluate([f"{agent}+endings", agent], deals=60, seed=1)
    assert (found.losses.sum(2).sum(1) == result.paired.margins_thirds.mean(1)).all()
    assert result.margin_thirds.mean == pytest.approx(2 * found.per_ending.mean)


def test_both_seats_of_an_agent_that_plays_itself_count() -> None:
    alone = find_blunders("greedy", deals=12, seed=3)
    named = find_blunders("greedy", "greedy", deals=12, seed=3)
    assert (alone.losses == named.losses).all()
    assert alone.worst == named.worst
    assert (alone.agent, alone.opponent) == ("greedy", "greedy")


def test_more_deals_keep_the_first_and_batches_do_not_matter(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = find_blunders("random", "greedy", deals=15, seed=3)
    monkeypatch.setattr(played_deals, "_BATCH", 4)
    parts = find_blunders("random", "greedy", deals=15, seed=3)
    assert (whole.losses == parts.losses).all()
    assert whole.worst == parts.worst
    fewer = find_blunders("random", "greedy", deals=9, seed=3)
    assert (fewer.losses == whole.losses[:9]).all()


def test_figures_are_means_of_the_losses() -> None:
    found = find_blunders("random", "greedy", deals=40, seed=1)
    content = found.to_json()
    assert content["loss_thirds"] == pytest.approx(found.losses.sum() / 80)
    rows = content["by_cards_left"]
    assert [row["cards_left"] for row in rows] == list(range(10, 0, -1))
    assert sum(row["loss_thirds"] for row in rows) == pytest.approx(content["loss_thirds"])
    assert (rows[-1]["loss_thirds"], rows[-1]["blunder_rate"]) == (0, 0)
    worst = found.worst[0]
    assert worst.loss_thirds == found.losses.max()
    assert worst.loss_thirds == found.losses[worst.deal, worst.seat, worst.cards_left - 1]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"rules": "gamelake_partners"}, RulesError, r"two seats.*got 4 seats; .*--rules playmore"),
        ({"rules": RuleSet("f", objective="fewest")}, RulesError, "got less wins"),
        ({"deals": 1}, OptionError, "deals: expected an integer from 2 up, got 1"),
        ({"seed": -1}, OptionError, "seed"),
        ({"opponent": "clairvoyant"}, AgentSpecError, "cheats"),
    ],
)
def test_what_cannot_be_measured(
    arguments: dict[str, object], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        find_blunders("greedy", **arguments)  # type: ignore[arg-type]


# ----------------------------------------------------------------------------- while there is stock

TINY = PRESETS["mini_2x4"].replace(deck=(6, 7, 9, 16, 17, 19), hand_size=2)


@pytest.fixture(scope="module")
def known() -> Reference:
    return reference(TINY, until=1e-4)


@pytest.mark.parametrize("agent", ["random", "greedy", "counting+endings"])
def test_losses_before_the_stock_ends_are_what_a_best_response_has_more(
    agent: str, known: Reference
) -> None:
    game, margins = known.game, known.margins
    gaps = []
    for seat, player in np.ndindex(2, 2):
        decisions, other = game.players[player], known.equilibrium.plans[1 - player]
        best, _ = best_response(game, margins, player, other)
        plan = plan_of(
            decisions, policy_at(decisions, seat, PolicyReader(make_agent(agent), TINY, 1))
        )
        own, others = plan[game.sequences[player]], other[game.sequences[1 - player]]
        gaps.append(best - (1 - 2 * player) * game.chance * (margins * own * others).sum())
    found = stock_losses(agent, TINY, known=known)
    assert found.samples is None
    assert (found.by_trick >= 0).all()
    assert found.by_trick.sum() == pytest.approx(np.mean(gaps))


def test_a_best_response_gives_nothing_away(known: Reference) -> None:
    game = build_game(TINY)
    assert (exact_margins(game) == known.margins).all()
    value, reply = best_response(game, known.margins, 0, known.equilibrium.plans[1])
    values = _card_values(known, 0)
    assert values[0] == pytest.approx(value)
    assert _losses(game.players[0], reply, values).sum() == pytest.approx(0)


# ----------------------------------------------------------------------------- the command


def test_the_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["blunders", "random", "--against", "greedy", "--deals", "20", "--seed", "1"]
    assert run(monkeypatch, *command) == 0
    text = capsys.readouterr().out
    assert text.startswith("playmore: random against greedy, 20 deals of seed 1, in both seats\n")
    assert max(map(len, text.splitlines())) <= 100
    assert run(monkeypatch, *command, "--json") == 0
    content = json.loads(capsys.readouterr().out)
    assert content["stock"] is None
    worst = content["worst"][0]
    assert worst["position"] in text
    # The command that it names says the same of the two cards.
    assert run(monkeypatch, *shlex.split(worst["position"])[1:], "--json") == 0
    solved = json.loads(capsys.readouterr().out)
    values = {card["card"]: card["value_thirds"] for card in solved["cards"]}
    assert values[worst["best"]] == solved["value_thirds"]
    assert values[worst["best"]] - values[worst["card"]] == worst["loss_thirds"]


def test_the_command_in_a_reduced_deck(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["blunders", "greedy+endings", "--rules", "mini_2x4", "--deals", "20"]
    assert run(monkeypatch, *command, "--json") == 0
    content = json.loads(capsys.readouterr().out)
    assert content["loss_thirds"] == 0
    stock = content["stock"]
    assert stock["policy"] == "exact"
    assert stock["loss_thirds"] == pytest.approx(sum(stock["by_trick"]))
    assert run(monkeypatch, *command) == 0
    assert f"trick 2: {stock['by_trick'][1]:.4f}" in capsys.readouterr().out


def test_a_mistake_is_told_in_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for command in (
        ["blunders", "greedi"],
        ["blunders", "greedy", "--rules", "gamelake_partners"],
        ["blunders", "greedy", "--deals", "1"],
        ["blunders"],
    ):
        assert run(monkeypatch, *command) == 2
        printed = capsys.readouterr()
        assert printed.out == ""
        assert printed.err.startswith("tressette: ")
        assert printed.err.count("\n") == 1
