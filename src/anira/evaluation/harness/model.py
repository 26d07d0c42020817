"""The harness's model `anira`: ours or any of transformers', decoded as `anira gsm-symbolic` does, with depth records.

    --model anira --model_args pretrained=DIR,select=quantile,threshold=0.7,records=depths

`records` is a folder: for each task a Parquet table with a row per generated token.

    task               doc_id  index  token_id  token  exit_depth  executed
    gsm_symbolic_main  0       0      578       The    3           3
"""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import torch
from lm_eval.api.registry import register_model
from lm_eval.models.huggingface import HFLM
from torch import Tensor

from anira.config import UserError, write_file
from anira.config.folder import check_name
from anira.evaluation.gsm_symbolic.decoding import Ends, Written, end_ids, write_answers
from anira.evaluation.gsm_symbolic.evaluate import GsmConfig, make_labels
from anira.evaluation.gsm_symbolic.loading import Loaded, load_model
from anira.evaluation.port import depth_model
from anira.models import AniraForCausalLM

_GREEDY = ("do_sample", "temperature", "attention_mask")


@register_model("anira")
class AniraLM(HFLM):
    """A language model with per-token depth, for the harness."""

    def __init__(
        self,
        pretrained: str | Loaded = "",
        *,
        select: str | None = None,
        threshold: float | None = None,
        depth: int | None = None,
        records: str | None = None,
        device: str | None = None,
        dtype: Any = None,
        **options: Any,
    ) -> None:
        if not pretrained:
            raise UserError("the model anira needs a folder or hub id: --model_args pretrained=MODEL")
        if not torch.cuda.is_available() and str(device).startswith("cuda"):
            device = None  # the harness names a GPU by default, whether there is one or not
        loaded = load_model(pretrained, device=device, precision=dtype) if isinstance(pretrained, str) else pretrained
        config = GsmConfig(select=select, threshold=threshold, depth=depth)
        make_labels(loaded, config)  # refuses what it cannot do
        super().__init__(pretrained=loaded.model, tokenizer=loaded.tokenizer, **options)
        self._settings = config.settings
        self._records = None if records is None else Path(records)
        self._written: dict[tuple[int, ...], Written] = {}

    def generate_until(self, requests: Sequence[Any], disable_tqdm: bool = False) -> list[str]:
        """Answer requests, and write the depths of what was generated."""
        self._written.clear()
        texts: list[str] = super().generate_until(requests, disable_tqdm)
        if self._records is not None:
            for task in dict.fromkeys(request.task_name for request in requests):
                table = pl.concat(self._depths(one) for one in requests if one.task_name == task)
                buffer = io.BytesIO()
                table.write_parquet(buffer)
                write_file(self._records / f"{check_name(task)}.parquet", buffer.getvalue())
        return texts

    def _depths(self, request: Any) -> pl.DataFrame:
        """Return the depths of one request's generated tokens: those at the positions that predict them."""
        context, _ = self.tok_batch_encode([request.args[0]])
        one = self._written[tuple(context[0].tolist())]
        first, count = len(one.prompt) - 1, len(one.ids)
        return pl.DataFrame(
            {
                "task": [request.task_name] * count,
                "doc_id": [request.doc_id] * count,
                "index": range(count),
                "token_id": one.ids,
                "token": self.tokenizer.convert_ids_to_tokens(list(one.ids)),
                "exit_depth": one.tokens["exit_depth"][first : first + count].astype("int64"),
                "executed": one.tokens["executed"][first : first + count].astype("int64"),
            },
            schema_overrides={"token_id": pl.Int64, "token": pl.String, "task": pl.String, "doc_id": pl.Int64},
        )

    def _model_generate(self, context: Tensor, max_length: int, stop: list[str], **options: Any) -> Tensor:
        """Return contexts with what follows them, padded on the right."""
        other = [name for name in options if name not in _GREEDY]
        if options.get("do_sample") or options.get("temperature") or other:
            asked = ", ".join(other) or "sampling"
            raise UserError(f"the harness's model anira writes greedily: {asked} is not supported")
        width = context.shape[1]
        valid = options.get("attention_mask", torch.ones_like(context)).bool()
        prompts = [row[mask].tolist() for row, mask in zip(context, valid, strict=True)]
        ends = Ends(
            tokenizer=self.tokenizer,
            ids=end_ids(self.model, self.tokenizer),
            stops=tuple(mark for mark in stop if mark),
            most=max_length - width,
        )
        rows = write_answers(depth_model(self.model).start(self._settings), prompts, ends, context.device)
        self._written |= {one.prompt: one for one in rows}
        longest = max(len(one.generated) for one in rows)
        pad = self.tokenizer.pad_token_id
        following = [[*one.generated, *[pad] * (longest - len(one.generated))] for one in rows]
        return torch.cat([context, torch.tensor(following, device=context.device)], dim=1)

    def _model_call(self, inps: Tensor, attn_mask: Tensor | None = None, labels: Tensor | None = None) -> Tensor:
        """Return the logits of rows whose likelihood is asked for; their padding is on the right."""
        logits: Tensor
        if not isinstance(self.model, AniraForCausalLM):
            logits = super()._model_call(inps, attn_mask, labels)
            return logits
        rule = {"select": self._settings.select, "threshold": self._settings.threshold}
        with torch.no_grad():
            logits = self.model(inps, **rule, exit_depth=self._settings.depth, active=True).logits
        return logits
