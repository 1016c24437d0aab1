"""The command ``tressette``: one function a command, each handing over to the module that does it.

Heavy libraries are imported inside the commands, so that ``tressette --help`` is quick. A user's
mistake ends with one line on standard error and exit code 2.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import sys
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
import typer.core

__all__ = ["app", "main"]


class _Commands(typer.core.TyperGroup):
    """The commands; Ctrl-C in one of them is told apart from an exit code 130 that it returns."""

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        """Read the command line."""
        try:
            return super().make_context(*args, **kwargs)
        except KeyboardInterrupt:
            raise typer.Abort from None

    def invoke(self, ctx: typer.Context) -> Any:  # type: ignore[override]
        """Run the command given."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise typer.Abort from None
        except BrokenPipeError:
            # Typer would end the program itself, with the rest of the output still to be written.
            raise _ReaderGoneError from None


class _ReaderGoneError(Exception):
    """Whoever read the output has closed it, as ``head`` does: nothing is wrong."""


app = typer.Typer(
    cls=_Commands,
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Tressette for reinforcement learning: train agents, measure them, play and replay.",
)

# What click and typer raise for a wrong command line; typer exports only its subclass.
_UsageError: type[Exception] = typer.BadParameter.__mro__[1]


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
def solve(
    position: Annotated[
        str, typer.Argument(help="Hands, the one to act first: 'D:AQ C:7 / D:3J S:K'. Two or four.")
    ],
    led: Annotated[
        str | None, typer.Option(help="Two hands: the opponent's card on the table, as 3D.")
    ] = None,
    stock: Annotated[
        str | None, typer.Option(help="Two hands: cards to be drawn, the next first: '4C KD'.")
    ] = None,
    follow: Annotated[
        str | None,
        typer.Option(help="With --stock, suit is followed: always or stock_empty.  [always]"),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Show what every card of a position with known cards is worth."""
    from tressette_train import solve_command

    solve_command.run(position, led, stock, follow, as_json)


@app.command()
def worlds(
    rules: Annotated[str, typer.Option(help="Rule set preset.")] = "playmore",
    seed: Annotated[int, typer.Option(help="Seed of the deal and of the worlds.")] = 0,
    deal: Annotated[int, typer.Option(help="Number of the deal in the seed's stream.")] = 0,
    ply: Annotated[int, typer.Option(help="Cards played before the decision.")] = 0,
    player: Annotated[str, typer.Option(help="Spec of the agent that plays them.")] = "greedy",
    count: Annotated[int, typer.Option("--worlds", help="Worlds that are solved.")] = 32,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    chart: Annotated[Path | None, typer.Option(help="Draw a chart into this PNG file.")] = None,
) -> None:
    """Watch pimc think: what sampled worlds make of each card of a decision."""
    from tressette_train import worlds_command

    worlds_command.run(rules, seed, deal, ply, player, count, as_json, chart)


@app.command()
def replay(
    file: Annotated[Path, typer.Argument(help="A game record; - for standard input.")],
) -> None:
    """Show a recorded game trick by trick."""
    from tressette_train import commands

    commands.replay(file)


def _refuse(options: dict[str, object], beside: str) -> None:
    """Refuse the options that are given (not None) beside another."""
    for option, value in options.items():
        if value is not None:
            raise typer.BadParameter(f"{option} does not go with {beside}")


@app.command("eval")
def evaluate(
    agents: Annotated[
        list[str] | None,
        typer.Argument(metavar="AGENT AGENT ...", help="Two or more specs, like greedy random."),
    ] = None,
    rules: Annotated[
        str | None, typer.Option(help="Rule set preset; with --ladder several: A,B.  [playmore]")
    ] = None,
    deals: Annotated[
        int | None,
        typer.Option(help="Shuffles, each played in both seatings.  [2000; --ladder: 1000]"),
    ] = None,
    slow_deals: Annotated[
        int | None,
        typer.Option(help="With --ladder: for pairings of pimc.  [as --deals]"),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Seed of the deals and of the agents' dice.  [0]")
    ] = None,
    deal_set: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Fixed deals, as playmore-2000-v1: house and seed, too."),
    ] = None,
    until: Annotated[
        float | None,
        typer.Option(help="Stop when margins are known to +- so many thirds; --deals at most."),
    ] = None,
    workers: Annotated[int, typer.Option(help="Processes that play.")] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    record: Annotated[
        Path | None, typer.Option(help="Keep finished deals here; the same command goes on.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Write every deal into this file, for tressette compare.")
    ] = None,
    critic: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Take the luck of the draws away, by a critic; or kit."),
    ] = None,
    ladder: Annotated[
        bool, typer.Option("--ladder", help="The kit's agents (or those given) as a ladder.")
    ] = False,
    write: Annotated[
        Path | None, typer.Option(help="With --ladder, also write the page (docs/ladder.md).")
    ] = None,
    matches: Annotated[
        int | None, typer.Option(help="Play so many whole matches to the house's target instead.")
    ] = None,
) -> None:
    """Measure agents against each other on the same deals, seats swapped."""
    from tressette_train import evaluate_command

    options = {"--deal-set": deal_set, "--until": until, "--record": record, "--out": out}
    options |= {"--workers": None if workers == 1 else workers, "--critic": critic}
    if ladder:
        _refuse({**options, "--matches": matches}, "--ladder")
        evaluate_command.run_ladder(
            agents or [], rules, deals, slow_deals, seed or 0, as_json, write
        )
        return
    if matches is not None:
        more = {"--deals": deals, "--slow-deals": slow_deals, "--write": write}
        _refuse({**options, **more}, "--matches")
        from tressette_train import matches_command

        matches_command.run(agents or [], rules or "playmore", matches, seed or 0, as_json)
        return
    if slow_deals is not None:
        raise typer.BadParameter("--slow-deals goes with --ladder")
    if write is not None:
        raise typer.BadParameter("--write goes with --ladder")
    what = evaluate_command.choose_deals(rules, deals, seed, deal_set)
    evaluate_command.run(
        agents or [],
        what,
        as_json,
        until=until,
        workers=workers,
        out=out,
        record=record,
        critic=critic,
    )


@app.command("critic")
def fit_critic(
    agent: Annotated[str, typer.Argument(help="Spec of who plays the games, like counting.")],
    out: Annotated[Path, typer.Option(help="The critic's file to write.")],
    rules: Annotated[str, typer.Option(help="Rule set preset of two seats.")] = "playmore",
    deals: Annotated[int, typer.Option(help="Shuffles, each played once.")] = 20_000,
    seed: Annotated[
        int, typer.Option(help="Of the deals; not one that you will measure on.")
    ] = 901_001,
) -> None:
    """Fit a critic for tressette eval --critic to an agent's games against itself."""
    from tressette_train import critic_command

    critic_command.run(agent, out, rules, deals, seed)


@app.command()
def compare(
    a: Annotated[Path, typer.Argument(metavar="A.json", help="Written by tressette eval --out.")],
    b: Annotated[Path, typer.Argument(metavar="B.json", help="On the same deals.")],
    agent: Annotated[
        str | None, typer.Option(help="Spec in A.json.  [the one that is not in B.json]")
    ] = None,
    agent_b: Annotated[
        str | None, typer.Option(help="Spec in B.json.  [as --agent, or not in A.json]")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> int:
    """Say whether an agent has become better, deal by deal; exit code 1 if it is worse."""
    from tressette_train import compare_command

    return compare_command.run(a, b, agent, agent_b, as_json)


@app.command()
def exploit(
    agents: Annotated[
        list[str] | None,
        typer.Argument(metavar="AGENT ...", help="Specs of agents, like greedy."),
    ] = None,
    rules: Annotated[str, typer.Option(help="Preset of a reduced deck.")] = "mini_2x4",
    equilibrium: Annotated[
        bool, typer.Option("--equilibrium", help="The reference equilibrium, no agent.")
    ] = False,
    samples: Annotated[
        int, typer.Option(min=1, help="Cards a view to estimate a policy that cannot be read.")
    ] = 16,
    until: Annotated[
        float,
        typer.Option(min=1e-6, help="Exploitability at which the equilibrium is near enough."),
    ] = 0.001,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    chart: Annotated[Path | None, typer.Option(help="Draw a chart into this PNG file.")] = None,
) -> None:
    """Compute exactly what a best response wins from an agent, in a reduced deck."""
    from tressette_train.exploit import command

    command.run(agents or [], equilibrium, rules, samples, until, as_json, chart)


@app.command()
def attack(
    agent: Annotated[str | None, typer.Argument(help="Spec of an agent, like greedy.")] = None,
    rules: Annotated[str | None, typer.Option(help="Rule set preset.  [playmore]")] = None,
    minutes: Annotated[float | None, typer.Option(help="Time to train.  [20]")] = None,
    decisions: Annotated[
        int | None, typer.Option(help="Decisions to train on, instead of a time.")
    ] = None,
    start_from: Annotated[
        str | None,
        typer.Option("--from", metavar="RUN", help="Policy to start as: a run, a file, champion."),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the training.  [0]")] = None,
    deals: Annotated[
        int | None, typer.Option(help="Shuffles to measure on, in both seatings.  [2000]")
    ] = None,
    deals_seed: Annotated[int | None, typer.Option(help="Seed of these deals.  [1]")] = None,
    name: Annotated[str | None, typer.Option(help="Folder of the run below runs/.")] = None,
    run_dir: Annotated[Path | None, typer.Option(help="Folder of the run, anywhere.")] = None,
    resume: Annotated[
        Path | None, typer.Option(help="Go on with an attack, or measure a finished one again.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    out: Annotated[Path | None, typer.Option(help="Write every deal into this file.")] = None,
) -> int:
    """Train against one agent alone: a lower bound on how much it can lose."""
    from tressette_train import attack_command

    order = attack_command.Order(
        agent, rules, minutes, decisions, seed, deals, deals_seed, start_from, name, run_dir
    )
    return attack_command.run(order, resume, as_json, out)


@app.command()
def blunders(
    agent: Annotated[str, typer.Argument(help="Spec of an agent, like greedy.")],
    against: Annotated[
        str | None, typer.Option(help="Spec of the agent in the other seat.  [the same]")
    ] = None,
    rules: Annotated[str, typer.Option(help="Rule set preset of two seats.")] = "playmore",
    deals: Annotated[int, typer.Option(help="Shuffles, each played in both seatings.")] = 500,
    seed: Annotated[int, typer.Option(help="Seed of the deals and of the agents' dice.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Measure what an agent gives away in endings, against exact play."""
    from tressette_train import blunders_command

    blunders_command.run(agent, against, rules, deals, seed, as_json)


@app.command()
def habits(
    agent: Annotated[str, typer.Argument(help="Spec of an agent, like greedy.")],
    against: Annotated[
        str | None, typer.Option(help="Spec of the agent on the other side.  [the same]")
    ] = None,
    rules: Annotated[str, typer.Option(help="Rule set preset.")] = "playmore",
    deals: Annotated[
        int, typer.Option(help="Shuffles; with --against each in both seatings.")
    ] = 500,
    seed: Annotated[int, typer.Option(help="Seed of the deals and of the agents' dice.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    chart: Annotated[Path | None, typer.Option(help="Draw a chart into this PNG file.")] = None,
) -> None:
    """Count how an agent leads, follows and discards, by what it holds."""
    from tressette_train import habits_command

    habits_command.run(agent, against, rules, deals, seed, as_json, chart)


@app.command()
def play(
    against: Annotated[str, typer.Option(help="Spec of the agent in the other seats.")] = "greedy",
    rules: Annotated[str, typer.Option(help="Rule set preset.")] = "playmore",
    seed: Annotated[int | None, typer.Option(help="Seed of the deals; drawn if not given.")] = None,
    seat: Annotated[int, typer.Option(help="Your seat.")] = 0,
    match: Annotated[bool, typer.Option("--match", help="Deals to the target, not one.")] = False,
    reveal: Annotated[bool, typer.Option("--reveal", help="Show all hands and the stock.")] = False,
    record: Annotated[Path | None, typer.Option(help="New file for the game's record.")] = None,
) -> None:
    """Play against an agent in the terminal."""
    from tressette_train import play_command

    play_command.run(against, rules, seed, seat, match, reveal, record)


@app.command()
def train(
    config: Annotated[
        Path | None, typer.Argument(help="YAML file, such as configs/quick.yaml.")
    ] = None,
    overrides: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Change one: ppo.learning_rate=1e-4."),
    ] = None,
    name: Annotated[str | None, typer.Option(help="Folder of the run below runs/.")] = None,
    run_dir: Annotated[Path | None, typer.Option(help="Folder of the run, anywhere.")] = None,
    resume: Annotated[Path | None, typer.Option(help="Go on with the run in this folder.")] = None,
    benchmark: Annotated[
        bool, typer.Option("--benchmark", help="Then measure the policy against other agents.")
    ] = False,
) -> int:
    """Train a policy by self-play."""
    from tressette_train import train_command

    return train_command.run(config, overrides or [], name, run_dir, resume, benchmark)


@app.command()
def runs(
    folder: Annotated[Path, typer.Argument(help="Where the runs are.")] = Path("runs"),
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    chart: Annotated[
        Path | None, typer.Option(help="Draw their learning curves into this PNG file.")
    ] = None,
) -> None:
    """List training runs: how far they are, and how they did."""
    from tressette_train import runs_command

    runs_command.run(folder, as_json, chart)


@app.command()
def export(
    policy: Annotated[str, typer.Argument(help="A run folder or a policy file.")],
    onnx: Annotated[Path, typer.Option(help="The ONNX file to write.")],
) -> None:
    """Write a policy as an ONNX file, compared with the policy before it is written."""
    from tressette_train import export_command

    export_command.run(policy, onnx)


@app.command()
def report(
    results: Annotated[
        Path, typer.Argument(metavar="RESULTS.json", help="Written by tressette eval --out.")
    ],
    out: Annotated[Path, typer.Option(help="The HTML page to write.")],
    runs: Annotated[
        list[Path] | None, typer.Option(metavar="RUN", help="Run folder; may be given again.")
    ] = None,
    chart: Annotated[
        Path | None, typer.Option(help="Also draw margins, ratings, intervals into this PNG file.")
    ] = None,
) -> None:
    """Write a page about results: margins, ratings, learning curves, the worst deals."""
    from tressette_train.report import command

    command.run(results, runs or [], out, chart)


@app.command()
def results(
    plan: Annotated[
        Path, typer.Argument(metavar="PLAN.yaml", help="The commands, like docs/results.yaml.")
    ],
    folder: Annotated[
        Path, typer.Option(help="Where the parts are kept; what is there is not run again.")
    ] = Path("runs/results"),
    write: Annotated[Path | None, typer.Option(help="Write the page into this file.")] = None,
) -> None:
    """Make the page of results: ladders, exploitability, attacks; goes on where it was stopped."""
    from tressette_train.results_page import command

    command.run(plan, folder, write)


@app.command()
def bench(
    rules: Annotated[str, typer.Option(help="Rule set preset.")] = "playmore",
    tables: Annotated[
        str | None, typer.Option(metavar="N,N,...", help="Numbers of tables. [default: 1 to 65536]")
    ] = None,
    threads: Annotated[
        str | None, typer.Option(metavar="N,N,...", help="Numbers of threads. [default: 1,2]")
    ] = None,
    only: Annotated[
        str | None,
        typer.Option(metavar="GROUP,...", help="Some of: batch, environments, learning, startup."),
    ] = None,
    repeats: Annotated[int | None, typer.Option(help="Samples of each row. [default: 5]")] = None,
    seconds: Annotated[
        float | None, typer.Option(help="Least length of a sample. [default: 0.3]")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer rows and samples: about 2 minutes.")
    ] = False,
    peers: Annotated[
        bool, typer.Option("--peers", help="Also OpenSpiel, RLCard, PettingZoo's classic games.")
    ] = False,
    targets: Annotated[bool, typer.Option("--targets", help="Show the targets only.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    chart: Annotated[Path | None, typer.Option(help="Draw a chart into this PNG file.")] = None,
    write: Annotated[
        Path | None, typer.Option(help="Write the results into this page (docs/benchmarks.md).")
    ] = None,
    read: Annotated[
        Path | None, typer.Option(help="Show what --json printed earlier; measure nothing.")
    ] = None,
    signature: Annotated[
        bool, typer.Option("--signature", help="Print integers that only behaviour changes.")
    ] = False,
) -> None:
    """Measure speed: plays a second by interface, number of tables and threads."""
    from tressette_train.bench import command

    if signature:
        command.show_signature(as_json)
        return
    plan = command.make_plan(rules, tables, threads, only, repeats, seconds, peers, quick)
    command.run(plan, read, as_json, targets, chart, write)


def main() -> None:
    """Run the command line; the entry point of ``tressette``."""
    if len(sys.argv) == 1:
        sys.argv.append("--help")
    try:
        _prepare_streams()
        code = _run()
        # What is still to be written fails here, where it is told, and not after the end.
        sys.stdout.flush()
        sys.exit(code)
    except (typer.Abort, KeyboardInterrupt):
        _end("stopped", 130)
    except (_ReaderGoneError, BrokenPipeError):
        _end(None, 1)
    except OSError as error:
        _end(_explain(error))


def _run() -> Any:
    """Run the command given; a user's mistake ends here."""
    # Imported under the eyes of main: it can be interrupted, and fails without a current folder.
    from tressette_env.errors import TressetteError

    try:
        return app(standalone_mode=False)
    except (TressetteError, _UsageError) as error:
        is_usage = isinstance(error, _UsageError)
        _end(error.format_message() if is_usage else str(error))  # type: ignore[attr-defined]


def _prepare_streams() -> None:
    """Open what is closed, and write every character: as an escape if the encoding lacks it."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _explain(error: OSError) -> str:
    """Say what the system refused; a folder that is gone is the reason for much."""
    try:
        os.getcwd()
    except OSError:
        return "the current folder does not exist any more; change to another one"
    reason = error.strerror or str(error) or type(error).__name__
    if error.filename is not None:
        return f"{error.filename}: {reason}"
    if error.errno in (errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EFBIG):
        return f"the output cannot be written: {reason}"
    return reason


def _end(message: str | None, code: int = 2) -> NoReturn:
    """Exit with one line on standard error, or none, and nothing left to be written."""
    try:
        sys.stdout.flush()
    except OSError:
        # Python would try again at its end, and print a traceback: let it succeed.
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if message is not None:
        with contextlib.suppress(OSError):
            sys.stderr.write(f"tressette: {' '.join(message.split())}\n")
            sys.stderr.flush()
    sys.exit(code)
