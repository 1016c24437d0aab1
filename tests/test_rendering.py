"""Pictures of a table: Italian names, the seat's own hand only, everything with reveal=True."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tressette_env import tressette_v0
from tressette_env.notation import card_name
from tressette_env.rulesets import PRESETS, playable_presets

DECK = [*range(0, 40, 2), *range(1, 40, 2)]  # hands 0 2 .. 18, 20 22 .. 38


def started(rules: str = "playmore", **options: Any) -> Any:
    env = tressette_v0.env(rules=rules, render_mode="ansi", **options)
    env.reset(options={"deck": DECK, "leader": 0})
    return env


def test_a_whole_picture() -> None:
    env = started()
    assert env.render() == (
        "playmore, trick 1 of 20, stock 20\n"
        "thirds 0 - 0, totals 0 - 0\n"
        "> player_0 (side 0): Due di denari, Re di denari, Fante di denari, Sei di denari, "
        "Quattro di denari, Due di coppe, Re di coppe, Fante di coppe, Sei di coppe, "
        "Quattro di coppe\n"
        "  player_1 (side 1): 10 cards"
    )
    env.step(8)
    assert env.render() == (
        "playmore, trick 1 of 20, stock 20\n"
        "thirds 0 - 0, totals 0 - 0\n"
        "on the table: Due di denari (player_0)\n"
        "  player_0 (side 0): 9 cards\n"
        "> player_1 (side 1): Due di spade, Re di spade, Fante di spade, Sei di spade, "
        "Quattro di spade, Due di bastoni, Re di bastoni, Fante di bastoni, Sei di bastoni, "
        "Quattro di bastoni"
    )
    env.step(26)
    lines = env.render().splitlines()
    assert lines[0] == "playmore, trick 2 of 20, stock 18"
    assert lines[1] == "thirds 2 - 0, totals 0 - 0"
    assert lines[2].startswith("> player_0")
    assert lines[3] == "  player_1 (side 1): 10 cards"


def test_reveal_shows_everything() -> None:
    text = started(reveal=True).render()
    for card in range(40):
        assert text.count(card_name(card)) == 1
    assert "stock 20: Cinque di denari, Sette di denari, Cavallo di denari" in text


def test_shown_draws_are_shown_to_every_seat() -> None:
    env = started("cuperativa")
    env.step(8)
    env.step(26)  # player_0 draws card 1, player_1 card 3
    assert "player_1 (side 1): 10 cards, among them Sette di denari" in env.render()
    assert "among them Cinque di denari" in env.unwrapped.picture("player_1")
    assert "among them" not in started("playmore").render()


@pytest.mark.parametrize("reveal", [False, True])
@pytest.mark.parametrize("rules", playable_presets())
def test_pictures_name_the_right_cards(rules: str, reveal: bool) -> None:
    """At every ply, for every seat: its own hand, the table, known cards; no other name."""
    env = tressette_v0.raw_env(rules=rules, reveal=reveal, episode="match")
    rng = np.random.default_rng(1)
    env.reset(seed=1)
    for _ in range(PRESETS[rules].deck_size + 1):
        over = all(env.terminations.values())
        for agent in env.possible_agents:
            view = env.view(agent)
            text = env.picture(agent)
            named = {card for card in range(40) if card_name(card) in text}
            known = {card for seen in view.known[1:] for card in range(40) if seen >> card & 1}
            if reveal:
                played = set(view.plays[: view.ply - view.table_size])
                assert named == set(PRESETS[rules].deck) - played
            else:
                assert named == set(view.hand_cards) | set(view.table) | known
            assert f"stock {view.stock_left}" in text
            first, second = env.thirds
            assert f"thirds {first} - {second}, totals {env.totals[0]} - {env.totals[1]}" in text
            marked = [line for line in text.splitlines() if line.startswith("> ")]
            assert len(marked) == (0 if over else 1)
            if not over:
                assert marked[0].startswith(f"> {env.agent_selection} ")
            assert ("the deal is over" in text) == over
        if over:
            break
        legal = np.flatnonzero(env.observe(env.agent_selection)["action_mask"])
        env.step(int(rng.choice(legal)))


def test_human_prints_after_every_card(capsys: pytest.CaptureFixture[str]) -> None:
    env = tressette_v0.env(render_mode="human")
    env.reset(options={"deck": DECK, "leader": 0})
    assert "> player_0" in capsys.readouterr().out
    env.step(8)
    out = capsys.readouterr().out
    assert "> player_1" in out
    assert "Due di denari (player_0)" in out
    assert env.render() is None
    assert capsys.readouterr().out == out


def test_no_mode_prints_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    env = tressette_v0.env()
    env.reset(seed=1)
    assert "player_0" in env.render()
    assert capsys.readouterr().out == ""
