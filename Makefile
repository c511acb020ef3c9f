# make help lists what there is. Nothing here needs root; everything is installed below VENV.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP_INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
WORKERS ?= 2
MINUTES ?= 10
SEED ?= 1

.DEFAULT_GOAL := help
.PHONY: help env demo test lint fuzz docs bench clean clean-env

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

env: $(VENV)/.installed-test $(VENV)/.installed-demo  ## create .venv with everything for demo and tests

demo: $(VENV)/.installed-demo  ## differentiate a stencil, and train a network on handwritten digits
	@echo "== running examples/demo.py"
	@$(BIN)/python examples/demo.py

test: lint  ## check style and types, and run the tests on two workers
	@echo "== running the tests on $(WORKERS) workers"
	@$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

lint: $(VENV)/.installed-test  ## check style (ruff) and types (mypy)
	@echo "== checking style and types"
	@$(BIN)/ruff check .
	@$(BIN)/mypy

fuzz: $(VENV)/.installed-test  ## check random programs; options: MINUTES=60 SEED=7 ARGS="--way graph"
	@echo "== random programs for $(MINUTES) minutes, from seed $(SEED)"
	@$(BIN)/python tests/fuzz/run.py --minutes $(MINUTES) --count $$(( $(MINUTES) * 200 )) --seed $(SEED) --jobs $(WORKERS) --reduce $(ARGS)

docs: $(VENV)/.installed-docs  ## build the documentation site in build/docs
	@echo "== building the documentation"
	@$(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet docs build/docs
	@echo "open build/docs/index.html"

bench: $(VENV)/.installed-bench  ## compare gradients with JAX and dace.autodiff; options: ARGS="--kernels gemm,mlp --sizes small"
	@echo "== running the benchmarks"
	@$(BIN)/python -m benchmarks.run $(ARGS)

clean:  ## remove build folders, caches and what the demo wrote
	rm -rf build demo_output .dacecache _dacegraphs .pytest_cache .mypy_cache .ruff_cache .hypothesis *.egg-info
	find . -name __pycache__ -not -path "./$(VENV)/*" -prune -exec rm -rf {} +

clean-env:  ## remove .venv
	rm -rf $(VENV)

# An existing environment is kept and completed. The stamp says for which extra it was done.
$(VENV)/.installed-%: pyproject.toml constraints.txt
	@command -v c++ >/dev/null || command -v g++ >/dev/null || command -v clang++ >/dev/null || \
	  { echo "A C++ compiler is needed (g++ or clang++), and none was found."; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || \
	  { echo "Python 3.10 or newer is needed: make PYTHON=/path/to/python3"; exit 1; }
	@test -x $(BIN)/python || { echo "== creating $(VENV)"; $(PYTHON) -m venv $(VENV); }
	@echo "== installing sdgrad[$*] and what it needs into $(VENV) (two or three minutes the first time)"
	@$(PIP_INSTALL) -e '.[$*]'
	@touch $@
