# Every target sets up what it needs: one environment in .venv, and a stamp file for each set of extras, so that a
# second call installs nothing unless pyproject.toml changed. Only Python 3.11 or newer with pip is needed.

PYTHON ?= python3
VENV ?= .venv
PYTEST_ARGS ?= -n auto --dist worksteal
BENCH_ARGS ?=
DEMO_ARGS ?=
DOCS_ARGS ?= --jobs auto
SOAK_ARGS ?=
# Sets of extras to install along with those that a target needs: one call of pip instead of several.
EXTRAS ?=

# Tests start some hundred processes: without bytecode each would read all sources anew.
export PYTHONDONTWRITEBYTECODE :=

BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check

comma := ,
space := $(subst ,, )

.DEFAULT_GOAL := help
.PHONY: help demo test lint docs format bench new-structure new-solver new-task soak soak-bounds clean
# Two pips must not write to one environment at a time.
.NOTPARALLEL:

help:  ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-13s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

demo: $(VENV)/.stamp-plot  ## train and show a small model (options in DEMO_ARGS)
	$(BIN)/maxmargin demo $(DEMO_ARGS)

test: $(VENV)/.stamp-test  ## run the tests (options in PYTEST_ARGS)
	$(BIN)/python -m pytest $(PYTEST_ARGS)

lint: $(VENV)/.stamp-dev  ## check style, types and the direction of imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(VENV)/.stamp-docs  ## build the documentation into docs/_build/html, without network (options in DOCS_ARGS)
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --fresh-env --write-all -q $(DOCS_ARGS) docs docs/_build/html

format: $(VENV)/.stamp-dev  ## lay out the code and mend what can be mended by itself
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.stamp-bench  ## run the benchmarks (options in BENCH_ARGS)
	$(BIN)/python -m benchmarks $(BENCH_ARGS)

new-structure:  ## write the stubs of a structure and its estimator: make new-structure NAME=Lattice
	$(PYTHON) tools/new.py structure "$(NAME)"

new-solver:  ## the same of a solver: make new-solver NAME=Newton
	$(PYTHON) tools/new.py solver "$(NAME)"

new-task:  ## the same of a task: make new-task NAME=Lattices
	$(PYTHON) tools/new.py task "$(NAME)"

soak: $(VENV)/.stamp-test  ## run a thousand random cases of each structure, damage files of all formats, kill runs
	$(BIN)/python -m pytest -n auto --hypothesis-profile=thorough tests/contract/test_structures.py $(SOAK_ARGS)
	$(BIN)/python -m pytest -n auto -m soak tests/contract tests/solvers tests/estimators tests/parallel tests/real tests/regression tests/persistence/checkpoints tests/structures tests/tasks tests/persistence tests/cli tests/fuzz tests/test_contributing.py tests/test_examples.py $(SOAK_ARGS)

# Other code is compiled then, so it has a cache of its own.
soak-bounds: export NUMBA_BOUNDSCHECK = 1
soak-bounds: export NUMBA_CACHE_DIR = $(CURDIR)/.cache/bounds
soak-bounds: $(VENV)/.stamp-test  ## run all tests, and forge models and checkpoints, with indices of arrays checked in compiled code
	$(BIN)/python -m pytest -n auto $(SOAK_ARGS)
	$(BIN)/python -m pytest -n auto -m soak tests/fuzz/test_forgeries.py tests/persistence $(SOAK_ARGS)

clean:  ## remove the environment, caches and builds
	rm -rf $(VENV) .cache .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache build dist
	rm -rf src/*.egg-info docs/_build docs/gallery docs/api/generated
	find . -path ./.git -prune -o -type d -name __pycache__ -prune -exec rm -rf {} +

# pyvenv.cfg stands for the environment: bin/python is a link, as old as the interpreter it points to. An
# environment whose interpreter is gone is made anew.
ifneq ($(shell test -x $(BIN)/python && echo works),works)
.PHONY: $(VENV)/pyvenv.cfg
endif

$(VENV)/pyvenv.cfg:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "maxmargin needs Python 3.11 or newer; name one with: make PYTHON=python3.11 ..." >&2; exit 1; }
	$(PYTHON) -m venv --clear $(VENV) || { rm -rf $(VENV); exit 1; }

# Bytecode is made of what is imported: pip would make that of all tests of all packages, too.
$(VENV)/.stamp-%: pyproject.toml $(VENV)/pyvenv.cfg
	$(PIP) install --quiet --no-compile --editable ".[$(subst $(space),$(comma),$(sort $* $(EXTRAS)))]"
	@touch $(patsubst %,$(VENV)/.stamp-%,$(sort $* $(EXTRAS)))
