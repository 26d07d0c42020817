"""Batches that are being written, token by token, on our models and on any causal language model of transformers."""

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from jaxtyping import Float, Int
from torch import Tensor

from anira.evaluation.predict import Settings
from anira.models import AniraForCausalLM, DepthCache


@dataclass(frozen=True)
class Fed:
    """What a call gave: logits of the next token, and what is known of each token of the call."""

    logits: Float[Tensor, "batch vocab"]
    tokens: Mapping[str, Tensor]
    """exit_depth and executed (batch, time); exit_probs and ran (batch, time, depth), where the policy has them."""
    hides: bool = False


class Session(Protocol):
    """A batch that is being written."""

    def feed(self, ids: Int[Tensor, "batch time"], mask: Int[Tensor, "batch columns"]) -> Fed:
        """Run the next tokens of every row; the mask covers all columns so far."""

    def keep(self, rows: Int[Tensor, " rows"]) -> None:
        """Keep these rows of the batch."""


class AniraSession:
    """A batch on one of our models."""

    def __init__(self, model: AniraForCausalLM, settings: Settings) -> None:
        self._model, self._settings, self._cache = model, settings, DepthCache(model.config)

    def feed(self, ids: Int[Tensor, "batch time"], mask: Int[Tensor, "batch columns"]) -> Fed:
        """Run the next tokens of every row."""
        forced = self._settings.depth
        output = self._model(
            ids.to(self._model.device),
            attention_mask=mask.to(self._model.device),
            past_key_values=self._cache,
            select=self._settings.select,
            threshold=self._settings.threshold,
            exit_depth=forced,
            output_exit_probs=forced is None,
            logits_to_keep=1,
        )
        tokens = {"exit_depth": output.exit_depth, "executed": output.executed, "ran": output.ran}
        if forced is None and output.exit_log_probs is not None:
            tokens["exit_probs"] = output.exit_log_probs.exp()
        known = {name: values for name, values in tokens.items() if values is not None}
        return Fed(output.logits[:, -1], known, bool(output.hides))

    def keep(self, rows: Int[Tensor, " rows"]) -> None:
        """Keep these rows of the batch."""
        self._cache.batch_select_indices(rows)


class StockSession:
    """A batch on a model of transformers: every token has depth 1."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self._cache: Any = None
        # Logits of a whole prompt would take gigabytes; a few old models know no other way.
        last_only = "logits_to_keep" in inspect.signature(model.forward).parameters
        self._options = {"logits_to_keep": 1} if last_only else {}

    def feed(self, ids: Int[Tensor, "batch time"], mask: Int[Tensor, "batch columns"]) -> Fed:
        """Run the next tokens of every row."""
        ids, mask = ids.to(self._model.device), mask.to(self._model.device)
        positions = (mask.long().cumsum(1) - 1).clamp(min=0)[:, -ids.shape[1] :]
        output = self._model(
            ids,
            attention_mask=mask,
            position_ids=positions,
            past_key_values=self._cache,
            use_cache=True,
            **self._options,
        )
        self._cache = output.past_key_values
        one = mask[:, -ids.shape[1] :].long()
        return Fed(output.logits[:, -1], {"exit_depth": one, "executed": one})

    def keep(self, rows: Int[Tensor, " rows"]) -> None:
        """Keep these rows of the batch."""
        self._cache.batch_select_indices(rows)
