"""Margins without the luck of the draws: never another mean, whatever the critic says."""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import json
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from test_cli import run

from tressette_agents import make_agent
from tressette_env.batch import BatchTable
from tressette_env.batch_dice import decision_seeds
from tressette_env.cards import card_list, card_worth
from tressette_env.deals import deck_of
from tressette_env.errors import TressetteError
from tressette_env.rulesets import PRESETS, RuleSet
from tressette_train import cli, critic_fit
from tressette_train.compare import compare
from tressette_train.critic import (
    KIT,
    OWNERS,
    RANKS,
    Critic,
    CriticError,
    critic_from_bytes,
    critic_to_bytes,
    load_critic,
)
from tressette_train.draw_luck import draw_luck
from tressette_train.eval_record import DealsRecordError
from tressette_train.evaluate import evaluate
from tressette_train.match_play import play_pairing
from tressette_train.results_file import read_results

MINI = PRESETS["mini_2x4"]


def any_critic(rules: RuleSet, seed: int = 0, units: int = 3) -> Critic:
    """Return a critic that says just anything."""
    rng = np.random.default_rng(seed)
    phases = rules.stock_size // 2
    cards = (OWNERS, RANKS, units)
    critic = Critic(
        name="any",
        sha256="",
        house=rules.name,
        agent="nobody",
        seed=123,
        deals=0,
        hand_size=rules.hand_size,
        deck=rules.deck,
        bias=rng.normal(size=(phases, units)),
        output=rng.normal(size=(phases, units)),
        constant=rng.normal(size=phases),
        suit=rng.normal(size=cards),
        deck_wide=rng.normal(size=cards),
    )
    return critic_from_bytes(critic_to_bytes(critic), "any")


def plain_value(critic: Critic, leader: int, other: int, stock: list[int]) -> float:
    """Value as the module says, card by card."""
    held = [*((0, card) for card in card_list(leader)), *((1, card) for card in card_list(other))]
    held += [(2, card) for card in stock]
    phase = len(stock) // 2
    value = float(critic.constant[phase])
    for suit in range(4):
        pre = critic.bias[phase].copy()
        for owner, card in held:
            pre += critic.deck_wide[owner, card % 10]
            if card // 10 == suit:
                pre += critic.suit[owner, card % 10]
        value += float(critic.output[phase] @ np.maximum(pre, 0))
    return value


def plain_luck(state: Any, rules: RuleSet, critic: Critic) -> float:
    """Luck of side 0 in the last two draws, every other pair of cards put in their place."""
    drawn, leader = int(state["drawn"]), int(state["leader"])
    unseen = state["stock"][drawn - 2 : rules.stock_size].tolist()
    hands = [int(state["hands"][seat]) for seat in (leader, 1 - leader)]
    before = [hand & ~(1 << card) for hand, card in zip(hands, unseen[:2], strict=True)]
    values = {
        pair: plain_value(
            critic,
            before[0] | 1 << pair[0],
            before[1] | 1 << pair[1],
            [card for card in unseen if card not in pair],
        )
        for pair in itertools.permutations(unseen, 2)
    }
    luck = values[unseen[0], unseen[1]] - sum(values.values()) / len(values)
    return luck if leader == 0 else -luck


def luck_of_decks(
    rules: RuleSet, decks: list[tuple[int, ...]], leader: int, agents: list[str], critic: Critic
) -> npt.NDArray[np.float64]:
    """Luck of side 0 in each deal, played by the agents of seats 0 and 1."""
    table = BatchTable(len(decks), rules, 5, deals=[(deck, leader) for deck in decks])
    made = [make_agent(spec) for spec in agents]
    luck = np.zeros(len(decks))
    for ply in range(rules.deck_size):
        views, seats, cards = table.views(), table.seats, np.empty(len(decks), np.int64)
        for seat, agent in enumerate(made):
            at = np.flatnonzero(seats == seat)
            # The same dice in every deal: whatever the mean is, it is not the dice's doing.
            dice = decision_seeds(seat, np.zeros(len(at), np.int64), np.full(len(at), ply))
            cards[at] = agent.act_batch(views[at], rules, dice)
        table.play(cards)
        if ply % 2 and ply < rules.stock_size:
            luck += draw_luck(table.states, rules, critic)
    return luck


# ----------------------------------------------------------------------------- no other mean


@pytest.mark.parametrize("agents", [["greedy", "counting"], ["random", "greedy"]])
def test_over_all_orders_of_the_stock_luck_is_zero_whatever_the_critic_says(
    agents: list[str],
) -> None:
    decks = list(itertools.permutations(MINI.deck))
    # Hands are sets: of the decks that differ in the order within a hand one is enough.
    size = MINI.hand_size
    hands = range(0, MINI.seats * size, size)
    decks = [
        deck
        for deck in decks
        if all(deck[i : i + size] == tuple(sorted(deck[i : i + size])) for i in hands)
    ]
    assert len(decks) == math.comb(8, 2) * math.comb(6, 2) * math.factorial(4)
    for seed, leader in itertools.product(range(2), range(2)):
        luck = luck_of_decks(MINI, decks, leader, agents, any_critic(MINI, seed))
        assert np.abs(luck).max() > 0.1
        assert abs(luck.mean()) < 1e-12
        of_hands: dict[tuple[int, ...], list[float]] = {}
        for deck, one in zip(decks, luck.tolist(), strict=True):
            of_hands.setdefault(deck[: MINI.seats * size], []).append(one)
        assert max(abs(sum(values)) for values in of_hands.values()) < 1e-12


@pytest.mark.parametrize("house", ["mini_2x5", "playmore"])
def test_luck_is_that_of_the_formula(house: str) -> None:
    rules = PRESETS[house]
    critic = any_critic(rules, 3)
    table = BatchTable(2, rules, 8)
    for ply in range(rules.stock_size):
        table.play(make_agent("greedy").act_batch(table.views(), rules, np.zeros(2, np.int64)))
        if ply % 2 and (house != "playmore" or ply > 13):
            expected = [plain_luck(state, rules, critic) for state in table.states]
            assert draw_luck(table.states, rules, critic) == pytest.approx(expected, abs=1e-9)


def test_match_play_adds_up_the_luck_of_every_draw() -> None:
    rules = PRESETS["mini_2x5"]
    critic = any_critic(rules)
    agents = make_agent("greedy"), make_agent("counting")
    paired = play_pairing(*agents, rules, 20, 4, critic=critic)
    for seating in range(2):
        table = BatchTable(20, rules, 4)
        luck = np.zeros(20)
        for ply in range(rules.deck_size):
            cards = [
                agent.act_batch(table.views(), rules, np.zeros(20, np.int64)) for agent in agents
            ]
            table.play(np.where(table.seats == seating, *cards))
            if ply % 2 and ply < rules.stock_size:
                luck += draw_luck(table.states, rules, critic)
        assert paired.luck_thirds is not None
        assert (paired.luck_thirds[:, seating] == (-1) ** seating * luck).all()


def test_who_draws_the_better_cards_is_the_lucky_one() -> None:
    """By a critic that adds up the worth of both hands: this holds every sign and seat."""
    rules, deals, seed = PRESETS["mini_2x5"], 30, 4
    worth = np.array([[card_worth(rank) for rank in range(RANKS)]]).T * np.array([1.0, -1.0])
    suit = np.zeros((OWNERS, RANKS, 2))
    suit[0], suit[1] = worth, -worth  # of the leader, of the other; x = relu(x) - relu(-x)
    adding = dataclasses.replace(
        any_critic(rules, units=2),
        bias=np.zeros((rules.stock_size // 2, 2)),
        output=np.tile([1.0, -1.0], (rules.stock_size // 2, 1)),
        constant=np.zeros(rules.stock_size // 2),
        suit=suit,
        deck_wide=np.zeros((OWNERS, RANKS, 2)),
    )
    agents = make_agent("greedy"), make_agent("counting")
    luck = play_pairing(*agents, rules, deals, seed, critic=adding).luck_thirds
    assert luck is not None
    for seating in range(2):
        table = BatchTable(deals, rules, seed)
        drawn = np.zeros(deals)  # by the first agent, less by the second
        for ply in range(rules.stock_size):
            cards = [
                agent.act_batch(table.views(), rules, np.zeros(deals, np.int64)) for agent in agents
            ]
            table.play(np.where(table.seats == seating, *cards))
            if ply % 2:  # the winner, who leads now, has drawn first
                for deal in range(deals):
                    stock = deck_of(rules, seed, deal)[2 * rules.hand_size :]
                    first, second = (card_worth(card) for card in stock[ply - 1 : ply + 1])
                    drawn[deal] += (first - second) * (1 if table.seats[deal] == seating else -1)
        assert luck[:, seating] == pytest.approx(drawn, abs=1e-9)
        assert drawn.any()


def test_the_critic_of_the_kit_leaves_the_mean_and_narrows_the_interval() -> None:
    (result,) = evaluate(["counting", "greedy"], "playmore", 400, 1, critic=KIT)
    luck = result.paired.luck_thirds
    assert luck is not None and result.margin_corrected is not None
    pairs = luck.mean(1)
    assert abs(pairs.mean()) < 3 * pairs.std() / math.sqrt(len(pairs))
    assert result.margin_corrected.mean == pytest.approx(result.margin_thirds.mean - pairs.mean())
    assert result.variance_gain is not None and result.variance_gain > 1
    ratio = (result.margin_thirds.half_width / result.margin_corrected.half_width) ** 2
    assert result.variance_gain == pytest.approx(ratio)


def test_naming_the_agents_in_the_other_order_negates_and_an_agent_beside_itself_is_level() -> None:
    critic = any_critic(MINI)
    forth, itself, back = evaluate(["greedy", "random", "greedy"], MINI, 30, 2, critic=critic)
    first, second = forth.paired.corrected_thirds, back.paired.corrected_thirds
    assert first is not None and second is not None
    assert (first == -second[:, ::-1]).all()
    assert itself.margin_corrected is not None
    assert itself.margin_corrected.ends == [0, 0] and itself.variance_gain is None


# ----------------------------------------------------------------------------- with all of eval


def test_several_processes_and_a_record_give_the_same(tmp_path: Path) -> None:
    critic = any_critic(MINI)
    agents = ["greedy", "counting"]

    def measure(deals: int = 40, **options: Any) -> Any:
        (result,) = evaluate(agents, MINI, deals, 3, critic=critic, batch_size=8, **options)
        return [result.to_json(), result.paired.luck_thirds.tolist()]

    expected, record = measure(), tmp_path / "deals.jsonl"
    measure(16, record=record)
    assert measure(workers=2, record=record) == expected
    assert measure(record=record) == expected
    before = record.read_bytes()
    for other in (any_critic(MINI, 1), None):
        with pytest.raises(DealsRecordError, match=r"critic .* there, .* here"):
            evaluate(agents, MINI, 40, 3, critic=other, record=record)
    assert record.read_bytes() == before


def test_it_stops_when_the_corrected_margin_is_known() -> None:
    options: dict[str, Any] = {"until": 0.5, "batch_size": 64}
    (raw,) = evaluate(["counting", "greedy"], "playmore", 20_000, 1, **options)
    (fewer,) = evaluate(["counting", "greedy"], "playmore", 20_000, 1, critic=KIT, **options)
    assert fewer.deals <= raw.deals
    assert fewer.best_margin == fewer.margin_corrected
    assert fewer.best_margin.half_width <= 0.5


def test_a_file_of_results_holds_the_luck_and_the_critics_hash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    files = {}
    for agent in ("greedy", "random"):
        critic = any_critic(MINI)
        Path("critic.json").write_bytes(critic_to_bytes(critic))
        command = ["eval", "counting", agent, "--rules", MINI.name, "--deals", "30", "--json"]
        command += ["--critic", "critic.json", "--out", f"{agent}.json"]
        monkeypatch.setattr(sys, "argv", ["tressette", *command])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        assert not ended.value.code
        printed = capsys.readouterr()
        assert printed.err == f"critic critic.json: sha256 {critic.sha256}\n"
        files[agent] = read_results(f"{agent}.json")
        (figures,) = json.loads(printed.out)["results"]
        assert figures == files[agent].figures["counting", agent]
        corrected = figures["corrected"]
        assert corrected["critic"] == {"name": "critic.json", "sha256": critic.sha256}
        paired = files[agent].paired["counting", agent]
        assert corrected["margin_thirds"] == pytest.approx(paired.best_thirds.mean())
    (found,) = compare(files["greedy"], files["random"], "greedy", "random")
    assert found.corrected
    differences = [files[agent].paired["counting", agent].best_thirds for agent in files]
    assert found.difference.mean == pytest.approx((differences[0] - differences[1]).mean())
    other = dataclasses.replace(
        files["random"],
        figures={("counting", "random"): {**figures, "corrected": None}},
    )
    (found,) = compare(files["greedy"], other, "greedy", "random")
    assert not found.corrected


# ----------------------------------------------------------------------------- files of critics


def test_a_critic_is_fitted_written_and_known_by_its_hash(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(critic_fit, "_EPOCHS", 2)
    rules = PRESETS["mini_2x5"]
    positions = critic_fit.positions_of_games(make_agent("greedy"), rules, 300, 7)
    assert len(positions.margins) == 300 * rules.stock_size // 2
    fitted = critic_fit.fit_critic(positions, "greedy", rules, 300, 7)
    data = critic_to_bytes(fitted)
    assert data == critic_to_bytes(critic_fit.fit_critic(positions, "greedy", rules, 300, 7))
    read = critic_from_bytes(data, "file")
    assert read.sha256 == hashlib.sha256(data).hexdigest()
    assert critic_to_bytes(read) == data
    assert read.agent == "greedy" and read.deals == 300


def test_the_command_writes_a_critic_that_eval_takes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(critic_fit, "_EPOCHS", 1)
    made = ["critic", "greedy", "--rules", "mini_2x5", "--deals", "40", "--out", "made.json"]
    assert run(monkeypatch, *made) == 0
    digest = hashlib.sha256(Path("made.json").read_bytes()).hexdigest()
    assert capsys.readouterr().out == f"made.json: sha256 {digest}\n"
    deals = ["--rules", "mini_2x5", "--deals", "6", "--critic", "made.json", "--json"]
    assert run(monkeypatch, "eval", "greedy", "random", *deals) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["results"][0]["corrected"]["critic"]["sha256"] == digest
    assert err.startswith(f"critic made.json: sha256 {digest}")


def test_what_the_fit_predicts_is_what_the_critic_says() -> None:
    rules = PRESETS["mini_2x5"]
    positions = critic_fit.positions_of_games(make_agent("greedy"), rules, 2000, 7)
    fitted = critic_fit.fit_critic(positions, "greedy", rules, 2000, 7)
    values = [
        plain_value(fitted, leader, other, card_list(stock))
        for leader, other, stock in positions.sets.tolist()
    ]
    # Better than any constant: it has learned something of the margins to come.
    assert np.square(positions.margins - values).mean() < 0.9 * positions.margins.var()


@pytest.mark.parametrize(
    ("agents", "house", "seed", "critic", "words"),
    [
        (["clairvoyant", "greedy"], "playmore", 1, KIT, "agents that do not see the stock"),
        (["greedy", "random"], "gamelake_partners", 1, KIT, "two seats with a stock"),
        (["greedy", "random"], "mini_2x4", 1, KIT, "it was fitted to 'playmore', 40 cards"),
        (["greedy", "random"], "mini_2x4", 123, any_critic(MINI), "fitted to deals of seed 123"),
        (["greedy", "random"], "playmore", 1, "no/such/file", "cannot be read"),
    ],
)
def test_a_critic_that_could_deceive_or_does_not_fit_is_refused(
    agents: list[str], house: str, seed: int, critic: Any, words: str
) -> None:
    with pytest.raises(CriticError, match=words):
        evaluate(agents, house, 10, seed, critic=critic)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"format": "other"}, "format: expected 'tressette-critic'"),
        ({"format_version": 2}, "format_version: expected 1, got 2"),
        ({"seed": "7"}, "seed: expected int"),
        ({"deck": [50]}, "deck: expected card numbers"),
        ({"bias": []}, "bias: expected rows"),
        ({"output": [[1.0]]}, "output: expected .* finite numbers"),
        ({"constant": [math.nan, 0.0]}, "constant: expected .* finite numbers"),
    ],
)
def test_a_damaged_critic_is_refused_with_the_place(change: dict[str, Any], words: str) -> None:
    content = json.loads(critic_to_bytes(any_critic(MINI)))
    with pytest.raises(TressetteError, match=words):
        critic_from_bytes(json.dumps(content | change).encode(), "file")
    with pytest.raises(CriticError, match="not a critic's file"):
        critic_from_bytes(b"{", "file")


@pytest.mark.parametrize("house", ["playmore", "gamelake"])
def test_the_critics_of_the_kit_do_not_change(house: str) -> None:
    known = {"playmore": "bb61b0f8fd521509", "gamelake": "eba87c1eed842322"}
    critic = load_critic(KIT, PRESETS[house])
    assert (critic.house, critic.sha256[:16]) == (house, known[house])
