"""The command ``tressette``: one function a command, each handing over to the module that does it.

Heavy libraries are imported inside the commands, so that ``tressette --help`` is quick. A user's
mistake ends with one line on standard error and exit code 2.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from tressette_env.errors import TressetteError

__all__ = ["app", "main"]

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Tressette for reinforcement learning: train agents, measure them, play and replay.",
)


@app.command()
def perft(
    rules: Annotated[str, typer.Option(help="Rule set preset.")] = "playmore",
    seed: Annotated[int, typer.Option(help="Seed of the deal.")] = 0,
    deal: Annotated[int, typer.Option(help="Number of the deal in the seed's stream.")] = 0,
    depth: Annotated[int, typer.Option(help="Plies to look ahead.")] = 4,
    divide: Annotated[bool, typer.Option(help="Count below each first card separately.")] = False,
) -> None:
    """Count the sequences of legal cards from a deal, to check a rules engine."""
    from tressette_train import commands

    commands.perft(rules, seed, deal, depth, divide)


@app.command()
def replay(file: Annotated[Path, typer.Argument(help="A game record; - for standard input.")]) -> None:
    """Show a recorded game trick by trick."""
    from tressette_train import commands

    commands.replay(file)


def main() -> None:
    """Run the command line; the entry point of ``tressette``."""
    try:
        app()
    except TressetteError as error:
        sys.stderr.write(f"tressette: {error}\n")
        sys.exit(2)
