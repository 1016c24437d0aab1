"""The page of results: commands run once, kept, and written up with their intervals."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tressette_env.errors import ConfigError
from tressette_train.checkpoint import newest_checkpoint
from tressette_train.config_file import read_config
from tressette_train.results_page import command
from tressette_train.results_page.parts import PartFailedError
from tressette_train.results_page.plan import read_plan

CONFIG = Path(__file__).parent.parent / "configs" / "mini_2x4.yaml"
SMALL = "--set rollout.tables=16 --set network.hidden=[8] --set critic.hidden=[8]"
PLAN = f"""
attacks:
  greedy: >-
    attack greedy --rules mini_2x4 --decisions 100 --deals 20 --run-dir {{folder}}/attack --json
ladders:
  mini: eval random greedy counting --ladder --rules mini_2x4 --deals 30 --seed 1 --json
exploitability:
  mini_2x4: >-
    exploit learned:{{folder}}/one,sample=true learned:{{folder}}/two greedy --rules mini_2x4 --json
training:
  one: train {CONFIG} --set decisions=100 {SMALL} --run-dir {{folder}}/one
  two: train {CONFIG} --set decisions=100 {SMALL} --set seed=1 --run-dir {{folder}}/two
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder in which the small plan has been carried out."""
    path = tmp_path_factory.mktemp("results")
    (path / "plan.yaml").write_text(PLAN)
    command.run(path / "plan.yaml", path / "kept", path / "page.md")
    return path


def kept(made: Path, label: str) -> dict[str, object]:
    return dict(json.loads((made / "kept" / f"{label}.json").read_text()))


def test_the_page_shows_what_the_commands_printed(made: Path) -> None:
    page = (made / "page.md").read_text()
    ladder = kept(made, "ladders-mini")["output"]["results"]  # type: ignore[index]
    assert {(one["agent"], one["opponent"]) for one in ladder} == {
        ("counting", "greedy"),
        ("counting", "random"),
        ("greedy", "random"),
    }
    for one in ladder:
        low, high = one["ci95"]
        assert f"{one['margin_thirds']:+.2f} ({low:+.2f} to {high:+.2f})" in page
    exploited = kept(made, "exploitability-mini_2x4")["output"]["results"]  # type: ignore[index]
    values = [one["exploitability_thirds"] for one in exploited]
    for one, value in zip(exploited, values, strict=True):
        assert f"| `{one['agent']}` | {value:.4f} |" in page
    assert f"mean of the 2 learned ones | **{sum(values[:2]) / 2:.4f}**" in page
    attack = kept(made, "attacks-greedy")["output"]
    assert f"| `greedy` | {attack['lower_bound_thirds']:.2f} |" in page  # type: ignore[index]
    assert "30 deals of seed 1 a cell" in page
    trained = newest_checkpoint(made / "kept" / "one" / "checkpoints", print).counters.seconds
    assert kept(made, "training-one")["seconds"] == trained > 0
    for label in ("ladders-mini", "exploitability-mini_2x4", "attacks-greedy", "training-two"):
        assert f"\n{kept(made, label)['command']}\n" in page
    assert f"tressette results {made}/plan.yaml --folder {made}/kept" in page


def test_trainings_come_first_and_nothing_is_run_twice(
    made: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    labels = [part.label for part in read_plan(made / "plan.yaml")]
    assert labels[:2] == ["training-one", "training-two"]
    monkeypatch.setattr("subprocess.Popen", None)  # raises if it is called
    command.run(made / "plan.yaml", made / "kept", None)
    out, told = capsys.readouterr()
    assert out.split("\n", 12)[12] == (made / "page.md").read_text().split("\n", 12)[12]
    assert told == ""


def test_what_was_begun_goes_on(
    made: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """As after a kill: the attack's run is there, its figures are not."""
    plan = tmp_path / "plan.yaml"
    run = made / "kept" / "attack"
    again = f"attack greedy --rules mini_2x4 --decisions 100 --run-dir {run} --json"
    plan.write_text(f"attacks:\n  greedy: {again}\n")
    command.run(plan, tmp_path / "kept", None)
    told = capfd.readouterr().err
    assert f"tressette attack --resume {run} --json" in told
    found = json.loads((tmp_path / "kept" / "attacks-greedy.json").read_text())
    assert found["output"] == kept(made, "attacks-greedy")["output"]


def test_a_command_that_fails_keeps_what_was_finished(tmp_path: Path) -> None:
    plan = tmp_path / "plan.yaml"
    good = "eval random greedy --ladder --rules mini_2x4 --deals 4 --json"
    plan.write_text(f"ladders:\n  good: {good}\nattacks:\n  bad: attack nobody --json\n")
    with pytest.raises(
        PartFailedError, match=r"attacks: bad: tressette attack nobody --json ended"
    ):
        command.run(plan, tmp_path / "kept", None)
    assert [path.name for path in (tmp_path / "kept").iterdir()] == ["ladders-good.json"]


def test_figures_of_another_command_or_damaged_ones_are_refused(made: Path, tmp_path: Path) -> None:
    plan, folder = tmp_path / "plan.yaml", tmp_path / "kept"
    folder.mkdir()
    plan.write_text("ladders:\n  mini: eval random greedy --ladder --json\n")
    file = folder / "ladders-mini.json"
    file.write_bytes((made / "kept" / "ladders-mini.json").read_bytes())
    with pytest.raises(ConfigError, match="made by another command"):
        command.run(plan, folder, None)
    outcome = json.loads((made / "kept" / "training-one.json").read_text())
    outcome["files"] = {str(CONFIG): "0" * 64}
    changed = made / "kept" / "training-one.json"
    whole = changed.read_bytes()
    changed.write_text(json.dumps(outcome))
    with pytest.raises(ConfigError, match=r"made with another .*mini_2x4.yaml than is there now"):
        command.run(made / "plan.yaml", made / "kept", None)
    changed.write_bytes(whole)
    file.write_text('{"command": ')
    with pytest.raises(ConfigError, match="damaged"):
        command.run(plan, folder, None)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected sections of commands"),
        ("- 1", "expected sections of commands"),
        ("a: [", "not YAML"),
        ("ladder: {}", "expected one of training, ladders.*did you mean 'ladders'"),
        ("ladders: 3", "ladders: expected sections"),
        ("ladders: {a/b: eval --json}", "expected a file's name, got 'a/b'"),
        ("ladders: {a: attack b --json}", "ladders: a: expected 'eval ...', got 'attack b --json'"),
        ("ladders: {a: 'eval \"b'}", "not a command: No closing quotation"),
        ("ladders: {a: eval b}", "expected --json"),
        ("training: {a: train b}", "expected --run-dir"),
    ],
)
def test_mistakes_in_a_plan_are_one_line(text: str, message: str, tmp_path: Path) -> None:
    plan = tmp_path / "plan.yaml"
    plan.write_text(text)
    with pytest.raises(ConfigError, match=message) as caught:
        read_plan(plan)
    assert "\n" not in str(caught.value)


def test_a_plan_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"plan .*nowhere.yaml: cannot be read: No such file"):
        read_plan(tmp_path / "nowhere.yaml")


def test_the_kits_plan_can_be_read() -> None:
    labels = {part.label for part in read_plan(CONFIG.parent.parent / "docs" / "results.yaml")}
    assert {"ladders-playmore", "ladders-gamelake", "ladders-gamelake_partners"} <= labels
    for part in read_plan(CONFIG.parent.parent / "docs" / "results.yaml"):
        if part.section == "training":
            overrides = [word for word in part.words if word.startswith("seed=")]
            config = read_config(CONFIG.parent.parent / part.words[1], overrides)
            assert part.name == f"{config.rules}-seed{config.seed}"
