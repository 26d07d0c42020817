"""What a model with per-token depth changes in Hugging Face's `generate`."""

from typing import Any, NoReturn

from anira.config import UserError
from anira.models.cache import DepthCache
from anira.models.configuration import AniraConfig


class DepthGeneration:
    """Stands before GenerationMixin among the bases of a model: the cache, the inputs of a step, what is refused."""

    config: AniraConfig

    def _prepare_cache_for_generation(
        self, generation_config: Any, model_kwargs: dict[str, Any], *args: Any, **kwargs: Any
    ) -> None:
        """Give `generate` a DepthCache where it would make a stock cache (a hook of GenerationMixin)."""
        if generation_config.cache_implementation is not None:
            raise UserError(f"cache_implementation {generation_config.cache_implementation!r} is not supported")
        if model_kwargs.get("past_key_values") is None and generation_config.use_cache is not False:
            model_kwargs["past_key_values"] = DepthCache(self.config)
        super()._prepare_cache_for_generation(generation_config, model_kwargs, *args, **kwargs)  # type: ignore[misc]

    def prepare_inputs_for_generation(self, *args: Any, is_first_iteration: bool = False, **kwargs: Any) -> Any:
        """Leave out the mask of generated tokens, none of which is padding: the cache knows the others."""
        inputs = super().prepare_inputs_for_generation(  # type: ignore[misc]
            *args, is_first_iteration=is_first_iteration, **kwargs
        )
        cache = inputs.get("past_key_values")
        if not is_first_iteration and isinstance(cache, DepthCache) and cache.get_seq_length():
            inputs.pop("attention_mask", None)
        return inputs

    def init_continuous_batching(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refuse Hugging Face's continuous batching, whose paged cache has one depth for all tokens."""
        raise UserError("continuous batching of transformers is not supported: call generate on a padded batch")

    generate_batch = continuous_batching_context_manager = init_continuous_batching
