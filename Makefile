# Everything that a person types. `make demo` and `make test` do all the set-up themselves.
PYTHON ?= python3
VENV := .venv
LOWEST := $(VENV)/lowest
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
TORCH := torch==2.13.0

# Where an environment forbids bytecode, every process of the tests compiles everything anew.
export PYTHONDONTWRITEBYTECODE =

.PHONY: demo test test-all test-quick test-power test-lowest test-neighbours lint ui install browser screenshots servers audit build docs clean
.DEFAULT_GOAL := install

install: $(STAMP)

# torch first and pinned: with it in place nothing pulls the CUDA build.
$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet $(TORCH)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $(STAMP)

demo: $(STAMP)
	$(BIN)/python examples/demo.py

# Tests look at the report in a Chromium: one that is there, or else Debian's, or Playwright's own.
browser: $(STAMP)
	$(BIN)/python tests/support/browser.py

# The pictures of the README and of some pages, from the example handbook.
screenshots: browser
	$(BIN)/python tests/support/screenshots.py

# Tests start servers of their own: those that are there, or else Debian's.
servers: $(STAMP)
	$(BIN)/python tests/support/install_servers.py

# Each worker imports every test first, which takes a quarter of a minute.
PYTEST := -m pytest -n 2 --dist worksteal

# All that guards data, results and interfaces; needs the Python packages alone.
test: $(STAMP)
	$(BIN)/python $(PYTEST) -m 'not rare'

# Every test: servers, daemons, all points of a kill, real models, more examples of each law.
test-all: $(STAMP) browser servers
	$(BIN)/python $(PYTEST)

test-quick: $(STAMP)
	$(BIN)/python $(PYTEST) -m 'not slow and not rare'

# Planted faults, each with the tests that must fail: does the suite still see?
test-power: $(STAMP)
	$(BIN)/python tests/power/run.py

# The oldest releases that pyproject.toml allows, in an environment of their own; torch stays.
test-lowest: $(STAMP)
	mkdir -p build
	echo 'torch; python_version < "3"' | $(BIN)/uv pip compile pyproject.toml --quiet --upgrade \
	    --python $(BIN)/python --extra all --extra test --resolution lowest-direct \
	    --override - --constraint tests/support/lowest.txt --output-file build/lowest.txt
	$(PYTHON) -m venv --clear $(LOWEST)
	$(LOWEST)/bin/python -m pip install --quiet $(TORCH)
	$(BIN)/uv pip install --quiet --python $(LOWEST)/bin/python --requirement build/lowest.txt
	$(BIN)/uv pip install --quiet --python $(LOWEST)/bin/python --no-deps --editable .
	$(LOWEST)/bin/python -m pytest -n 2 --dist worksteal -m 'not slow and not rare'

# Packages that stand beside this one in a team's project; each has to resolve together with it.
NEIGHBOURS := dbt-core==1.10.* dbt-core==1.11.* dbt-core==1.12.* dagster-dbt dagster-dlt langchain \
    langchain-core==0.3.* llama-index-core==0.12.* llama-index fastmcp mcp==1.* numpy==1.26.* \
    pandas==2.2.* transformers==4.* sentence-transformers==3.* openai==1.* click==8.1.*

test-neighbours: $(STAMP)
	mkdir -p build
	set -e; for name in $(foreach name,$(NEIGHBOURS),'$(name)'); do \
	    echo "$$name" | $(BIN)/uv pip compile pyproject.toml - --quiet --extra all \
	    --python $(BIN)/python --output-file build/neighbours.txt; echo "$$name"; done

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Known faults of the pinned versions; pip-audit has a place of its own and needs the network.
audit: $(STAMP)
	$(BIN)/python -m pip check
	$(PYTHON) -m venv $(VENV)/audit
	$(VENV)/audit/bin/python -m pip install --quiet pip-audit
	$(VENV)/audit/bin/python -m pip_audit --requirement constraints.txt --no-deps --disable-pip

# A source archive and the wheel made of it, tried in an environment that holds nothing else.
build: $(STAMP)
	rm -rf dist $(VENV)/fresh
	$(BIN)/pyproject-build > /dev/null
	$(PYTHON) -m venv $(VENV)/fresh
	$(VENV)/fresh/bin/python -m pip install --quiet $(TORCH)
	$(VENV)/fresh/bin/python -m pip install --quiet --constraint constraints.txt dist/*.whl
	$(BIN)/python tests/support/smoke.py $(VENV)/fresh

# The pages lie under build/docs as they do here, so that links between them are the same.
PAGES := README.md ARCHITECTURE.md CHANGELOG.md CONTRIBUTING.md SECURITY.md docs deploy examples

docs: $(STAMP)
	rm -rf build/docs build/settings
	mkdir -p build/docs
	$(BIN)/raptor init --all --home build/settings > /dev/null
	ln -s $(addprefix $(CURDIR)/,$(PAGES)) build/docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

ui: demo
	$(BIN)/raptor ui

clean:
	rm -rf $(VENV) .raptor build dist *.egg-info
