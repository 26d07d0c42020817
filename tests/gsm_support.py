"""Files in the layout of GSM-Symbolic with questions of our own, tiny models that read bytes, and planted records."""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from anira.evaluation.gsm_symbolic.decoding import Written
from anira.evaluation.gsm_symbolic.tables import instance_table, token_table
from anira.evaluation.records import RecordFolder
from anira.evaluation.tables import Labels
from anira.models import AniraConfig, AniraForCausalLM
from anira.tasks.gsm_symbolic import SPLITS, Problem

EOS = "<eos>"
SHOTS = [
    {"question": "A box has 2 pens. Add 1. How many?", "target": "2 + 1 = 3. The answer is 3."},
    {"question": "Of 9 cups 4 break. How many are left?", "target": "9 - 4 = 5. The answer is 5."},
]
TEMPLATES = {"main": 6, "p1": 6, "p2": 3}
"""As in the published files, P2 has half of the templates."""


def row(split: str, template: int, instance: int, answer: str = "") -> dict[str, Any]:
    """Return a row with the keys of the published files; original ids of P2 are among those of Main."""
    extra = {"main": "", "p1": " Then 1 more.", "p2": " Then 1 more. Then 2 more."}[split]
    original = 100 + (2 * template if split == "p2" else template)
    return {
        "id": template,
        "instance": instance,
        "question": f"Tom has {template + 2} cups and {instance} jars.{extra} How many?",
        "answer": answer or f"{template + 2} + {instance} = ...\n#### {template + 2 + instance}",
        "original_id": original,
        "original_question": "q",
        "original_answer": "a #### 1",
        "canary": "made up",
    }


def write_data(
    folder: Path, *, instances: int = 2, layout: str = "hub", change: Callable[[dict], dict] = lambda one: one
) -> Path:
    """Write the three files, template after template, as published; `change` may alter each row."""
    names = {"main": "GSM_symbolic.jsonl", "p1": "GSM_p1.jsonl", "p2": "GSM_p2.jsonl"}
    for split, count in TEMPLATES.items():
        path = folder / split / "test.jsonl" if layout == "hub" else folder / "generated_data" / names[split]
        path.parent.mkdir(parents=True, exist_ok=True)
        rows = [change(row(split, template, i)) for template in range(count) for i in range(instances)]
        path.write_text("".join(json.dumps(one) + "\n" for one in rows))
    return folder


def write_shots(path: Path) -> Path:
    path.write_text("".join(json.dumps(one) + "\n" for one in SHOTS))
    return path


def byte_tokenizer() -> PreTrainedTokenizerFast:
    """Return a tokenizer with a token for each byte, and one for the end."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    made = Tokenizer(models.BPE(vocab={EOS: 0, **{letter: i for i, letter in enumerate(alphabet, 1)}}, merges=[]))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(
        tokenizer_object=made, eos_token=EOS, pad_token=EOS, padding_side="left", model_max_length=4096
    )


def tiny_anira(policy: str = "anira-o", seed: int = 0) -> AniraForCausalLM:
    """Return a model whose tokens exit at several depths."""
    config = AniraConfig(
        vocab_size=257,
        hidden_size=16,
        intermediate_size=24,
        num_attention_heads=2,
        max_depth=3,
        policy={"name": policy},
        eos_token_id=0,
    )
    model = AniraForCausalLM(config).double().eval()
    return _spread(model, seed)


def tiny_llama(seed: int = 0) -> LlamaForCausalLM:
    """Return a stock model of the same size."""
    config = LlamaConfig(
        vocab_size=257,
        hidden_size=16,
        intermediate_size=24,
        num_attention_heads=2,
        num_hidden_layers=2,
        max_position_embeddings=2048,
        eos_token_id=0,
        bos_token_id=None,
    )
    return _spread(LlamaForCausalLM(config).double().eval(), seed)


def _spread(model: Any, seed: int) -> Any:
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.normal_(0, 1.5 / parameter.shape[1] ** 0.5, generator=generator)
    return model


def save(model: Any, folder: Path) -> Path:
    model.save_pretrained(folder)
    byte_tokenizer().save_pretrained(folder)
    return folder


Value = Callable[[int, int, int], int]
"""Knob, template and instance of a question -> whether it is right, or how deep its answer goes."""


@dataclass(frozen=True, kw_only=True)
class Planted:
    """A made-up evaluation: Main and P1 have all templates, P2 every second one."""

    right: Value
    depth: Value
    templates: int = 20
    instances: int = 10
    name: str = "planted"
    policy: str = "anira-o"
    forced: int | None = None


def write_planted(folder: Path, planted: Planted) -> Path:
    """Write an evaluation through the package's own writer: answers of three tokens, of which two were read."""
    model = planted_model(planted.policy)
    labels = Labels(
        run_id=planted.name,
        step=0,
        variant=planted.policy,
        seed=0,
        select="" if planted.policy == "fixed" else "median",
        threshold=None,
        decode="generated",
        override="" if planted.forced is None else f"depth-{planted.forced}",
    )
    records = RecordFolder(folder)
    records.open({**asdict(labels), "knobs": [0, 1, 2], "n": planted.templates * planted.instances})
    for knob, split in enumerate(SPLITS):
        templates = range(0, planted.templates, 2 if split == "p2" else 1)
        problems = [_problem(split, template, i) for i in range(planted.instances) for template in templates]
        written = [_written(planted, one) for one in problems]
        how = {"first": knob * 1_000_000, "heads": [1] * len(problems)}
        shared = frozenset(range(0, planted.templates, 2))
        records.write(
            knob,
            instance_table(model, problems, written, labels, shared=shared, **how),
            token_table(byte_tokenizer(), problems, written, labels, **how),
        )
    records.close()
    return folder


@cache
def planted_model(policy: str) -> AniraForCausalLM:
    return tiny_anira(policy)


def _problem(split: str, template: int, instance: int) -> Problem:
    question = f"{split} {template} {instance}"
    return Problem(split=split, id=template, instance=instance, template=template, question=question, answer="", gold=1)


def _written(planted: Planted, one: Problem) -> Written:
    place = (one.knob, one.template, one.instance)
    depth = planted.depth(*place) if planted.forced is None else planted.forced
    depths = np.array([1, 1, depth, depth, depth])
    text = "1" if planted.right(*place) else "2"
    return Written((5, 6, 7), (8, 9, 0), (8, 9, 0), text, {"exit_depth": depths, "executed": depths}, True)
