# `make demo` and `make test` need Python 3.11, pip and make, and nothing else. A second call starts at once.
# On Linux, PyPI's torch brings 2.2 GB of CUDA libraries. Without a GPU, name an index of torch's CPU builds:
#   make demo TORCH_INDEX=https://download.pytorch.org/whl/cpu
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
TORCH_INDEX ?=
WORKERS ?= 2
TESTS ?= tests
# A file's tests stay with one worker, so that what they share is made once; tests/conftest.py puts long files first.
# Bytecode is kept, whatever the environment says: each child would compile the package anew. One thread for each
# library: workers that share the cores wait for each other's threads.
PYTEST := PYTHONDONTWRITEBYTECODE= OMP_NUM_THREADS=1 POLARS_MAX_THREADS=1 $(BIN)/python -m pytest -n $(WORKERS) \
	--dist loadfile --no-loadscope-reorder

.PHONY: demo test quick lint docs images clean

demo: $(VENV)/.installed
	$(BIN)/anira demo

test: $(VENV)/.installed-dev
	$(PYTEST) $(TESTS)

quick: $(VENV)/.installed-dev
	$(PYTEST) -m "not slow"

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/codespell src benchmarks tests docs *.md

# The site, in built-docs/: numbers, charts and verdicts are read from results/, links and anchors are checked.
docs: $(VENV)/.installed-dev
	NO_MKDOCS_2_WARNING=1 OMP_NUM_THREADS=1 $(BIN)/python -m mkdocs build --quiet

# The committed pictures in docs/images, drawn from tasks and from the runs in results/.
images: $(VENV)/.installed
	OMP_NUM_THREADS=1 $(BIN)/python -m docs.scripts.images

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

# A stamp is older than the files that decide what is installed exactly when the environment must be made anew.
$(VENV)/.installed: pyproject.toml constraints.txt | $(VENV)/bin/python
	@echo "installing anira into $(VENV) (first call only; minutes, and 1.8 GB of disk, or 6 GB with CUDA)"
	$(if $(TORCH_INDEX),$(PIP) torch --index-url $(TORCH_INDEX))
	$(PIP) -e .
	@touch $@

$(VENV)/.installed-dev: pyproject.toml constraints.txt | $(VENV)/bin/python
	@echo "installing anira and its test tools into $(VENV) (first call only; minutes, and 2.6 GB of disk, or 7 GB with CUDA)"
	$(if $(TORCH_INDEX),$(PIP) torch --index-url $(TORCH_INDEX))
	$(PIP) -e ".[dev]"
	@touch $@ $(VENV)/.installed

clean:
	rm -rf $(VENV) built-docs .pytest_cache .mypy_cache .ruff_cache .hypothesis
