"""Rows for what else one can play cards with from Python: OpenSpiel, RLCard, PettingZoo's classics.

Each plays uniformly random legal moves. Of OpenSpiel every move counts, the chance moves of a deal
too, which favours it: ours are in no count. The rows named "decisions" count like ours.
"""

from __future__ import annotations

import importlib
import importlib.util
import random
import warnings
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

from tressette_train.bench.env_rows import play_raw, play_wrapped
from tressette_train.bench.timing import Player, Row

__all__ = ["GROUP", "MODULES", "counterpart", "missing_peers", "peer_rows"]

GROUP = "peers"

#: Module to import, and the name of the package that brings it.
MODULES = {
    "pyspiel": "open_spiel",
    "rlcard": "rlcard",
    "pettingzoo.classic.rlcard_envs": "pettingzoo[classic]",
}
_OPENSPIEL = ("hearts", "german_whist_foregame", "spades", "leduc_poker")  # as far as installed
_RLCARD = ("bridge", "leduc-holdem")
_PETTINGZOO = ("leduc_holdem_v4", "tictactoe_v3")


def missing_peers() -> list[str]:
    """Return the packages whose games cannot be imported here."""
    return [package for module, package in MODULES.items() if not _is_there(module)]


def peer_rows() -> list[Row]:
    """Return rows for every game that can be imported here."""
    rows: list[Row] = []
    if _is_there("pyspiel"):
        known = importlib.import_module("pyspiel").registered_names()
        for game in _OPENSPIEL:
            if game in known:
                rows.append(_row(f"openspiel {game}", _openspiel, game))
                rows.append(_row(f"openspiel {game}, decisions", _openspiel_decisions, game))
                rows.append(_row(f"openspiel {game}, C++", _openspiel_bots, game))
    if _is_there("rlcard"):
        rows += [_row(f"rlcard {game}", _rlcard, game) for game in _RLCARD]
    if _is_there("pettingzoo.classic.rlcard_envs"):
        for game in _PETTINGZOO:
            rows.append(_row(f"pettingzoo {game} raw", _pettingzoo_raw, game))
            rows.append(_row(f"pettingzoo {game} wrapped", _pettingzoo_wrapped, game))
    return rows


def counterpart(peer: str) -> str:
    """Name of our row that has the same kind of interface as a peer's."""
    if peer.startswith("pettingzoo"):
        return "aec wrapped" if peer.endswith("wrapped") else "aec raw"
    if peer.startswith("rlcard"):
        return "aec raw"  # its steps give observations, too
    return "rules" if peer.endswith("C++") else "one table"


def _is_there(module: str) -> bool:
    if module == "pettingzoo.classic.rlcard_envs":  # its games import rlcard and pygame
        return _is_there("rlcard") and _is_there("pygame") and _is_there("pettingzoo")
    return importlib.util.find_spec(module) is not None


def _row(name: str, make: Callable[[str], Player], game: str) -> Row:
    def start(stack: ExitStack) -> Player:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # theirs, about their own imports
            return make(game)

    return Row(name, GROUP, start)


def _choose(legal: Sequence[int]) -> int:
    return legal[int(random.random() * len(legal))]


def _openspiel(name: str) -> Player:
    game = importlib.import_module("pyspiel").load_game(name)

    def play(deals: int) -> int:
        return sum(_play_out(game.new_initial_state()) for _ in range(deals))

    return play


def _play_out(state: Any) -> int:
    moves = 0
    while not state.is_terminal():
        state.apply_action(_choose(state.legal_actions()))
        moves += 1
    return moves


def _openspiel_decisions(name: str) -> Player:
    game = importlib.import_module("pyspiel").load_game(name)
    # Asking at every move whether it is chance's would charge OpenSpiel for our counting.
    share = _mean(game, lambda moves: sum(move.player >= 0 for move in moves) / len(moves))

    def play(deals: int) -> int:
        return round(share * sum(_play_out(game.new_initial_state()) for _ in range(deals)))

    return play


def _mean(game: Any, of_moves: Callable[[list[Any]], float], deals: int = 100) -> float:
    """Play random deals before anything is timed; return a mean over them."""
    total = 0.0
    for _ in range(deals):
        state = game.new_initial_state()
        _play_out(state)
        total += of_moves(state.full_history())
    return total / deals


def _openspiel_bots(name: str) -> Player:
    """Play with OpenSpiel's own loop in C++: one call of Python a deal."""
    spiel = importlib.import_module("pyspiel")
    game = spiel.load_game(name)
    bots = [spiel.make_uniform_random_bot(seat, seat) for seat in range(game.num_players())]
    length = _mean(game, len)

    def play(deals: int) -> int:
        for _ in range(deals):
            spiel.evaluate_bots(game.new_initial_state(), bots, random.getrandbits(31))
        return round(length * deals)

    return play


def _rlcard(name: str) -> Player:
    env: Any = importlib.import_module("rlcard").make(name)

    def play(deals: int) -> int:
        moves = 0
        for _ in range(deals):
            state, _ = env.reset()
            while not env.is_over():
                state, _ = env.step(_choose(list(state["legal_actions"])))
                moves += 1
        return moves

    return play


def _pettingzoo_raw(name: str) -> Player:
    env = importlib.import_module(f"pettingzoo.classic.{name}").raw_env()
    env.reset(seed=0)
    return lambda deals: play_raw(env, deals)


def _pettingzoo_wrapped(name: str) -> Player:
    env = importlib.import_module(f"pettingzoo.classic.{name}").env()
    env.reset(seed=0)
    return lambda deals: play_wrapped(env, deals)
