"""A GPU for tests on machines without one: it computes on the processor, and mixes nothing.

Tensors that are sent to ``GPU`` are remembered by their memory, as is what is computed of them. An
operation on a tensor there and one that was left on the processor raises, as does reading one there
as an array: what a real GPU would refuse. Every number is the processor's, so that results must be
those of a training without a GPU, bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor
from torch.multiprocessing.reductions import StorageWeakRef
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves

__all__ = ["GPU", "PretendGpu"]

GPU = torch.device("cuda", 0)
_COPIES = {Tensor.to, Tensor.cpu}
_MAY_MIX = {
    Tensor.copy_,
    Tensor.data.__set__,  # type: ignore[attr-defined]
    torch._has_compatible_shallow_copy_type,
}


class PretendGpu(TorchFunctionMode):
    """Pretends in a block, in its thread alone, that there is a GPU.

    Attributes
    ----------
    sent : list of (torch.dtype, bool, bool)
        For each tensor that came from the processor: its type, whether its memory was pinned, and
        whether the processor went on without waiting.
    """

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[tuple[torch.dtype, bool, bool]] = []
        self._there: dict[int, StorageWeakRef] = {}  # the references keep addresses from reuse
        self._pinned: list[Tensor] = []

    def is_there(self, tensor: Tensor) -> bool:
        """Whether a tensor is on the GPU."""
        return tensor.untyped_storage()._cdata in self._there

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        options = dict(kwargs or {})
        tensors = [leaf for leaf in tree_leaves((args, options)) if isinstance(leaf, Tensor)]
        there = [tensor for tensor in tensors if self.is_there(tensor)]
        if func == Tensor.device.__get__:  # type: ignore[attr-defined]
            return GPU if there else func(*args)
        if func == Tensor.pin_memory:
            self._pinned.append(args[0].clone())
            return self._pinned[-1]
        if func in _COPIES:
            return self._copy(func, args, options)
        if func is Tensor.numpy and there:
            raise TypeError("can't convert a tensor on the GPU to numpy: .cpu() comes first")
        left = [one for one in tensors if one.dim() and not self.is_there(one)]
        if there and left and func not in _MAY_MIX:
            raise RuntimeError(f"{func}: expected all tensors on the GPU, got one on the processor")
        arrives = bool(there) or _is_gpu(options.get("device"))
        if _is_gpu(options.get("device")):
            del options["device"]
        result = func(*args, **options)
        return self._arrive(result) if arrives else result

    def _copy(self, func: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Tensor:
        """Do ``to`` and ``cpu``; between processor and GPU memory is never shared."""
        tensor, *how = args
        waits = not options.pop("non_blocking", False)
        targets = [*how, *options.values()]
        goes = any(_is_gpu(one) or self._is_tensor_there(one) for one in targets)
        comes = func is Tensor.cpu or any(_is_cpu(one) for one in targets)
        was_there = self.is_there(tensor)
        how = ["cpu" if _is_gpu(one) else one for one in how if not isinstance(one, bool)]
        options = {key: "cpu" if _is_gpu(one) else one for key, one in options.items()}
        result: Tensor = func(tensor, *how, **options)
        if goes and not was_there:
            self.sent.append((tensor.dtype, self._is_pinned(tensor), not waits))
        if (goes and not was_there) or (comes and was_there):
            result = result.clone()
        return self._arrive(result) if goes or (was_there and not comes) else result

    def _arrive(self, result: Any) -> Any:
        for tensor in tree_leaves(result):
            if isinstance(tensor, Tensor):
                reference = StorageWeakRef(tensor.untyped_storage())
                self._there[reference.cdata] = reference
        return result

    def _is_tensor_there(self, one: Any) -> bool:
        return isinstance(one, Tensor) and self.is_there(one)

    def _is_pinned(self, tensor: Tensor) -> bool:
        return any(
            0 <= tensor.data_ptr() - one.data_ptr() < max(one.untyped_storage().nbytes(), 1)
            for one in self._pinned
        )


def _is_gpu(one: Any) -> bool:
    return isinstance(one, str | torch.device) and torch.device(one).type == "cuda"


def _is_cpu(one: Any) -> bool:
    return isinstance(one, str | torch.device) and torch.device(one).type == "cpu"
