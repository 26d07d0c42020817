"""Self-speculation: the model drafts with few iterations, and verifies at the depths that its policy wants.

    model.generate(ids, assistant_early_exit=1)

The draft is Hugging Face's assisted generation with the model itself as its own assistant, at a forced depth and with a
cache of its own. A greedy answer is the one that comes without a draft, token for token: verifying several tokens in
one call gives what reading them one by one gives.
"""

from typing import Any

import torch
from transformers.generation.candidate_generator import AssistedCandidateGenerator

from anira.config import UserError
from anira.models.cache import DepthCache


class EarlyDraft(AssistedCandidateGenerator):
    """Candidates of the model itself, at `assistant_early_exit` iterations for every token."""

    def __init__(
        self,
        input_ids: torch.LongTensor,
        assistant_model: Any,
        generation_config: Any,
        model_kwargs: dict[str, Any],
        **settings: Any,
    ) -> None:
        depth = generation_config.assistant_early_exit
        check_draft(depth, assistant_model.config.max_depth, model_kwargs.get("past_key_values"))
        super().__init__(input_ids, assistant_model, generation_config, model_kwargs, **settings)
        self.generation_config.assistant_early_exit = None  # the draft itself has no draft
        rules = ("select", "threshold", "exits", "max_depth")
        kept = {name: value for name, value in self.assistant_kwargs.items() if name not in rules}
        self.assistant_kwargs = {**kept, "exit_depth": depth}


def check_draft(depth: int, max_depth: int, cache: Any) -> None:
    """Refuse drafts that are none, and caches with which verifying several tokens at once changes the answer."""
    if not 1 <= depth < max_depth:
        raise UserError(f"assistant_early_exit must lie between 1 and {max_depth - 1}, not {depth}")
    if isinstance(cache, DepthCache) and cache.core.overwrite:
        raise UserError("assistant_early_exit is not exact with kv='overwrite': what a token sees depends on the call")
