"""Draw the committed pictures anew: `python -m docs.scripts.images` in the repository's root, with `src` installed."""

from pathlib import Path
from typing import Final

from docs.scripts import run_pictures
from docs.scripts.numbers import NULLS, words_runs
from docs.scripts.task_pictures import TASKS

IMAGES: Final = Path(__file__).parents[1] / "images"


def main() -> None:
    """Write every picture."""
    made = {f"tasks/{name}.svg": draw() for name, draw in TASKS.items()}
    labels = [one for one in words_runs()["label"].unique().sort() if not one.startswith("fixed-") and one not in NULLS]
    made |= {f"mechanisms/{label}.svg": run_pictures.mechanism(label) for label in [*labels, "fixed-5"]}
    made |= {"tokens.svg": run_pictures.tokens(), "headline.svg": run_pictures.headline()}
    for name, svg in made.items():
        path = IMAGES / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(svg)


if __name__ == "__main__":
    main()
