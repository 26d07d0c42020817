"""What a model with per-token depth changes in Hugging Face's `generate`."""

from functools import wraps
from typing import Any, NoReturn

import torch
from torch import Tensor
from transformers import GenerationMixin

from anira.config import UserError
from anira.models.cache import DepthCache
from anira.models.configuration import AniraConfig
from anira.models.speculation import EarlyDraft
from anira.models.static import StaticDepthCache


class DepthGeneration:
    """Stands before GenerationMixin among the bases of a model: the cache, the inputs of a step, what is refused."""

    config: AniraConfig
    dtype: torch.dtype
    device: torch.device

    def _prepare_cache_for_generation(
        self,
        generation_config: Any,
        model_kwargs: dict[str, Any],
        generation_mode: Any,
        batch_size: int,
        max_cache_length: int,
    ) -> None:
        """Give `generate` one of our caches where it would make a stock cache (a hook of GenerationMixin)."""
        kind = generation_config.cache_implementation
        if kind not in (None, "static"):
            raise UserError(f"cache_implementation {kind!r} is not supported: leave it out, or say 'static'")
        given = model_kwargs.get("past_key_values")
        if given is None and generation_config.use_cache is not False:
            rows = max(generation_config.num_beams, generation_config.num_return_sequences) * batch_size
            model_kwargs["past_key_values"] = (
                DepthCache(self.config)
                if kind is None
                else StaticDepthCache(self.config, rows, max_cache_length, dtype=self.dtype, device=self.device)
            )
            return
        super()._prepare_cache_for_generation(  # type: ignore[misc]
            generation_config, model_kwargs, generation_mode, batch_size, max_cache_length
        )

    @wraps(GenerationMixin.prepare_inputs_for_generation)  # transformers reads its parameters
    def prepare_inputs_for_generation(self, *args: Any, is_first_iteration: bool = False, **kwargs: Any) -> Any:
        """Leave out the mask of generated tokens, none of which is padding: the cache knows the others."""
        inputs = super().prepare_inputs_for_generation(  # type: ignore[misc]
            *args, is_first_iteration=is_first_iteration, **kwargs
        )
        cache = inputs.get("past_key_values")
        known = isinstance(cache, StaticDepthCache) or (isinstance(cache, DepthCache) and cache.get_seq_length() > 0)
        if known and not is_first_iteration:
            inputs.pop("attention_mask", None)
        return inputs

    def _get_candidate_generator(self, generation_config: Any, **settings: Any) -> Any:
        """Draft with few iterations where Hugging Face would leave out layers (a hook of GenerationMixin)."""
        if generation_config.assistant_early_exit is None:
            return super()._get_candidate_generator(generation_config, **settings)  # type: ignore[misc]
        names = ("input_ids", "model_kwargs", "inputs_tensor", "logits_processor")
        own = {name: settings[name] for name in names}
        return EarlyDraft(assistant_model=self, generation_config=generation_config, **own)

    @staticmethod
    def create_masks_for_generate(attention_mask: Tensor | None, **_: Any) -> Tensor | None:
        """Return the mask as it is: our caches make their own from it (a hook of GenerationMixin)."""
        return attention_mask

    def init_continuous_batching(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refuse Hugging Face's continuous batching, whose paged cache has one depth for all tokens."""
        raise UserError("continuous batching of transformers is not supported: use anira.inference.Engine, or generate")

    generate_batch = continuous_batching_context_manager = init_continuous_batching
