"""Compiled forms of a few plain functions, in the processor's own instructions.

numba would compile these functions as they stand, in a dozen or more steps each. The plain ones
remain the reference: interpreted calls run them, and results are equal, bit for bit.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import from_dtype, types
from numba.core import cgutils as _cgutils
from numba.core.registry import cpu_target
from numba.extending import intrinsic as _intrinsic

from tressette_env import cards, observation, view

__all__ = ["FORMS", "local_view", "uncounted"]

# numba types these as what they are before they are compiled.
cgutils: Any = _cgutils
intrinsic: Any = _intrinsic

_I8 = ir.IntType(8)
_I64 = ir.IntType(64)
_VIEW = from_dtype(view.VIEW_DTYPE)
# Processors with an instruction that spreads bits, but in microcode: slower than a table.
_SLOW_PDEP = ("znver1", "znver2")


def _deposits_bits() -> bool:
    """Whether the processor that numba compiles for has a quick PDEP instruction."""
    _, processor, features = cpu_target.target_context.codegen().magic_tuple()
    return "+bmi2" in features.split(",") and processor not in _SLOW_PDEP


@intrinsic  # type: ignore[untyped-decorator]
def _count_bits(typing: Any, bits: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.ctpop(args[0])

    return types.int64(types.int64), generate


@intrinsic  # type: ignore[untyped-decorator]
def _nth_bit(typing: Any, bits: Any, n: Any) -> Any:
    """Place of bit ``n`` of ``bits``: deposit a single bit there, count the zeros below it."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind = ir.FunctionType(_I64, [_I64, _I64])
        deposit = builder.module.declare_intrinsic("llvm.x86.bmi.pdep.64", fnty=kind)
        single = builder.shl(ir.Constant(_I64, 1), args[1])
        return builder.cttz(builder.call(deposit, [single, args[0]]), ir.Constant(ir.IntType(1), 0))

    return types.int64(types.int64, types.int64), generate


@intrinsic  # type: ignore[untyped-decorator]
def _write_features(typing: Any, words: Any, word: Any, bits: Any) -> Any:
    """Forty bits as forty bytes of 0 or 1, from word number ``word`` on: two stores."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, args[0])
        start = cgutils.get_item_pointer(
            context, builder, signature.args[0], array, [args[1]], wraparound=False
        )
        each = builder.bitcast(args[2], ir.VectorType(ir.IntType(1), 64))
        each = builder.zext(each, ir.VectorType(_I8, 64))
        for low, high in ((0, 32), (32, 40)):
            places = ir.Constant(ir.VectorType(ir.IntType(32), high - low), list(range(low, high)))
            part = builder.shuffle_vector(each, each, places)
            at = builder.gep(builder.bitcast(start, _I8.as_pointer()), [ir.Constant(_I64, low)])
            builder.store(part, builder.bitcast(at, part.type.as_pointer()), align=8)
        return context.get_dummy_value()

    return types.void(words, types.int64, types.int64), generate


@intrinsic  # type: ignore[untyped-decorator]
def _copy_forty(typing: Any, source: Any, target: Any) -> Any:
    """Forty bytes from one array to another: two loads, two stores."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointers = [
            context.make_array(kind)(context, builder, value).data
            for kind, value in zip(signature.args, args, strict=True)
        ]
        for kind, low in ((ir.VectorType(_I8, 32), 0), (_I64, 32)):
            origin, end = (
                builder.bitcast(
                    builder.gep(builder.bitcast(one, _I8.as_pointer()), [ir.Constant(_I64, low)]),
                    kind.as_pointer(),
                )
                for one in pointers
            )
            builder.store(builder.load(origin, align=1), end, align=1)
        return context.get_dummy_value()

    return types.void(source, target), generate


@intrinsic  # type: ignore[untyped-decorator]
def uncounted(typing: Any, array: Any) -> Any:
    """Return an array that is not counted as a reference to its memory.

    For arguments of a compiled function, which its caller keeps: in a loop, counting the
    references of slices and of arrays passed on is dearer than a play.
    """

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        alias = context.make_array(signature.args[0])(context, builder, args[0])
        alias.meminfo = ir.Constant(alias.meminfo.type, None)
        alias.parent = ir.Constant(alias.parent.type, None)
        return alias._getvalue()

    return array(array), generate


@intrinsic  # type: ignore[untyped-decorator]
def local_view(typing: Any) -> Any:
    """Return a view of undefined content on the stack of the compiled function.

    Unlike an array's memory it cannot overlap anything, so what is written to it and not read costs
    nothing.
    """

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        memory = cgutils.alloca_once(builder, ir.ArrayType(_I8, view.VIEW_DTYPE.itemsize))
        memory.align = 64
        return builder.bitcast(memory, context.get_value_type(_VIEW))

    return _VIEW(), generate


def _bit_count(cards: Any) -> Any:
    def form(cards: Any) -> Any:
        return _count_bits(cards)

    return form


def _nth_card(cards: Any, n: Any) -> Any:
    def form(cards: Any, n: Any) -> Any:
        return _nth_bit(cards, n)

    return form


def _write_row(words: Any, word: Any, bits: Any) -> Any:
    def form(words: Any, word: Any, bits: Any) -> Any:
        return _write_features(words, word, bits)

    return form


def _copy_plays(source: Any, target: Any) -> Any:
    def form(source: Any, target: Any) -> Any:
        return _copy_forty(source, target)

    return form


#: Plain function to what numba's ``overload`` takes; ``compiling`` registers them.
FORMS: dict[Callable[..., Any], Callable[..., Any]] = {
    cards.bit_count: _bit_count,
    view.copy_plays: _copy_plays,
}
if sys.byteorder == "little":
    FORMS[observation.write_row] = _write_row
if _deposits_bits():
    FORMS[cards.nth_card] = _nth_card
