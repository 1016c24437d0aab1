"""The generated parts of ``docs/``: the observation page and the table of houses.

``python -m tressette_env.documentation`` writes them anew from the tables in the code, with
``--check`` it only says whether they are up to date.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path

from tressette_env import full_state
from tressette_env.errors import OptionError
from tressette_env.observation import KINDS, OBSERVATION_VERSION, RULE_FLAGS, Block, layout_for
from tressette_env.rulesets import PRESETS, RuleSet, playable_presets

__all__ = ["GENERATED", "generate", "house_table", "main", "observation_page", "outdated"]

DOCS = Path(__file__).parents[1] / "docs"
BEGIN = "<!-- generated from PRESETS by python -m tressette_env.documentation: begin -->"
END = "<!-- generated: end -->"

_INTRODUCTION = f"""\
<!-- generated from BLOCKS by python -m tressette_env.documentation: edit observation.py instead -->

# Observations

Version {OBSERVATION_VERSION}. `env.observe(agent)` returns a dictionary of two new arrays:

- `observation`, int8[F]: the features below, each 0 or 1;
- `action_mask`, int8[40]: 1 for each card number that may be played now; all 0 for a seat that is
  not to act, and after the end.

An observation is made from what its seat may know, and from nothing else: re-dealing the cards that
the seat cannot see does not change it.

- A card is the number `10 * suit + strength`: suits denari, coppe, spade, bastoni (0 to 3),
  strengths 4 5 6 7 J Q K A 2 3 (0 to 9). Card blocks hold one feature for each card number.
- Seats are relative to the viewer: 0 is the viewer itself, 1 the seat that plays after it, and so
  on; with four seats 2 is the partner. With two seats, features of seats 2 and 3 stay 0.
- A thermometer shows a count n by setting the first n features; a total above the size of its
  block sets all of them.
- An observation is a whole number of rows of 40 features. Blocks that are shorter than a row share
  one with their neighbours.
- After the end `turn` and `leader` are the seat that won the last trick, and in a match the totals
  hold the deal that has just ended.

`tressette_env.observation.layout_for(rules, episode, observation)` gives these tables in code, and
`explain` puts an observation into words:

```python
from tressette_env import explain, tressette_v0

env = tressette_v0.env(rules="cuperativa")
env.reset(seed=7)
seen = env.observe("player_0")["observation"]
layout = env.unwrapped.layout
print(seen[layout["hand"].slice].sum())  #> 10
print(explain(seen, layout)["hand"])
```

The flags in `rules` are, in order: {", ".join(f"`{flag}`" for flag in RULE_FLAGS)}.
"""

_FULL_STATE = """\
## Perfect information: `env.state()`

For critics in training, never for agents: int8, every feature 0 or 1. Seats and sides are absolute
here. `tressette_env.full_state.layout(rules)` gives the table in code.
"""


def _table(blocks: Iterable[Block]) -> list[str]:
    lines = ["| block | start | size | a 1 says |", "|---|---:|---:|---|"]
    lines += [f"| `{b.name}` | {b.start} | {b.size} | {b.meaning} |" for b in blocks]
    return [*lines, ""]


def observation_page() -> str:
    """Return the text of ``docs/observation.md``."""
    two, four = RuleSet(), RuleSet(seats=4)
    parts = [_INTRODUCTION]
    for rules, seats in ((two, "Two seats"), (four, "Four seats")):
        for episode in ("deal", "match"):
            layout = layout_for(rules, episode)
            parts.append(f'## {seats}, `episode="{episode}"`\n')
            parts.append(f"{layout.size} features.\n")
            parts += _table(layout.blocks)
            for kind in KINDS[1:]:
                more = layout_for(rules, episode, kind)
                parts.append(
                    f'With `observation="{kind}"`, {more.size} features; these come after the '
                    "others:\n"
                )
                parts += _table(more.blocks[len(layout.blocks) :])
    parts.append(_FULL_STATE)
    for rules, seats in ((two, "Two"), (four, "Four")):
        layout = full_state.layout(rules)
        parts.append(f"### {seats} seats\n\n{layout.size} features.\n")
        parts += _table(layout.blocks)
    return "\n".join(parts).rstrip() + "\n"


def house_table() -> str:
    """Return the table of houses for ``docs/rules.md``."""
    playable = playable_presets()
    header = (
        "preset",
        "seats",
        "follow (R6)",
        "draws (R9)",
        "scoring",
        "match to",
        "declarations",
        "playable",
        "source",
    )
    lines = [f"| {' | '.join(header)} |", "|" + "---|" * len(header)]
    for name, rules in PRESETS.items():
        cells = (
            f"`{name}`",
            str(rules.seats),
            rules.follow,
            rules.draws if rules.stock_size else "-",
            rules.scoring,
            "one deal" if rules.target is None else str(rules.target),
            rules.declarations + (", cappotto" if rules.cappotto != "none" else ""),
            "yes" if name in playable else "not yet",
            rules.source,
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _rules_page(text: str) -> str:
    """Put the table of houses between its two markers."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise OptionError(f"docs/rules.md: expected the lines {BEGIN!r} and {END!r}; restore them")
    return f"{before}{BEGIN}\n\n{house_table()}\n\n{END}{after}"


#: The pages with generated parts.
GENERATED = ("observation.md", "rules.md")


def generate(docs: Path = DOCS) -> dict[str, str]:
    """Return what the generated pages should hold, by file name."""
    rules = (docs / "rules.md").read_text(encoding="utf-8")
    return {"observation.md": observation_page(), "rules.md": _rules_page(rules)}


def outdated(docs: Path = DOCS) -> list[str]:
    """Return the names of the pages that are missing or not up to date."""
    return [
        name
        for name, text in generate(docs).items()
        if not (docs / name).exists() or (docs / name).read_text(encoding="utf-8") != text
    ]


def main(arguments: list[str] | None = None) -> int:
    """Write the pages, or check them; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m tressette_env.documentation",
        description="Write the generated parts of docs/ from the tables in the code.",
    )
    parser.add_argument("--check", action="store_true", help="write nothing; fail if out of date")
    parser.add_argument("--docs", type=Path, default=DOCS, help="folder of the pages")
    options = parser.parse_args(arguments)
    if not (options.docs / "rules.md").is_file():
        print(f"{options.docs}: expected the folder with rules.md", file=sys.stderr)
        return 2
    stale = outdated(options.docs)
    if options.check:
        for name in stale:
            print(f"{name} is out of date: run {parser.prog}", file=sys.stderr)
        return int(bool(stale))
    for name, text in generate(options.docs).items():
        if name in stale:
            (options.docs / name).write_text(text, encoding="utf-8")
            print(f"wrote {options.docs / name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
