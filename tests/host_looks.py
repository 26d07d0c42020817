"""Counting where the host would wait for a device: everything whose result or shape depends on values of tensors.

There is no device to wait for on a CPU, so this counts the operations that would wait on any other one. Work of the
host with its own numbers is done in numpy, and is not seen here.
"""

from collections.abc import Callable
from typing import Any

from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

SHAPE_DEPENDS_ON_VALUES = ("nonzero", "masked_select", "_unique2", "unique_dim", "unique_consecutive", "bincount")
VALUES = ("_local_scalar_dense", "equal", "is_nonzero", "item")
TO_THE_HOST = (Tensor.cpu, Tensor.tolist)


class HostLooks:
    """Counts looks of the host at values of tensors; `kinds` says which.

    >>> import torch
    >>> with HostLooks() as looks:
    ...     _ = int(torch.ones(3).sum()), torch.ones(3)[torch.tensor([True, False, True])], torch.ones(3).cpu()
    >>> looks.count, looks.kinds
    (3, ['_local_scalar_dense', 'index', 'cpu'])
    """

    def __init__(self) -> None:
        self.kinds: list[str] = []
        self._modes = (_Calls(self.kinds), _Operations(self.kinds))

    @property
    def count(self) -> int:
        """How many there were."""
        return len(self.kinds)

    def __enter__(self) -> "HostLooks":
        for mode in self._modes:
            mode.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        for mode in reversed(self._modes):
            mode.__exit__(*error)


class _Calls(TorchFunctionMode):
    """Copies to the host, which a CPU never makes: seen where they are asked for."""

    def __init__(self, kinds: list[str]) -> None:
        super().__init__()
        self.kinds = kinds

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if func in TO_THE_HOST:
            self.kinds.append(func.__name__)
        return func(*args, **(kwargs or {}))


class _Operations(TorchDispatchMode):
    """Operations that need a value, or whose result has a shape that does."""

    def __init__(self, kinds: list[str]) -> None:
        super().__init__()
        self.kinds = kinds

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None) -> Any:
        name = func._schema.name.removeprefix("aten::")
        unknown_size = name == "repeat_interleave" and (kwargs or {}).get("output_size") is None
        if name in SHAPE_DEPENDS_ON_VALUES + VALUES or unknown_size or _picks_by_mask(name, args):
            self.kinds.append(name)
        return func(*args, **(kwargs or {}))


def _picks_by_mask(name: str, args: Any) -> bool:
    """Whether an index is a mask, so that its number of ones must be known."""
    if name not in ("index", "index_put", "index_put_", "_index_put_impl_"):
        return False
    return any(one is not None and one.dtype.itemsize == 1 and not one.dtype.is_floating_point for one in args[1])
