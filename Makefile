# Everyday commands. Each sets up what it needs: only Python 3.11 or newer and make must be there.

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
WORKERS := 2

# The first Python that is new enough and can make a virtual environment; `make PYTHON=...` overrides.
ifndef PYTHON
PYTHON := $(shell for candidate in python3.11 /usr/bin/python3.11 python3.12 python3.13 python3 python; do \
	$$candidate -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	&& echo $$candidate && break; done)
endif

# One thread per process: the tests run in $(WORKERS) processes, and benchmarks compare single threads.
export OPENBLAS_NUM_THREADS := 1
export OMP_NUM_THREADS := 1
export PYTHONNOUSERSITE := 1
unexport PYTHONPATH PYTHONHOME

.PHONY: help setup demo docs picture reference test lint test-long test-oldest test-core coverage mutants fuzz reliability bench bench-counting bench-learning bench-loading bench-tables bench-report bench-sql bench-out_of_core reproduce format pins clean

help:
	@echo 'make demo            learn from a generated world, score, explain'
	@echo 'make test            lint, types, import contract, tests and doctests'
	@echo 'make docs            the documentation as a site, in build/site'
	@echo 'make reference       write the references of the command line and of options'
	@echo 'make test-long       the property tests with 100,000 cases; 200 kills; 200 fits in one process'
	@echo 'make test-oldest     a part of the tests on the oldest versions of all dependencies that are allowed'
	@echo 'make test-core       the core without extras, on every Python from 3.11 on that is there'
	@echo 'make coverage        which lines and branches the tests run'
	@echo 'make mutants         small faults put into the code on purpose, and whether the tests notice'
	@echo 'make reliability     write docs/reliability.md from what was measured'
	@echo 'make fuzz            coverage-guided fuzzing of every reader of text, 10 minutes each (SECONDS=600)'
	@echo 'make bench           all benchmarks; writes benchmarks/README.md (also bench-counting, bench-learning, bench-loading, bench-tables, bench-report, bench-sql, bench-out_of_core)'
	@echo 'make reproduce       the published study; rows that are there are kept; writes docs/reproduction'
	@echo 'make format          put the sources into the house format'
	@echo 'make pins            write constraints.txt from the environment in use'
	@echo 'make clean           remove everything that was made'

setup: $(STAMP)

$(BIN)/python:
	@test -n '$(PYTHON)' || { echo 'No Python 3.11 or newer with venv was found: install one (on Debian: apt-get install python3.11 python3.11-venv) or name it by make PYTHON=...' >&2; exit 1; }
	$(PYTHON) -m venv --clear $(VENV)

# The stamp is written last, so an interrupted set-up is taken up again.
$(STAMP): pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $(STAMP)

demo: $(STAMP)
	$(BIN)/hornbeam demo

docs: $(STAMP)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo 'open build/site/index.html, or with search: python3 -m http.server -d build/site'

# What README.md shows of a report; needs Chromium.
picture: $(STAMP)
	$(BIN)/python tools/picture.py

reference: $(STAMP)
	$(BIN)/python tools/reference.py

test: lint
	$(BIN)/python -m pytest -n $(WORKERS)

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test-long: $(STAMP)
	$(BIN)/python reliability/kills.py --kills 200 --record
	$(BIN)/python reliability/soak.py --fits 200 --record
	HORNBEAM_CASES=100000 $(BIN)/python -m pytest -n $(WORKERS) tests/properties

test-oldest: $(STAMP)
	$(BIN)/python reliability/environments.py oldest --record

PYTHONS := python3.11 python3.12 python3.13
test-core: $(STAMP)
	@for python in $(PYTHONS); do $$python -c 'import venv, ensurepip' 2>/dev/null || continue; \
	$(BIN)/python reliability/environments.py core --python $$python --record || exit 1; done

coverage: $(STAMP)
	$(BIN)/python reliability/coverage_of_tests.py --record

mutants: $(STAMP)
	@for part in ridge refine plan; do $(BIN)/python reliability/mutants.py $$part --record || exit 1; done

reliability: $(STAMP)
	$(BIN)/python reliability/document.py

FUZZED := facts modes clauses models schemas
SECONDS := 600

fuzz: $(STAMP)
	@for target in $(FUZZED); do $(BIN)/python fuzz/run.py $$target --seconds $(SECONDS) --record || exit 1; done

bench: bench-counting bench-loading bench-tables bench-sql bench-out_of_core bench-learning bench-report

bench-counting bench-learning bench-loading bench-tables bench-report bench-sql bench-out_of_core: bench-%: $(STAMP)
	$(BIN)/python benchmarks/bench_$*.py

reproduce: $(STAMP)
	$(BIN)/hornbeam reproduce --out docs/reproduction

format: $(STAMP)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

pins: $(STAMP)
	$(BIN)/python -m pip freeze --exclude-editable --disable-pip-version-check | LC_ALL=C sort -f > constraints.txt

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis report.html
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
