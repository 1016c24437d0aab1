"""The page of ``tressette report``: one file that loads nothing, in any width, light or dark."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tressette_train.intervals import Interval, mean_interval
from tressette_train.ratings import Pairing, Ratings
from tressette_train.report.charts import bar, histogram, learning_chart, margin_series
from tressette_train.report.html import Html, tag
from tressette_train.report.replays import Game, WorstDeal
from tressette_train.report.style import STYLE
from tressette_train.results_file import Results

__all__ = ["Run", "margin_between", "pairings_of", "report_page"]

Run = tuple[str, Sequence[dict[str, Any]]]  # name, and rows of its metrics

_NO_CYCLE = "No agents go round in a circle, each beating the next with its whole interval above 0."
_DEEPEST = 0.45  # opacity of the matrix's strongest colour


def pairings_of(results: Results) -> list[Pairing]:
    """Return the pairings of a file of results, for ``rate``."""
    return [
        Pairing(agent, opponent, mean_interval(means), means)
        for (agent, opponent), paired in results.paired.items()
        for means in (paired.margins_thirds.mean(1),)
    ]


def report_page(
    results: Results,
    ratings: Ratings,
    worst: Sequence[WorstDeal],
    runs: Sequence[Run],
    command: str,
) -> str:
    """Return the page.

    Parameters
    ----------
    results : Results
    ratings : Ratings
        Of ``pairings_of(results)``.
    worst : sequence of WorstDeal
    runs : sequence of (str, rows of metrics)
    command : str
        That makes the page again.
    """
    pairs = {(one.agent, one.opponent): one for one in pairings_of(results)}
    title = f"Tressette, {results.rules.name}: {', '.join(dict.fromkeys(results.agents))}"
    body = [
        tag("h1", f"Tressette, {results.rules.name}"),
        _origin(results),
        *_warnings(ratings),
        _ratings(results, ratings),
        _matrix(results, ratings, pairs),
        _splits(results),
        *_stages(results),
        _distributions(pairs),
        *_learning(runs),
        *_worst(results, worst),
        tag("footer", "Made by ", tag("code", command)),
    ]
    head = [
        tag("meta", charset="utf-8"),
        # Whatever may have been overlooked: the page loads nothing and runs nothing.
        tag(
            "meta",
            http_equiv="Content-Security-Policy",
            content="default-src 'none'; style-src 'unsafe-inline'",
        ),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", title),
        tag("style", Html(STYLE)),
    ]
    page = tag("html", tag("head", head), tag("body", tag("main", body)), lang="en")
    return f"<!DOCTYPE html>\n{page}\n"


def _section(title: str, explanation: str, *content: Html) -> Html:
    return tag("section", tag("h2", title), tag("p", explanation), *content)


def _table(head: Sequence[str], rows: list[Html], caption: str | None = None) -> Html:
    """Return a table that scrolls by itself where the screen is narrower."""
    header = tag("tr", [tag("th", text, scope="col") for text in head])
    named = None if caption is None else tag("caption", caption)
    return tag("div", tag("table", named, tag("thead", header), tag("tbody", rows)), class_="wide")


def _origin(results: Results) -> Html:
    named = f"deal set {results.deal_set}: " if results.deal_set else ""
    facts = [f"{key} {value}" for key, value in results.head["versions"].items()]
    machine = results.head["machine"]
    where = [f"{machine[key]}" for key in ("cpu", "os") if key in machine]
    return tag(
        "p",
        f"{named}{results.deals} deals of seed {results.seed}, each in both seatings; played "
        f"{results.head['date']} by ",
        tag("code", results.head["command"]),
        f" ({', '.join([*facts, *where])}). Margins are thirds of a point a deal; intervals hold "
        "the truth 95 times of 100.",
    )


def _warnings(ratings: Ratings) -> list[Html]:
    return [tag("p", tag("strong", "Mind: "), text, class_="warning") for text in ratings.warnings]


def _name(results: Results, spec: str) -> str:
    """Return a spec, marked if the agent was shown hidden cards."""
    for (agent, opponent), figures in results.figures.items():
        if (spec == agent and figures.get("agent_cheats") is True) or (
            spec == opponent and figures.get("opponent_cheats") is True
        ):
            return f"{spec} (cheats)"
    return spec


def _ratings(results: Results, ratings: Ratings) -> Html:
    zero = "the mean of all" if ratings.anchor is None else ratings.anchor
    low = min(0.0, *(one.thirds.low for one in ratings.ratings))
    high = max(0.0, *(one.thirds.high for one in ratings.ratings))
    rows = [
        tag(
            "tr",
            tag("th", _name(results, one.agent), scope="row"),
            tag("td", "0" if one.agent == ratings.anchor else f"{one.thirds.mean:+.2f}"),
            tag("td", "" if one.agent == ratings.anchor else _ends(one.thirds)),
            tag("td", bar(one.thirds, low, high), class_="drawn"),
        )
        for one in ratings.ratings
    ]
    return _section(
        "Ratings",
        f"Thirds a deal above {zero}: the numbers whose differences fit all margins best, each "
        "weighted by one over its variance. Intervals are of resampled deals.",
        _table(("agent", "thirds", "95 % interval", ""), rows),
        *([] if ratings.cycles else [tag("p", _NO_CYCLE, class_="end")]),
    )


def _matrix(results: Results, ratings: Ratings, pairs: dict[tuple[str, str], Pairing]) -> Html:
    names = [one.agent for one in ratings.ratings]
    most = max(abs(one.mean) for one in pairs.values()) or 1.0
    rows = []
    for agent in names:
        cells = [_cell(margin_between(pairs, agent, opponent), most) for opponent in names]
        rows.append(tag("tr", tag("th", _name(results, agent), scope="row"), *cells))
    return _section(
        "Margins",
        "What the agent of a row takes more than that of the column. Blue is more, orange less; "
        "without colour the interval holds 0.",
        _table(["", *(_name(results, name) for name in names)], rows),
    )


def margin_between(
    pairs: dict[tuple[str, str], Pairing], agent: str, opponent: str
) -> Interval | None:
    """Return the margin of one agent over another, whoever was named first; None: never met."""
    if (agent, opponent) in pairs:
        return pairs[agent, opponent].margin
    if (opponent, agent) in pairs:
        margin = pairs[opponent, agent].margin
        return Interval(-margin.mean, -margin.high, -margin.low)
    return None


def _cell(margin: Interval | None, most: float) -> Html:
    if margin is None:
        return tag("td", "–")
    colour = None
    if margin.low > 0 or margin.high < 0:
        depth = _DEEPEST * abs(margin.mean) / most
        rgb = "0 114 178" if margin.mean > 0 else "213 94 0"
        colour = f"background: rgb({rgb} / {depth:.2f})"
    return tag("td", f"{margin.mean:+.2f}", tag("small", _ends(margin)), style=colour)


def _ends(interval: Interval) -> str:
    return f"{interval.low:+.2f} to {interval.high:+.2f}"


def _splits(results: Results) -> Html:
    rows = []
    for (agent, opponent), paired in results.paired.items():
        thirds, leads = paired.margins_thirds, paired.leads
        won = (np.sign(paired.margins_house) + 1) / 2
        parts: list[npt.NDArray[Any]] = [thirds[:, 0], thirds[:, 1], thirds[leads], thirds[~leads]]
        cells = [
            tag("td", f"{part.mean:+.2f}", tag("small", _ends(part)))
            for part in map(mean_interval, parts)
        ]
        wins = mean_interval(won.mean(1))
        shares = [f"{100 * share:.1f}" for share in (wins.mean, *wins.ends)]
        cells.append(tag("td", f"{shares[0]} %", tag("small", f"{shares[1]} to {shares[2]}")))
        names = f"{_name(results, agent)} – {_name(results, opponent)}"
        rows.append(tag("tr", tag("th", names, scope="row"), *cells))
    head = ("agent – opponent", "on side 0", "on side 1", "leading", "not leading", "deals won")
    return _section(
        "By seat and lead",
        "The agent's margin on either side, and in the deals whose first trick it led or did not. "
        "Deals are won by the house's scoring; a level one counts half.",
        _table(head, rows),
    )


def _stages(results: Results) -> list[Html]:
    """Return the margins with a stock and after it; nothing if the house or the file has none."""
    rows = []
    for (agent, opponent), paired in results.paired.items():
        if paired.stock_thirds is None:
            continue
        after = paired.margins_thirds - paired.stock_thirds
        cells = [
            tag("td", f"{part.mean:+.2f}", tag("small", _ends(part)))
            for part in map(mean_interval, (paired.stock_thirds.mean(1), after.mean(1)))
        ]
        names = f"{_name(results, agent)} – {_name(results, opponent)}"
        rows.append(tag("tr", tag("th", names, scope="row"), *cells))
    if not rows:
        return []
    head = ("agent – opponent", "with a stock", "after it")
    return [
        _section(
            "By stage of the deal",
            "Thirds that the agent was ahead when the stock ran out, and what it won in the tricks "
            "after that. Cards that were drawn and kept for the end count after it.",
            _table(head, rows),
        )
    ]


def _distributions(pairs: dict[tuple[str, str], Pairing]) -> Html:
    every = [one.by_deal for one in pairs.values() if one.by_deal is not None]
    most = max(1, *(int(np.abs(values).max()) for values in every))
    drawings = [
        tag(
            "figure",
            tag("figcaption", f"{one.agent} – {one.opponent}"),
            histogram(one.by_deal, most),
            tag(
                "p",
                f"median {np.median(one.by_deal):+.1f}, standard deviation "
                f"{one.by_deal.std(ddof=1):.1f}",
                class_="end",
            ),
        )
        for one in pairs.values()
        if one.by_deal is not None
    ]
    return _section(
        "Margins of pairs",
        "How the margins of single deals lie, each the mean of both seatings.",
        tag("div", drawings, class_="figures"),
    )


def _learning(runs: Sequence[Run]) -> list[Html]:
    sections = []
    for name, rows in runs:
        curves, points = margin_series(rows)
        drawn = learning_chart(curves, points) if curves or points else None
        told = (
            "The learner's margins: moving averages of training deals, in which it draws its cards "
            "from the policy, and measurements with its most probable card."
        )
        content = tag("p", "No margins have been logged yet.") if drawn is None else drawn
        sections.append(_section(f"Learning: {name}", told, content))
    return sections


def _worst(results: Results, worst: Sequence[WorstDeal]) -> list[Html]:
    if not worst:
        return []
    agent = results.agents[0]
    blocks = []
    for deal in worst:
        told = f"Deal {deal.number} against {deal.opponent}: {deal.margin_thirds:+.1f}"
        games = [_game(agent, deal.opponent, game) for game in deal.games]
        blocks.append(tag("div", tag("h3", told), games))
    return [
        _section(
            f"Worst deals of {agent}",
            "The lowest margins over both seatings of a deal, each game card by card. Saved into "
            "a file, a record is shown in full by: tressette replay FILE",
            *blocks,
        )
    ]


def _game(agent: str, opponent: str, game: Game) -> Html:
    sides = (agent, opponent) if game.side == 0 else (opponent, agent)
    lead = "leading" if game.leads else "not leading"
    told = f"On side {game.side}, {lead}: {game.margin_thirds:+d} thirds"
    return tag(
        "details",
        tag("summary", told),
        tag("p", f"Side 0: {sides[0]}. Side 1: {sides[1]}."),
        tag("p", game.problem, class_="warning") if game.problem else None,
        tag("pre", game.record) if game.record else None,
    )
