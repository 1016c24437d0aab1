"""What pimc thinks of a decision: its own choice, and worlds that fit the view."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from test_cli import run

from tressette_agents.pimc import PimcAgent
from tressette_env.cards import bit_count, card_list
from tressette_env.errors import OptionError
from tressette_env.rulesets import PRESETS
from tressette_env.view import View
from tressette_train.watched_worlds import view_in_deal, watch_worlds
from tressette_train.worlds_chart import view_figure


@pytest.mark.parametrize(("house", "ply"), [("playmore", 16), ("gamelake_partners", 30)])
def test_the_agent_plays_the_card_that_the_means_call_best(house: str, ply: int) -> None:
    for seed in range(3):
        view = view_in_deal(house, seed, 0, ply)
        watched = watch_worlds(view, worlds=6, seed=seed)
        best = max(one.mean for one in watched.margins().values())
        for count in (2, 6):
            chosen = PimcAgent(count, threads=1).act(view, seed)
            assert watched.means[count - 1, chosen] == np.nanmax(watched.means[count - 1])
        assert best == pytest.approx(np.nanmax(watched.means[-1]))


def test_shares_add_up_to_the_hands() -> None:
    view = view_in_deal("playmore", 2, 0, 12)
    watched = watch_worlds(view, worlds=2)
    assert watched.held[1].sum() == pytest.approx(10)
    assert (watched.held[0] > 0).nonzero()[0].tolist() == card_list(view.hand)
    assert watched.held[1, view.hand_cards].sum() == 0
    for card in card_list(view.played[0] | view.played[1]):
        assert watched.held[:, card].sum() == 0


def test_a_view_in_a_deal_is_that_of_the_cards_played() -> None:
    view = view_in_deal("gamelake", 5, 3, 7, "random")
    assert view.ply == 7
    assert view.turn == 0
    assert bit_count(view.hand) + view.table_size // 2 == 10
    assert view_in_deal("gamelake", 5, 3, 7, "random") == view


@pytest.mark.parametrize(
    ("ply", "worlds", "message"),
    [
        (20, 4, "with hidden cards"),
        (4, 1, "worlds: expected an integer from 2 to 100,000, got 1"),
        (40, 4, "ply: expected cards played, 0 to 39, got 40"),
    ],
)
def test_what_cannot_be_watched(ply: int, worlds: int, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        watch_worlds(view_in_deal("playmore", 0, 0, ply), worlds)


def test_a_seat_that_is_not_to_act_has_no_means() -> None:
    with pytest.raises(OptionError, match="one of the seat to act"):
        next(PimcAgent().mean_margins(View(PRESETS["playmore"]), 0))


def test_a_picture_of_a_view_names_only_what_is_there() -> None:
    (axes,) = view_figure(view_in_deal("playmore", 7, 0, 15)).get_axes()
    legend = [text.get_text() for text in axes.get_legend().get_texts()]
    assert "known in another hand" not in legend
    assert {"may be played", "on the table", "unseen"} <= set(legend)
    assert len(axes.texts) == 40


def test_the_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    chart = tmp_path / "worlds.png"
    command = ["worlds", "--seed", "3", "--ply", "16", "--worlds", "4"]
    assert run(monkeypatch, *command, "--chart", str(chart)) == 0
    text = capsys.readouterr().out
    assert text.startswith("playmore, deal 0 of seed 3, 16 cards played: player_")
    assert chart.read_bytes().startswith(b"\x89PNG")
    assert run(monkeypatch, *command, "--json") == 0
    content = json.loads(capsys.readouterr().out)
    means = [card["margin_thirds"] for card in content["cards"]]
    assert means == sorted(means, reverse=True)
    assert f"{means[0]:+6.2f}" in text
    assert run(monkeypatch, "worlds", "--ply", "30") == 2
    assert capsys.readouterr().err.count("\n") == 1
