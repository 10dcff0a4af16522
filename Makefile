# Two commands do everything: make demo and make test. Each sets up .venv first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -n 2

help: ## list the commands
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "regard needs Python 3.11 or newer: make PYTHON=python3.12 …"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev,images,plot]'
	@touch $@

demo: $(READY) ## train the embedded default, show results and attention
	@$(BIN)/regard demo

test: $(READY) check system ## set up, check, run all tests but the slow ones
	$(PYTEST) -m "not slow"

SYSTEM := chromium fonts-dejavu-core gettext libxml2-utils
system: # pages are tested in chromium, files by msgfmt and xmllint; tests of what is missing are skipped
	@{ command -v chromium && command -v msgfmt && command -v xmllint; } >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
	  && { apt-get install -y -qq $(SYSTEM) || { apt-get update -qq && apt-get install -y -qq $(SYSTEM); }; } >/dev/null 2>&1; } \
	  || echo "not installed, so their tests are skipped: some of $(SYSTEM) (apt-get install $(SYSTEM))"

test-slow: $(READY) ## the tests that train for longer
	$(PYTEST) -m slow

check: $(READY) ## format, lint, types, architecture
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyrefly check
	$(BIN)/python -m pytest -q tests/test_architecture.py

format: $(READY) ## put the code in form
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(READY) ## measure: one Markdown table each
	@for script in benchmarks/[!_]*.py; do $(BIN)/python $$script || exit 1; done

docs: $(READY) ## the documentation as a website in site/
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[docs]'
	$(BIN)/zensical build

clean: ## remove what was built (never your runs)
	rm -rf $(VENV) site build dist .pytest_cache .ruff_cache

.PHONY: help demo test system test-slow check format bench docs clean
.DEFAULT_GOAL := help
