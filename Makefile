# `make demo` and `make test` are all the set-up there is: each makes the environment that it needs in .venv.
ifndef PYTHON
PYTHON := $(shell for p in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
endif
VENV := .venv
BIN := $(VENV)/bin
JOBS ?= 2
# The black-box cases that this project holds, by folder; they are run where they are there.
CASES_AT ?= ../shared/cases
CASES ?= gate protocol lint

QUIET := --quiet --quiet
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_NO_INPUT := 1
export PIP_ROOT_USER_ACTION := ignore
unexport PYTHONPATH PYTHONHOME

step = @printf '\n== %s\n' "$(1)"

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo test lint types docs docs-check links wheel cases unit bench model chaos newer-git clean distclean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s%s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

demo: $(VENV)/.run ## see the gate pass an honest pull request and refuse five others
	@$(BIN)/gatekeeper demo

test: lint types docs-check links wheel cases unit ## everything: style, types, docs, the wheel, the cases, the tests
	$(call step,everything holds)

lint: $(VENV)/.dev ## style and layers
	$(call step,style: ruff)
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check

types: $(VENV)/.dev ## types
	$(call step,types: mypy --strict)
	@$(BIN)/mypy

docs: $(VENV)/.run ## write the generated docs anew
	@$(BIN)/python -m gatekeeper.docs docs

docs-check: $(VENV)/.run ## the generated docs are what the code would write
	$(call step,generated docs)
	@mkdir -p build && rm -rf build/docs && cp -R docs build/docs
	@$(BIN)/python -m gatekeeper.docs build/docs
	@diff -ru docs build/docs || { echo "the docs are stale: run make docs"; exit 1; }

links: $(VENV)/.run ## every link of the docs leads somewhere
	$(call step,links of the docs)
	@if git rev-parse --git-dir >/dev/null 2>&1; then \
		$(BIN)/gatekeeper lint --links-only README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md docs; \
	else echo "this is no git repository: not looked up"; fi

wheel: $(VENV)/.run ## build the wheel, install it alone in a fresh environment, and run it there
	$(call step,the wheel)
	@rm -rf build/wheel
	@$(BIN)/python -m pip wheel $(QUIET) --no-deps --wheel-dir build/wheel .
	@$(PYTHON) -m venv build/wheel/venv
	@build/wheel/venv/bin/python -m pip install $(QUIET) build/wheel/*.whl
	@cd build/wheel && venv/bin/gatekeeper --version && venv/bin/gatekeeper rule GK141 >/dev/null && venv/bin/gatekeeper demo

cases: $(VENV)/.run ## the shared black-box cases, where they are there
	$(call step,cases: $(CASES))
	@if test -d $(CASES_AT); then \
		$(BIN)/python $(CASES_AT)/run.py --command $(abspath $(BIN)/gatekeeper) -j $(JOBS) $(CASES:%='%/*.yml'); \
	else echo "no cases at $(CASES_AT), none run"; fi

unit: $(VENV)/.dev ## the tests, with the coverage of every branch
	$(call step,tests: pytest)
	@mkdir -p build
	@$(BIN)/coverage erase
	@$(BIN)/coverage run -m pytest -q -n $(JOBS) --junitxml=build/tests.xml
	@$(BIN)/coverage combine --quiet
	@$(BIN)/coverage report

bench: $(VENV)/.run ## time check and claims against bare git, and lint against npm's link checks; prints tables
	@$(BIN)/python bench/run.py
	@$(BIN)/python bench/claims.py
	@$(BIN)/python bench/lint.py

model: ## check the claim protocol's model with spin (Debian: apt install spin gcc)
	@docs/model/check.sh

SEEDS ?= 10
SEED ?= 1
STEPS ?= 60
chaos: $(VENV)/.dev ## kill the claim commands at every step, for SEEDS seeds of STEPS steps
	@$(BIN)/python tests/chaos/run.py --seed $(SEED) --seeds $(SEEDS) --steps $(STEPS)

SUITE ?= trixie
newer-git: $(VENV)/.dev ## the tests of git's edges under a newer git (Debian SUITE's), with files and with reftables
	@test -x build/newer-git/$(SUITE)/bin/git || tests/newer-git.sh build/newer-git/$(SUITE) $(SUITE)
	@for refs in bin reftable; do \
		PATH="$(abspath build/newer-git/$(SUITE))/$$refs:$$PATH" $(BIN)/python -m pytest -q -n $(JOBS) \
			tests/test_reftable.py tests/edges tests/cli tests/action tests/test_race.py || exit 1; \
	done

clean: ## remove what was built, but for the environment
	rm -rf build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis .coverage .coverage.* htmlcov bench.json bench-claims.json bench-lint.json

distclean: clean ## remove the environment as well
	rm -rf $(VENV)

# -- the environment -----------------------------------------------------------

$(VENV)/.run: pyproject.toml
	@test -n "$(PYTHON)" || { echo "Python 3.11 or later is needed; name one: make PYTHON=/path/to/python"; exit 1; }
	@$(BIN)/python -c '' 2>/dev/null || { echo "making an environment in $(VENV) with $(PYTHON)"; \
		$(PYTHON) -m venv --clear $(VENV) || { rm -rf $(VENV); \
		echo "$(PYTHON) can't make an environment: install its venv module (Debian: apt install python3-venv)"; exit 1; }; }
	@$(BIN)/python -m pip install $(QUIET) --upgrade 'pip>=25.1'
	@$(BIN)/python -m pip install $(QUIET) --editable .
	@touch $@

$(VENV)/.dev: $(VENV)/.run
	@$(BIN)/python -m pip install $(QUIET) --group dev
	@touch $@
