"""The command ``tressette compare``: a line for every opponent, and an exit code for scripts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from tressette_train.compare import Comparison, choose_agents, compare
from tressette_train.results_file import Results, read_results

__all__ = ["run"]

_VERDICTS = {
    "better": "B is better",
    "worse": "B is WORSE",
    "not shown": "no difference shown",
}


def run(path_a: Path, path_b: Path, agent: str | None, agent_b: str | None, as_json: bool) -> int:
    """Compare two files of results, and print what came out.

    Returns
    -------
    int
        1 if agent B is worse than A against an opponent, its whole interval below 0; else 0.

    Raises
    ------
    TressetteError
        If a file cannot be read, the deals are not the same, or whom to compare is not clear.
    """
    a, b = read_results(path_a), read_results(path_b)
    chosen_a, chosen_b = choose_agents(a, b, agent, agent_b)
    found = compare(a, b, chosen_a, chosen_b)
    is_worse = any(one.verdict == "worse" for one in found)
    if as_json:
        content = {
            "rules": a.rules.name,
            "deal_set": a.deal_set or b.deal_set,
            "seed": a.seed,
            "deals": a.deals,
            "agent_a": chosen_a,
            "agent_b": chosen_b,
            "comparisons": [one.to_json() for one in found],
            "regression": is_worse,
        }
        print(json.dumps(content, indent=2, allow_nan=False))
    else:
        print("\n".join(_lines(a, b, chosen_a, chosen_b, found)))
    return int(is_worse)


def _lines(
    a: Results, b: Results, agent_a: str, agent_b: str, found: Sequence[Comparison]
) -> list[str]:
    deal_set = a.deal_set or b.deal_set
    name = f" ({deal_set})" if deal_set else ""
    lines = [
        f"{a.rules.name}: {a.deals} deals of seed {a.seed}{name}, each in both seatings",
        f"  A  {agent_a}  ({a.path})",
        f"  B  {agent_b}  ({b.path})",
        "thirds a deal more than the opponent; B less A deal by deal, 95 % interval",
    ]
    for one in found:
        low, high = one.difference.ends
        without = ", without the luck of the draws" if one.corrected else ""
        lines += [
            f"against {one.opponent}: {_VERDICTS[one.verdict]}{without}",
            f"  A {one.margin_a:+.2f}, B {one.margin_b:+.2f}; B less A "
            f"{one.difference.mean:+.2f} ({low:+.2f} to {high:+.2f}), {_p_text(one.p_value)}",
        ]
    return lines


def _p_text(p_value: float) -> str:
    return f"p = {p_value:.3f}" if p_value >= 0.001 else "p < 0.001"
