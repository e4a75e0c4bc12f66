# `make` alone lists the targets.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PYTEST := $(BIN)/python -m pytest
# Tests on each core; what measures time comes afterwards, by itself.
PARALLEL := $(PYTEST) --numprocesses logical --maxprocesses 4 --dist worksteal
ALONE := $(PYTEST) -m "alone and not soak"
POSTGRES := $(BIN)/python -m tests.postgres run --
PIP_COMPILE := $(BIN)/pip-compile --quiet --strip-extras --no-header --annotation-style=line \
	--no-emit-index-url --no-emit-find-links --no-emit-trusted-host --no-emit-options --unsafe-package pip --unsafe-package setuptools

export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.PHONY: help run test quick lint soak bench screenshots lock clean

help: ## List the targets.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: $(VENV)/.run ## Serve on http://127.0.0.1:8000 with everything it needs; Ctrl-C stops it.
	@$(BIN)/python manage.py serve --with-parent

test: lint ## Lint, then run every test on SQLite and on PostgreSQL; say loudly what could not be run.
	DATABASE_URL= $(PARALLEL)
	DATABASE_URL= $(ALONE)
	$(POSTGRES) $(PARALLEL)
	$(POSTGRES) $(ALONE)

quick: $(VENV)/.dev ## Run the tests of the endpoints alone, on SQLite.
	$(PARALLEL) tests/api tests/elections tests/locks tests/teams

lint: $(VENV)/.dev ## Check style, types and the direction of imports.
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy octostore elections locks webhooks tests bench manage.py
	$(BIN)/lint-imports

soak: $(VENV)/.dev ## Run the long tests: faults and races for minutes on end.
	$(PYTEST) -m soak
	$(POSTGRES) $(PYTEST) -m soak

bench: $(VENV)/.dev ## Measure the verbs over HTTP beside the same statements issued directly, on both databases.
	$(BIN)/python -m bench

screenshots: $(VENV)/.dev ## Take the pictures in docs/screenshots anew; needs Chromium.
	$(BIN)/python -m tests.browser.screenshots

lock: $(VENV)/.dev ## Pin pyproject.toml's dependencies into the requirements files.
	$(PIP_COMPILE) --output-file requirements.txt pyproject.toml
	$(PIP_COMPILE) --extra dev --constraint requirements.txt --output-file requirements-dev.txt pyproject.toml

clean: ## Remove the virtual environment and caches; data (var/) stays.
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .schemathesis .import_linter_cache
	find . -name __pycache__ -not -path './.git/*' -prune -exec rm -rf {} +

# The stamps are younger than the pins they were installed from, so later starts skip all of this.
$(VENV)/.run: requirements.txt | $(VENV)/.made
	$(BIN)/pip install --quiet --requirement requirements.txt
	@touch $@

$(VENV)/.dev: requirements-dev.txt | $(VENV)/.made
	$(BIN)/pip install --quiet --requirement requirements-dev.txt
	@touch $@

$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "OctoStore needs Python 3.11 or newer, and $(PYTHON) is %d.%d: name another with PYTHON=." % sys.version_info[:2])'
	@echo "Making $(VENV) and installing what OctoStore needs; this happens once."
	@test -x $(BIN)/pip || $(PYTHON) -m venv $(VENV)
	@touch $@
