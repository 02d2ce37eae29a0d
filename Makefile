# Everyday commands. Each sets up what it needs: only Python 3.11 or newer and make must be there.

VENV := .venv
BIN := $(VENV)/bin
WORKERS := 2

# What is installed, with a stamp for each kind: the demo needs only the package and its dependencies.
RUNTIME := $(VENV)/.installed-runtime
LINT := $(VENV)/.installed-lint
DOCS := $(VENV)/.installed-docs
DEV := $(VENV)/.installed-dev
EXTRAS_lint := [lint]
EXTRAS_docs := [docs]
EXTRAS_dev := [dev]

# The first Python that is new enough and can create virtual environments; `make PYTHON=...` overrides it.
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

.PHONY: help setup dbt mlflow demo docs picture record reference test quick lint house identity identity-record test-long test-oldest test-core coverage mutants fuzz campaign reliability bench bench-counting bench-learning bench-loading bench-shapes bench-in_place bench-tables bench-report bench-scale bench-versions bench-paper bench-prediction reproduce release format pins clean

help:
	@echo 'make demo            who leaves a made-up shop? learn, evaluate, explain; installs only what that needs'
	@echo 'make test            lint, types, import contracts, tests and doctests'
	@echo 'make quick           lint, types, import contracts and the unit tests: no whole fits, servers or commands'
	@echo 'make lint            lint, types and import contracts alone'
	@echo 'make house           count lines and modules by room, and the modules that commands import and run'
	@echo 'make identity        about 60 small fits compared with the list of what they gave (ONLY="shop duckdb", KEEP=, AGAINST=FOLDER)'
	@echo 'make identity-record write that list anew, after a change that is meant to change models'
	@echo 'make docs            build the documentation as a site, in build/site'
	@echo 'make reference       write the references of the command line and of the options, and the tables of benchmarks'
	@echo 'make record          write into the documents and the notebook what their commands print'
	@echo 'make picture         draw the picture of a report in README.md; needs Chromium'
	@echo 'make dbt             install dbt for the tests, in an environment of its own'
	@echo 'make mlflow          install MLflow for the tests, in an environment of its own'
	@echo 'make test-long       the property tests with 100,000 cases; 200 kills; 200 fits in one process'
	@echo 'make test-oldest     some of the tests on the oldest allowed versions of all dependencies'
	@echo 'make test-core       the package without extras, on every installed Python from 3.11 on'
	@echo 'make coverage        measure which lines and branches the tests run'
	@echo 'make mutants         put small faults into the code and check that the tests notice them'
	@echo 'make campaign        random worlds of tables compared with an oracle of plain Python (WORLDS=2000, hours)'
	@echo 'make reliability     write docs/reliability.md from the recorded measurements'
	@echo 'make fuzz            coverage-guided fuzzing of every reader of text, 10 minutes each (SECONDS=600)'
	@echo 'make bench           all benchmarks; writes benchmarks/README.md (also bench-counting, bench-learning, bench-loading, bench-shapes, bench-in_place, bench-tables, bench-report, bench-scale, bench-versions, bench-paper, bench-prediction)'
	@echo 'make reproduce       run the published study, without the runs that have results, and write its report (OUT=DIR, QUICK=1 for two small worlds)'
	@echo 'make release         build the wheel and the sdist, check them, and install each in an empty environment'
	@echo 'make format          format the sources'
	@echo 'make pins            write constraints.txt from the installed environment'
	@echo 'make clean           remove everything that make has built'

setup: $(DEV)

$(BIN)/python:
	@test -n '$(PYTHON)' || { echo 'No Python 3.11 or newer with venv was found: install one (on Debian: apt-get install python3.11 python3.11-venv), or name yours: make PYTHON=...' >&2; exit 1; }
	$(PYTHON) -m venv --clear $(VENV)

# Stamps are written last, so that an interrupted installation is done again. Every kind includes the runtime,
# and the development environment includes all kinds.
$(VENV)/.installed-%: pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.$(EXTRAS_$*)'
	@touch $(RUNTIME) $@ $(if $(filter dev,$*),$(LINT) $(DOCS))

# dbt has an environment of its own: its packages clash with ours.
DBT := $(VENV)/dbt/.installed
dbt: $(DBT)

$(DBT): tests/dbt.txt | $(BIN)/python
	$(BIN)/python -m venv --clear $(VENV)/dbt
	$(VENV)/dbt/bin/python -m pip install --quiet --disable-pip-version-check -r tests/dbt.txt
	@touch $@

# So has MLflow: it brings a hundred packages, which nothing else of ours may come to need.
MLFLOW := $(VENV)/mlflow/.installed
mlflow: $(MLFLOW)

$(MLFLOW): tests/mlflow.txt | $(BIN)/python
	$(BIN)/python -m venv --clear $(VENV)/mlflow
	$(VENV)/mlflow/bin/python -m pip install --quiet --disable-pip-version-check -r tests/mlflow.txt
	@touch $@

demo: $(RUNTIME)
	$(BIN)/hornbeam demo

docs: $(DOCS)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo 'open build/site/index.html, or with search: python3 -m http.server -d build/site'

# The picture of a report in README.md; needs Chromium.
picture: $(DEV)
	$(BIN)/python tools/picture.py

reference: $(RUNTIME)
	$(BIN)/python tools/reference.py

# What commands and cells print, in the documents and in the notebook.
record: $(DEV)
	$(BIN)/python tools/record.py
	$(BIN)/python tools/notebook.py

PYTEST := $(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup

test: $(DEV) $(DBT) $(MLFLOW) lint
	$(PYTEST)

quick: $(DEV) lint
	$(PYTEST) tests/unit -k 'not spark and not postgres'

lint: $(LINT)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

house: $(RUNTIME)
	$(BIN)/python tools/house.py
	$(BIN)/python tools/house.py --verbs

COMPARE := $(BIN)/python tests/golden/identity/compare.py
CHOSEN = $(if $(ONLY),--only '$(ONLY)') $(if $(KEEP),--keep '$(KEEP)') $(if $(AGAINST),--against '$(AGAINST)')

identity: $(RUNTIME)
	$(COMPARE) $(CHOSEN)

identity-record: $(RUNTIME)
	$(COMPARE) --record $(CHOSEN)

test-long: $(DEV)
	$(BIN)/python reliability/kills.py --kills 200 --record
	$(BIN)/python reliability/soak.py --fits 200 --record
	HORNBEAM_CASES=100000 $(BIN)/python -m pytest -n $(WORKERS) tests/properties

test-oldest: $(RUNTIME)
	$(BIN)/python reliability/environments.py oldest --record

PYTHONS := python3.11 python3.12 python3.13
test-core: $(RUNTIME)
	@for python in $(PYTHONS); do $$python -c 'import venv, ensurepip' 2>/dev/null || continue; \
	$(BIN)/python reliability/environments.py core --python $$python --record || exit 1; done

coverage: $(DEV)
	$(BIN)/python reliability/coverage_of_tests.py --record

mutants: $(DEV)
	@for part in ridge refine plan link_targets linked_groups windows types bag_steps; do $(BIN)/python reliability/mutants.py $$part --record || exit 1; done

WORLDS := 2000
campaign: $(DEV)
	$(BIN)/python reliability/campaign.py --worlds $(WORLDS) --record

reliability: $(RUNTIME)
	$(BIN)/python reliability/document.py

FUZZED := facts modes clauses effects models schemas
SECONDS := 600

fuzz: $(DEV)
	@for target in $(FUZZED); do $(BIN)/python fuzz/run.py $$target --seconds $(SECONDS) --record || exit 1; done

bench: bench-counting bench-loading bench-shapes bench-in_place bench-tables bench-scale bench-learning bench-report bench-versions bench-paper bench-prediction

bench-counting bench-learning bench-loading bench-shapes bench-in_place bench-tables bench-report bench-scale: bench-%: $(DEV)
	$(BIN)/python benchmarks/bench_$*.py

# In a user's environment: no variable limits threads, but for the columns "one thread".
bench-versions bench-paper bench-prediction: bench-%: $(DEV)
	env -u OPENBLAS_NUM_THREADS -u OMP_NUM_THREADS $(BIN)/python benchmarks/bench_$*.py

OUT := docs/reproduction
reproduce: $(RUNTIME)
	$(BIN)/python -m study --out '$(OUT)' $(if $(QUICK),--quick)

# In an environment of its own, which has nothing but what the wheel asks for; it leaves dist/ to be uploaded.
release: $(DEV)
	rm -rf dist build/release
	$(BIN)/python -m hatchling build -d dist
	$(BIN)/python -m venv build/release
	build/release/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt twine dist/*.whl
	build/release/bin/python -m twine check --strict dist/*
	cd build/release && bin/hornbeam --version && bin/hornbeam demo > demo.txt
	build/release/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --force-reinstall dist/*.tar.gz
	cd build/release && bin/hornbeam --version

format: $(LINT)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

pins: $(DEV)
	$(BIN)/python -m pip freeze --exclude-editable --disable-pip-version-check | LC_ALL=C sort -f > constraints.txt

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis report.html
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
