"""The documents: generated parts are up to date, examples run as they say, links lead somewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tressette_env import documentation, full_state
from tressette_env.observation import layout_for
from tressette_env.rulesets import PRESETS, playable_presets

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md"))]
ALL_PAGES = [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]
NOT_RUN = "<!-- not run -->"


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def python_blocks(text: str) -> list[tuple[int, str]]:
    """First line and code of every python block; without those marked as not run."""
    blocks = []
    for found in re.finditer(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        before = text[: found.start()].rstrip().rpartition("\n")[2]
        if before.strip() != NOT_RUN:
            blocks.append((text[: found.start()].count("\n") + 2, found[1]))
    return blocks


def run_blocks(path: Path, text: str, printed: Any) -> int:
    """Run a page's blocks in order, as one program; check what ``print(...)  #> output`` says."""
    namespace: dict[str, Any] = {"__name__": "example"}
    blocks = python_blocks(text)
    for line, code in blocks:
        exec(compile("\n" * (line - 1) + code, str(path), "exec"), namespace)
        said = printed().splitlines()
        for expected in re.findall(r"#> (.*)$", code, re.MULTILINE):
            assert expected in said, f"{path}, block at line {line}: expected {expected!r}"
            said = said[said.index(expected) + 1 :]
    return len(blocks)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_examples_run(
    page: Path, tmp_path: Path, monkeypatch: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    run_blocks(page, page.read_text(encoding="utf-8"), lambda: capsys.readouterr().out)


def test_the_example_runner_can_fail(capsys: pytest.CaptureFixture[str]) -> None:
    def run(text: str) -> int:
        return run_blocks(Path("page.md"), text, lambda: capsys.readouterr().out)

    good = "# Page\n\n```python\nx = 1\n```\n\nText.\n\n```python\nprint(x)  #> 1\n```\n"
    assert run(good) == 2
    with pytest.raises(AssertionError, match="line 10: expected '2'"):
        run(good.replace("#> 1", "#> 2"))
    with pytest.raises(NameError):
        run(good.replace("print(x)", "print(y)"))
    assert run(f"{NOT_RUN}\n```python\nnonsense\n```\n") == 0


@pytest.mark.parametrize("page", ["environment.md", "observation.md", "rules.md"])
def test_pages_have_examples(page: str) -> None:
    assert python_blocks((DOCS / page).read_text(encoding="utf-8"))


def anchors(path: Path) -> set[str]:
    """Anchors that GitHub gives a page's headings."""
    text = re.sub(r"^```.*?^```$", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {
        re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-") for heading in headings
    }


@pytest.mark.parametrize("page", ALL_PAGES, ids=name_of)
def test_relative_links_resolve(page: Path) -> None:
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    links = re.findall(r"\]\(([^)\s]+)[^)]*\)", text)
    for link in links:
        if re.match(r"[a-z]+:", link):
            continue
        target, _, anchor = link.partition("#")
        path = (page.parent / target).resolve() if target else page
        assert path.exists(), f"{name_of(page)} links to {link}"
        if anchor and path.suffix == ".md":
            assert anchor in anchors(path), f"{name_of(page)} links to {link}"


def test_the_index_reaches_every_page_in_one_hop() -> None:
    text = (DOCS / "index.md").read_text(encoding="utf-8")
    for page in DOCS.glob("*.md"):
        assert page.name == "index.md" or f"]({page.name})" in text, page.name


def test_generated_parts_are_up_to_date() -> None:
    assert documentation.outdated() == []


def test_writing_and_checking_generated_parts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def main(*arguments: str) -> int:
        return documentation.main(["--docs", str(tmp_path), *arguments])

    assert main() == 2
    assert "rules.md" in capsys.readouterr().err
    text = (DOCS / "rules.md").read_text(encoding="utf-8")
    (tmp_path / "rules.md").write_text(text.replace("`yeeqia`", "`yeqia`"), encoding="utf-8")
    assert main("--check") == 1
    told = capsys.readouterr().err
    assert "rules.md is out of date" in told
    assert "observation.md is out of date" in told
    assert not (tmp_path / "observation.md").exists()
    assert main() == 0
    assert main("--check") == 0
    for name in documentation.GENERATED:
        assert (tmp_path / name).read_text() == (DOCS / name).read_text()
    (tmp_path / "rules.md").write_text(text.replace(documentation.END, ""), encoding="utf-8")
    with pytest.raises(ValueError, match=r"docs/rules.md: expected the lines"):
        main()


def test_as_a_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tressette_env.documentation", "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_every_rule_is_explained_once() -> None:
    text = (DOCS / "rules.md").read_text(encoding="utf-8")
    assert re.findall(r"^- \*\*(R\d+)\*\* ", text, re.MULTILINE) == [f"R{n}" for n in range(1, 20)]


def test_the_house_table_says_what_the_presets_say() -> None:
    rows = [line for line in documentation.house_table().splitlines() if line.startswith("| `")]
    assert len(rows) == len(PRESETS)
    for row in rows:
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        rules = PRESETS[cells[0].strip("`")]
        assert cells[1] == str(rules.seats)
        assert cells[2] == rules.follow
        assert cells[3] == (rules.draws if rules.seats == 2 else "-")
        assert cells[4] == rules.scoring
        assert cells[5] == ("one deal" if rules.target is None else str(rules.target))
        assert cells[6].startswith(rules.declarations)
        assert (cells[7] == "yes") == (rules.name in playable_presets())
        assert cells[8] == rules.source


def test_the_observation_page_holds_every_block_of_every_layout() -> None:
    text = documentation.observation_page()
    for rules in (PRESETS["playmore"], PRESETS["gamelake_partners"]):
        for layout in (
            layout_for(rules, "deal"),
            layout_for(rules, "match"),
            layout_for(rules, "match", "history"),
            full_state.layout(rules),
        ):
            assert f"{layout.size} features" in text
            for block in layout.blocks:
                row = f"| `{block.name}` | {block.start} | {block.size} | {block.meaning} |"
                assert row in text


def test_rules_cited_in_code_are_explained() -> None:
    known = {f"R{number}" for number in range(1, 20)}
    for folder in ("tressette_env", "agents", "train"):
        for path in (ROOT / folder).rglob("*.py"):
            cited = set(re.findall(r"\bR\d{1,2}\b", path.read_text(encoding="utf-8")))
            assert cited <= known, path
