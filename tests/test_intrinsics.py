"""Functions with a compiled form of their own: equal to the plain ones on every processor."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest

from tressette_env import cards, intrinsics, observation, view
from tressette_env.compiling import compiled
from tressette_env.fixed_rules import FixedRules, fixed_rules
from tressette_env.rulesets import PRESETS, RULES_DTYPE, playable_presets


def some_sets() -> list[int]:
    rng = np.random.default_rng(5)
    dense = rng.integers(0, 1 << 40, 200)
    sparse = rng.integers(0, 1 << 40, 200) & rng.integers(0, 1 << 40, 200) & dense
    single = [1 << place for place in range(40)]
    return [0, cards.ALL_CARDS, *single, *dense.tolist(), *sparse.tolist()]


@compiled
def counted(bits):  # type: ignore[no-untyped-def]
    return cards.bit_count(bits)


@compiled
def picked(bits, n):  # type: ignore[no-untyped-def]
    return cards.nth_card(bits, n)


@compiled
def written(words, word, bits):  # type: ignore[no-untyped-def]
    observation.write_row(words, word, bits)


@compiled
def copied(source, target):  # type: ignore[no-untyped-def]
    view.copy_plays(source, target)


@compiled
def fixed(rules_row):  # type: ignore[no-untyped-def]
    return fixed_rules(rules_row[0], rules_row[0].seats)


def test_what_has_a_form_of_its_own_is_listed() -> None:
    forms = {cards.bit_count, cards.nth_card, observation.write_row, view.copy_plays}
    assert set(intrinsics.FORMS) <= forms
    assert {cards.bit_count, view.copy_plays} <= set(intrinsics.FORMS)


def test_the_forms_are_what_is_compiled() -> None:
    """The plain functions give the same results, only slower."""
    found = {}
    for caller, arguments in ((counted, (7,)), (copied, (np.zeros(40, np.int8),) * 2)):
        fresh = numba.njit(caller.py_func)  # type: ignore[attr-defined]
        fresh(*arguments)
        (found[caller],) = fresh.inspect_llvm().values()
    assert "llvm.ctpop" in found[counted]
    assert "<32 x i8>" in found[copied]


def test_cards_are_counted_and_picked_as_interpreted() -> None:
    for bits in some_sets():
        assert counted(bits) == cards.bit_count(bits) == bits.bit_count()
        members = cards.card_list(bits)
        assert [picked(bits, n) for n in range(len(members))] == members
        assert [cards.nth_card(bits, n) for n in range(len(members))] == members


def test_a_row_is_written_as_interpreted_and_nothing_beside_it() -> None:
    for bits in some_sets():
        one, other = np.full((2, 15), 0x5A5A5A5A5A5A5A5A, np.int64)
        written(one, 5, bits)
        observation.write_row(other, 5, bits)
        assert (one == other).all()
        features = one.view(np.int8)[40:80]
        assert features.tolist() == [bits >> place & 1 for place in range(40)]


def test_bits_beyond_the_deck_are_not_written() -> None:
    row = np.zeros(6, np.int64)
    written(row, 0, -1)
    assert row.view(np.int8).tolist() == [1] * 40 + [0] * 8


def test_plays_are_copied_and_nothing_beside_them() -> None:
    source = np.arange(60, dtype=np.int8)
    target = np.full(60, 99, np.int8)
    copied(source[7:47], target[13:53])  # aligned to nothing
    assert target[13:53].tolist() == source[7:47].tolist()
    assert (target[:13] == 99).all() and (target[53:] == 99).all()


def test_fixed_rules_are_the_rules() -> None:
    assert FixedRules._fields == RULES_DTYPE.names
    for name in playable_presets():
        row = PRESETS[name].row
        assert tuple(fixed(row)) == tuple(row[0].tolist())


ON_A_PLAIN_PROCESSOR = """
from tests.test_intrinsics import *
assert cards.nth_card not in intrinsics.FORMS
test_cards_are_counted_and_picked_as_interpreted()
test_a_row_is_written_as_interpreted_and_nothing_beside_it()
test_plays_are_copied_and_nothing_beside_them()
"""


ON_A_QUICK_PROCESSOR = """
from tressette_env import cards, intrinsics, observation
import sys
assert cards.nth_card in intrinsics.FORMS
assert (observation.write_row in intrinsics.FORMS) == (sys.byteorder == "little")
"""


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the instruction is of x86-64")
def test_a_processor_with_the_quick_instruction_uses_it() -> None:
    environment = os.environ | {"NUMBA_CPU_NAME": "haswell", "NUMBA_CPU_FEATURES": "+bmi2"}
    subprocess.run([sys.executable, "-c", ON_A_QUICK_PROCESSOR], env=environment, check=True)


@pytest.mark.parametrize("processor", ["generic", "znver2"])
def test_processors_without_a_quick_instruction_have_the_same_results(
    processor: str, tmp_path: Path
) -> None:
    environment = os.environ | {
        "NUMBA_CPU_NAME": processor,
        "NUMBA_CPU_FEATURES": "" if processor == "generic" else "+bmi2,+avx2",
        "TRESSETTE_CACHE_DIR": str(tmp_path),
    }
    result = subprocess.run(
        [sys.executable, "-c", ON_A_PLAIN_PROCESSOR],
        env=environment,
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
