# Every task. A bare clone needs python3 (3.11 or newer), git and make; the rest is installed into .venv on first use.
#
#     make demo     see it run           make test     prove it           make help     everything else

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUN := $(BIN)/python
INSTALLED := $(VENV)/.installed

# Where code is that must pass the linters; and what `sam` deploys to.
CODE := functions infra tests
STACK ?= everdue
PARAMETERS ?=
RUNTIME = $(shell $(RUN) -c 'import sys; print("python%d.%d" % sys.version_info[:2])')

COMPARISONS ?= 1000000
SEEDS ?= 200

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-unit test-stack lint format types bench prove-triggers simulate build deploy clean

help: ## list the tasks
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

setup: $(INSTALLED) ## make the virtual environment and install everything into it

demo: $(INSTALLED) ## run the whole stack on this machine and watch runs arrive; DEMO_SECONDS=90 ends by itself
	@$(RUN) -m infra.local.demo

test: lint types ## linters, then every test; the runner's own line comes last
	@$(RUN) -m pytest --ignore=tests/bench

test-unit: $(INSTALLED) ## tests that start no process
	@$(RUN) -m pytest --ignore=tests/bench --ignore=tests/stack

simulate: $(INSTALLED) ## try to lose a run: SEEDS=1000 stories of crashes, lost answers, clocks and edits
	@$(RUN) tests/simulation/simulate.py --seeds $(SEEDS)

test-stack: $(INSTALLED) ## tests of the deployed stack, on an emulator
	@$(RUN) -m pytest tests/stack

lint: $(INSTALLED) ## ruff, and cfn-lint over the template
	@$(BIN)/ruff check $(CODE)
	@$(BIN)/ruff format --check --quiet $(CODE)
	@$(BIN)/cfn-lint template.yaml

types: $(INSTALLED) ## mypy, strict
	@$(BIN)/mypy

format: $(INSTALLED) ## let ruff write the code's form
	@$(BIN)/ruff check --fix $(CODE)
	@$(BIN)/ruff format $(CODE)

bench: $(INSTALLED) ## compare speed with named peers
	@$(RUN) tests/bench/triggers.py

prove-triggers: $(INSTALLED) ## compare the triggers with other implementations, at length
	@$(RUN) tests/core/triggers/prove_triggers.py --comparisons $(COMPARISONS) --workers 2

build: $(INSTALLED) ## sam build, for this interpreter's version of Python
	@$(BIN)/sam build --parameter-overrides Runtime=$(RUNTIME) $(PARAMETERS)

deploy: build ## sam build and sam deploy to AWS: STACK=name PARAMETERS="LeadSeconds=0 ..."
	@$(BIN)/sam deploy --stack-name $(STACK) --parameter-overrides Runtime=$(RUNTIME) $(PARAMETERS)

clean: ## remove everything that a task here made
	rm -rf $(VENV) .aws-sam .local .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist functions/*.egg-info
	find $(CODE) -name __pycache__ -type d -prune -exec rm -rf {} +

# The stamp is newer than what it was made from, so that the second time costs nothing.
$(INSTALLED): pyproject.toml functions/requirements.txt
	@$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 11) else "everdue needs Python 3.11 or newer, and $(PYTHON) is %d.%d: set PYTHON=python3.x" % sys.version_info[:2])'
	@test -x $(RUN) || $(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); echo "no virtual environment: on Debian and Ubuntu install python3-venv" >&2; exit 1; }
	@echo "installing into $(VENV); this happens once"
	@$(RUN) -m pip install --quiet --disable-pip-version-check --editable '.[dev,local]'
	@touch $@
