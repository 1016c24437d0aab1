"""Configs: read, checked as a whole, and every mistake told with its file, line and key."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tressette_env import TressetteError, get_rules
from tressette_env.errors import ConfigError
from tressette_train.config import MAX_SNAPSHOTS, TrainConfig
from tressette_train.config_file import change_config, config_from_json, read_config

CONFIGS = sorted((Path(__file__).parent.parent / "configs").glob("*.yaml"))
BUDGET = "decisions: 1000\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "c.yaml"


def refusal(file: Path, text: str, *overrides: str) -> str:
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        read_config(file, overrides)
    assert isinstance(caught.value, TressetteError)
    message = str(caught.value)
    assert "\n" not in message
    return message.replace(str(file), "FILE")


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_shipped_configs_are_valid_and_say_what_they_are_for(path: Path) -> None:
    config = read_config(path)
    assert get_rules(config.rules)
    head = path.read_text(encoding="utf-8").splitlines()
    comment = " ".join(line for line in head if line.startswith("#"))
    assert comment.startswith(f"# {path.stem}: ")
    assert "Cost: " in comment and "Expected: " in comment


def test_what_is_left_out_has_its_default(file: Path) -> None:
    file.write_text(BUDGET, encoding="utf-8")
    assert read_config(file) == TrainConfig(decisions=1000)


def test_numbers_in_every_usual_form(file: Path) -> None:
    text = "decisions: 2_000_000\nppo:\n  learning_rate: 1e-4\n  clip: .25\n  max_grad_norm: 1\n"
    file.write_text(text, encoding="utf-8")
    config = read_config(file, ["ppo.entropy=5e-3"])
    assert config.decisions == 2_000_000
    assert (config.ppo.learning_rate, config.ppo.clip) == (1e-4, 0.25)
    assert (config.ppo.max_grad_norm, config.ppo.entropy) == (1.0, 5e-3)


def test_a_config_survives_being_stored(file: Path) -> None:
    file.write_text(BUDGET + "network:\n  hidden: [8, 9]\ntorch_threads: 2\n", encoding="utf-8")
    config = read_config(file)
    assert config_from_json(config.model_dump(mode="json"), "x") == config
    file.write_text(yaml.safe_dump(config.model_dump(mode="json")), encoding="utf-8")
    assert read_config(file) == config


def test_a_stored_config_has_the_sections_of_its_algorithm(file: Path) -> None:
    file.write_text(BUDGET + "algorithm: dmc\ndmc:\n  epsilon: 0.2\n", encoding="utf-8")
    config = read_config(file)
    stored = config.model_dump(mode="json")
    assert "dmc" in stored and not {"ppo", "critic"} & stored.keys()
    assert config_from_json(stored, "x") == config
    plain = TrainConfig(decisions=1000).model_dump(mode="json")
    assert {"ppo", "critic"} <= plain.keys() and "dmc" not in plain


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "config FILE: expected keys such as 'decisions: 1000000', it is empty"),
        ("# nothing\n", "config FILE: expected keys such as 'decisions: 1000000', it is empty"),
        ("- 1\n", "FILE, line 1: expected keys such as 'decisions: 1000000', got [1]"),
        ("words", "FILE, line 1: expected keys such as 'decisions: 1000000', got 'words'"),
        ("a: [1,\n b", "FILE, line 2: not YAML: expected ',' or ']', but got '<stream end>'"),
        ("a:\n\t- 1", "FILE, line 2: not YAML: found character '\\t' that cannot start any token"),
        ("%&", "FILE, line 1: not YAML: expected alphabetic or numeric character, but found '&'"),
        (BUDGET + "---\na: 1\n", "FILE, line 2: not YAML: but found another document"),
        (BUDGET + "a: *x\n", "FILE, line 2: not YAML: the alias '*x'; write the value out instead"),
        (BUDGET + "a: &a [*a]\n", "FILE, line 2: not YAML: the alias '*a'; write"),
        (BUDGET + "a: &a 3\nseed: *a\n", "FILE, line 3: not YAML: the alias '*a'; write"),
        (BUDGET + "x: " + "[" * 5000, "FILE, line 1: values nested too deeply"),
        (BUDGET + "x: a\0b\n", "FILE, line 2: not YAML: the character '\\x00' is not allowed"),
        (BUDGET + "\n\x1b[31m: 1\n", "FILE, line 3: not YAML: the character '\\x1b' is not"),
        (BUDGET + "seed: 2001-13-45\n", "FILE, line 2: not YAML: '2001-13-45' is no timestamp"),
        (BUDGET + "seed: !!int foo\n", "FILE, line 2: not YAML: 'foo' is no int"),
        (BUDGET + "seed: !!float foo\n", "FILE, line 2: not YAML: 'foo' is no float"),
        (BUDGET + "seed: !!bool foo\n", "FILE, line 2: not YAML: 'foo' is no bool"),
        (BUDGET + "seed: !!timestamp foo\n", "FILE, line 2: not YAML: 'foo' is no timestamp"),
        (BUDGET + "seed: 0b_\n", "FILE, line 2: not YAML: '0b_' is no int"),
        (BUDGET + "seed: 0x_\n", "FILE, line 2: not YAML: '0x_' is no int"),
        (BUDGET + "0x_: 1\n", "FILE, line 2: not YAML: '0x_' is no int"),
        (BUDGET + f"seed: {'9' * 5000}\n", "FILE, line 2: not YAML: '99999"),
        (BUDGET + f"seed: 0x{'f' * 5000}\n", "FILE, line 2: a number out of range, got '0xff"),
        (f"decisions: 1{'0' * 400}\n", "FILE, line 1: a number out of range, got '1000"),
        (BUDGET + "# " + "x" * 200_000, "FILE, line 1: expected at most 100,000 characters"),
        (BUDGET + 'rules: "\\ud800"\n', "FILE, line 2: "),
        (BUDGET + '"\\ud800\\e": 1\n', "FILE, line 2: expected text, got half a"),
        (BUDGET + '"\\e[31m": 1\n', "FILE, line 2: unknown key '\\x1b[31m'"),
        (BUDGET + "x: !!python/object:os.system {}\n", "FILE, line 2: unknown key 'x'"),
        (
            "seed: 1\n" + BUDGET + BUDGET,
            "FILE, line 3: the key 'decisions' is given twice (FILE, line 2)",
        ),
        (
            BUDGET + "ppo:\n  clip: 0.1\n  clip: 0.2\n",
            "FILE, line 4: the key 'ppo.clip' is given twice (FILE, line 3)",
        ),
        (BUDGET + "1: 2\n", "FILE, line 2: expected a key that is a word, got 1"),
        ("seed: 1\n", "FILE, line 1: expected a budget: decisions, minutes, or both; got neither"),
    ],
)
def test_files_that_are_no_config(file: Path, text: str, message: str) -> None:
    assert refusal(file, text).startswith(message)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("ppo:\n  learning_rat: 1\n", 3, "unknown key 'ppo.learning_rat'; did you mean 'learning_"),
        (
            "decision: 3\n",
            2,
            "unknown key 'decision'; did you mean 'decisions'? (keys here: rules,",
        ),
        ("ppo:\n  learning_rate: fast\n", 3, "ppo.learning_rate: expected a number, got 'fast'"),
        ("ppo:\n  learning_rate: '1'\n", 3, "ppo.learning_rate: expected a number, got '1'"),
        ("ppo:\n  learning_rate: 0\n", 3, "ppo.learning_rate: expected a number greater than 0"),
        ("ppo:\n  learning_rate: .nan\n", 3, "ppo.learning_rate: expected a finite number, got"),
        ("ppo:\n  max_grad_norm: .inf\n", 3, "ppo.max_grad_norm: expected a finite number"),
        ("ppo:\n  max_grad_norm: 1e400\n", 3, "ppo.max_grad_norm: expected a finite number"),
        ("opponents:\n  agents:\n    greedy: .inf\n", 4, "opponents.agents.greedy: expected a fin"),
        ("ppo:\n  minibatch: 10_000_000_000\n", 3, "ppo.minibatch: expected a number less than"),
        ("checkpoint:\n  every: 10_000_000_000\n", 3, "checkpoint.every: expected a number less"),
        ("benchmark:\n  deals: 10_000_000_000\n", 3, "benchmark.deals: expected a number less"),
        ("benchmark:\n  agents: [greedy, gredy]\n", 3, "benchmark.agents: unknown agent 'gredy'"),
        (
            "benchmark:\n  agents:\n  - greedy\n  - greedy:x=1\n",
            5,
            "benchmark.agents: agent 'greedy': unknown option",
        ),
        (
            "rules: gamelake_partners\nbenchmark:\n  agents: [greedy+endings]\n",
            4,
            "benchmark.agents: agent 'greedy+endings' does not play 'gamelake_partners'",
        ),
        ("opponents:\n  agents:\n    greedy+endngs: 1\n", 3, "opponents.agents: unknown agent"),
        ("rollout:\n  deals: 2\n  tables: 31\n", 4, "rollout.tables: expected a multiple"),
        ("shards: 64\nppo:\n  minibatch: 63\n", 4, "ppo.minibatch: expected at least one"),
        ("seed: 1\nshards: 31\n", 3, "rollout.tables: expected a multiple of shards (31)"),
        ("ppo:\n  clip: .1\n  epochs: 1.5\n", 4, "ppo.epochs: expected a whole number, got 1.5"),
        ("ppo:\n  epochs: true\n", 3, "ppo.epochs: expected a whole number, got True"),
        ("ppo: 3\n", 2, "ppo: expected a section with keys of its own, got 3"),
        ("ppo:\nseed: 1\n", 2, "ppo: expected a section with keys of its own, got None"),
        ("network:\n  hidden: 64\n", 3, "network.hidden: expected a list, got 64"),
        ("network:\n  hidden:\n  - 64\n  - big\n", 5, "network.hidden.1: expected a whole number"),
        ("network:\n  hidden: [64, 0]\n", 3, "network.hidden: expected widths from 1 to 8192"),
        ("rules: playmor\n", 2, "rules: unknown rule set 'playmor'; did you mean 'playmore'?"),
        ("rules: fitres\n", 2, "rules: rule set 'fitres' has declarations"),
        ("reward:\n  kind: trick\n", 3, "reward.kind: expected 'tricks' or 'house', got 'trick'"),
        (
            "torch_threads: all\n",
            2,
            "torch_threads: expected 'auto' or 1 to 256 threads, got 'all'",
        ),
        ("torch_threads: 0\n", 2, "torch_threads: expected 'auto' or 1 to 256 threads, got 0"),
        ("seed: -1\n", 2, "seed: expected a number greater than or equal to 0, got -1"),
        (
            "opponents:\n  agents:\n    gredy: 1\n",
            3,
            "opponents.agents: unknown agent 'gredy'; did",
        ),
        ("opponents:\n  agents:\n    greedy: x\n", 4, "opponents.agents.greedy: expected a number"),
        ("opponents:\n  agents:\n    greedy: -1\n", 3, "opponents.agents: weight of 'greedy'"),
        ("opponents:\n  agents: {}\n  snapshots: 0\n", 2, "opponents: a share of the tables needs"),
        ("algorithm: dqn\n", 2, "algorithm: expected 'ppo' or 'dmc', got 'dqn'"),
        (
            "algorithm: dmc\nppo:\n  clip: 0.1\n",
            3,
            "ppo: expected no settings of algorithm: ppo with algorithm: dmc",
        ),
        ("algorithm: dmc\ncritic: {}\n", 3, "critic: expected no settings of algorithm: ppo with"),
        ("dmc:\n  epochs: 2\n", 2, "dmc: expected no settings of algorithm: dmc with"),
        ("algorithm: dmc\ndmc:\n  epsilon: 1.5\n", 4, "dmc.epsilon: expected a number less than"),
        ("algorithm: dmc\ndmc:\n  epsilon_final: 2\n", 4, "dmc.epsilon_final: expected a number"),
        ("algorithm: dmc\ndmc:\n  clip: 0.1\n", 4, "unknown key 'dmc.clip'"),
        (
            "algorithm: dmc\nshards: 64\ndmc:\n  minibatch: 63\n",
            5,
            "dmc.minibatch: expected at least one",
        ),
        ("critic:\n  sees: hands\n", 2, "critic: sees: hands needs layers"),
        (
            "ppo:\n  clip: 3\n  epochs: 0\n",
            3,
            "ppo.clip: expected a number less than or equal to 1",
        ),
    ],
)
def test_wrong_keys_and_values(file: Path, text: str, line: int, message: str) -> None:
    assert refusal(file, BUDGET + text).startswith(f"FILE, line {line}: {message}")


def test_a_run_keeps_no_more_snapshots_than_a_checkpoint_may_hold(file: Path) -> None:
    message = refusal(file, BUDGET + f"opponents:\n  keep: {MAX_SNAPSHOTS + 1}\n")
    assert "opponents.keep: expected a number less than or equal to 1000, got 1001" in message


def test_further_problems_are_counted(file: Path) -> None:
    text = BUDGET + "ppo:\n  clip: 3\n  epochs: 0\n  x: 1\n"
    assert refusal(file, text).endswith("got 3 (and 2 more problems)")


def test_settings_that_contradict_each_other(file: Path) -> None:
    odd = refusal(file, BUDGET + "rollout:\n  tables: 31\n")
    assert "rollout.tables: expected a multiple of shards (2), at least 2 tables a shard" in odd
    assert "ppo.minibatch: expected at least one decision for each of the shards (64)" in refusal(
        file, BUDGET + "shards: 64\nppo:\n  minibatch: 63\n"
    )


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.yaml: cannot be read: No such file"):
        read_config(tmp_path / "none.yaml")
    with pytest.raises(ConfigError, match="cannot be read: Is a directory"):
        read_config(tmp_path)
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="cannot be read"):
        read_config(tmp_path / "binary")


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("ppo.learning_rate", ": expected SECTION.KEY=VALUE, as in ppo.learning_rate=1e-4"),
        ("=3", ": expected SECTION.KEY=VALUE"),
        ("ppo..clip=1", ": expected SECTION.KEY=VALUE"),
        ("ppo.clp=0.1", ": unknown key 'ppo.clp'; did you mean 'clip'?"),
        ("decisions.x=1", ": 'decisions' is a value, not a section"),
        ("ppo.learning_rate=fast", ": ppo.learning_rate: expected a number, got 'fast'"),
        ("ppo.clip=2", ": ppo.clip: expected a number less than or equal to 1, got 2"),
        ("network.hidden=[1, ", ": not YAML: "),
        ("ppo=3", ": ppo: expected a section with keys of its own, got 3"),
        ("seed=", ": seed: expected a whole number, got None"),
        ("seed=*a", ": not YAML: the alias '*a'"),
        ("seed=2001-13-45", ": not YAML: '2001-13-45' is no timestamp"),
        ("ppo.clip.x=1", ": 'clip' is a value, not a section"),
        ("ppo.epochs.x=1", ": ppo.epochs: expected a whole number, got {'x': 1}"),
        ("dmc.epsilon=0.5", ": dmc: expected no settings of algorithm: dmc with algorithm: ppo"),
        ("rollout.tables=31", ": rollout.tables: expected a multiple of shards"),
        ("benchmark.agents=[gredy]", ": benchmark.agents: unknown agent 'gredy'; did you mean"),
    ],
)
def test_mistakes_in_set(file: Path, override: str, message: str) -> None:
    assert refusal(file, BUDGET + "ppo:\n  clip: 0.1\n", override).startswith(
        f"--set {override}{message}"
    )


def test_set_changes_what_the_file_says(file: Path) -> None:
    file.write_text(BUDGET + "ppo:\n  clip: 0.1\n", encoding="utf-8")
    overrides = ["ppo.clip=0.3", "network.hidden=[64]", "opponents.agents.learned:a.b=2", "seed=4"]
    overrides.append("opponents.share=0")  # nobody of the pool plays: its agents are not made
    config = read_config(file, overrides)
    assert (config.ppo.clip, config.network.hidden, config.seed) == (0.3, [64], 4)
    assert config.opponents.agents == {"learned:a.b": 2.0}


def test_a_mistake_in_the_file_is_not_put_on_set(file: Path) -> None:
    message = refusal(file, BUDGET + "ppo:\n  clip: 3\n", "ppo.epochs=2")
    assert message.startswith("FILE, line 3: ppo.clip")


def test_only_some_keys_change_when_a_run_goes_on() -> None:
    config = TrainConfig(decisions=1000)
    changed = change_config(
        config, ["decisions=2000", "checkpoint.every=3"], "r", ["decisions", "checkpoint"]
    )
    assert (changed.decisions, changed.checkpoint.every) == (2000, 3)
    with pytest.raises(ConfigError, match=r"--set ppo\.clip=0\.1.*may not change.*decisions"):
        change_config(config, ["ppo.clip=0.1"], "r", ["decisions"])


@pytest.mark.parametrize(
    "override", ["seed=\0", "seed=\x1b[31m", "seed=\udcff", "\udcff\x07=1", "a.\x1b=1", "\x9b"]
)
def test_what_would_act_on_a_terminal_is_not_repeated_by_set(file: Path, override: str) -> None:
    message = refusal(file, BUDGET, override)
    assert message.startswith("--set ")
    assert message.isprintable()


@pytest.mark.parametrize(
    ("text", "overrides"),
    [
        (f"- {'x' * 90_000}\n", []),
        (f"[{'1,' * 9_000}]", []),
        (BUDGET + f"{'k' * 900}: 1\n", []),
        (BUDGET + f"? {'k' * 90_000}\n: 1\n", []),
        (BUDGET + f"rules: {'r' * 90_000}\n", []),
        (BUDGET + f"torch_threads: {'r' * 90_000}\n", []),
        (BUDGET + f"network:\n  hidden: [{'8,' * 9_000}]\n", []),
        (BUDGET + f"benchmark:\n  agents: [{'a' * 90_000}]\n", []),
        (BUDGET + f"opponents:\n  agents: {{{'a' * 900}: 1}}\n", []),
        (BUDGET + f"seed: !{'t' * 900} x\n", []),
        (BUDGET + f"seed: *{'t' * 90_000}\n", []),
        (BUDGET, [f"seed={'x' * 90_000}"]),
        (BUDGET, ["x" * 90_000]),
        (BUDGET, [f"{'x' * 90_000}=1"]),
        (BUDGET, [f"seed={'x' * 900_000}"]),
    ],
)
def test_a_message_stays_short(file: Path, text: str, overrides: list[str]) -> None:
    assert len(refusal(file, text, *overrides)) < 600


def test_additions_to_agents_are_known(file: Path) -> None:
    file.write_text(BUDGET, encoding="utf-8")
    config = read_config(
        file, ["opponents.agents.greedy+endings=1", "benchmark.agents=[random+endings]"]
    )
    assert config.opponents.agents["greedy+endings"] == 1
    assert config.benchmark.agents == ["random+endings"]


@pytest.mark.parametrize(
    ("text", "place", "key"),
    [
        ('opponents:\n  agents: {"flat:worlds=abc": 1}\n', 3, "opponents.agents"),
        ('warm_start: "flat:wrlds=3"\n', 2, "warm_start"),
        ("rules: mini_2x4\nwarm_start: learned:champion\n", 3, "warm_start"),
    ],
)
def test_a_mistake_in_an_agents_options_is_told_with_its_place(
    text: str, place: int, key: str, file: Path
) -> None:
    assert refusal(file, BUDGET + text).startswith(f"FILE, line {place}: {key}: ")


def test_what_reads_all_plays_needs_no_leads(file: Path) -> None:
    text = BUDGET + "network: {kind: history, sees: leads}\n"
    assert "history sees every play in order; leave out network.sees" in refusal(file, text)


def test_an_agent_with_no_weight_is_not_asked(file: Path) -> None:
    file.write_text(BUDGET + 'opponents:\n  agents: {"learned:nowhere": 0}\n')
    read_config(file)
