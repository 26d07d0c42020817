"""Reversible changes of tensors that transformers' own list of operations lacks."""

from typing import Any

from torch import Tensor
from transformers.core_model_loading import ConversionOps


class PairsToHalves(ConversionOps):
    """Reorder the rows of query and key projections, head by head: (x0, x1), (x2, x3), ... to x0, x2, ..., x1, x3, ...

    Rotary embedding of adjacent pairs is, after this, the one of two halves that Llama's layers compute: the same
    numbers at other places, and attention does not see places.
    """

    def __init__(self, *, back: bool = False) -> None:
        self.back = back

    def convert(self, input_dict: dict[str, Any], *args: Any, **kwargs: Any) -> dict[str, Any]:
        """Reorder what belongs to queries and keys, and pass on the rest."""
        moved, head_dim = ("q_proj", "k_proj"), kwargs["config"].head_dim
        return {
            name: self._reorder(_single(tensor), head_dim) if any(part in name for part in moved) else tensor
            for name, tensor in input_dict.items()
        }

    def _reorder(self, tensor: Tensor, head_dim: int) -> Tensor:
        inner = (2, head_dim // 2) if self.back else (head_dim // 2, 2)
        return tensor.view(-1, *inner, *tensor.shape[1:]).transpose(1, 2).reshape(tensor.shape)

    @property
    def reverse_op(self) -> ConversionOps:
        """Return the way back."""
        return PairsToHalves(back=not self.back)


class FlatBiases(ConversionOps):
    """Flatten biases of heads, (1, 1, heads, head), into those of a linear map."""

    def convert(self, input_dict: dict[str, Any], *args: Any, **kwargs: Any) -> dict[str, Any]:
        """Return them with one axis."""
        return {name: _single(tensor).flatten() for name, tensor in input_dict.items()}

    @property
    def reverse_op(self) -> ConversionOps:
        """Return the way back."""
        return HeadBiases()


class HeadBiases(ConversionOps):
    """The reverse of `FlatBiases`."""

    def convert(self, input_dict: dict[str, Any], *args: Any, **kwargs: Any) -> dict[str, Any]:
        """Return them as (1, 1, heads, head)."""
        head_dim = kwargs["config"].head_dim
        return {name: _single(tensor).view(1, 1, -1, head_dim) for name, tensor in input_dict.items()}

    @property
    def reverse_op(self) -> ConversionOps:
        """Return the way back."""
        return FlatBiases()


def _single(tensors: Any) -> Tensor:
    tensor: Tensor = tensors[0] if isinstance(tensors, list) else tensors
    return tensor
