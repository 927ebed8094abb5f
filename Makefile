# make run · make test · make check · make bench: each sets up what it needs, and nothing else has to be typed.
# make test ARGS=tests/checkpoints: only these. make test-long ARGS="--share 0.05 --cells 0.25": a twentieth of the rounds, a quarter of the grids.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

# Compiled modules are kept: otherwise each worker of the tests, and each server that they start, compiles all of them.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := run
.PHONY: run test test-slow test-again test-long check bench font setup setup-dev browser whole-browser lock sbom clean

run: setup
	@$(BIN)/python app.py

test: setup-dev browser
	@$(BIN)/python -m pytest -n auto --dist worksteal $(ARGS)

# More of the same in a browser, a database or a killed process. CI runs these as well.
test-slow: setup-dev browser
	@$(BIN)/python -m pytest -n auto --dist worksteal -m "slow and not long" $(ARGS)

# Only what failed the last time, one after the other.
test-again: setup-dev
	@$(BIN)/python -m pytest --last-failed --last-failed-no-failures none -m "" $(ARGS)

# The same proofs with many more rounds: hours, not minutes, unless a share is asked for.
test-long: setup-dev browser
	@$(BIN)/python -m pytest -n auto --dist worksteal -m long $(ARGS)

check: setup-dev $(VENV)/typescript
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@PYTHONPATH=. $(BIN)/lint-imports --no-cache
	@$(BIN)/oxlint assets
	@$(BIN)/node $(TYPESCRIPT)/node_modules/typescript/bin/tsc
	@$(BIN)/python -m pytest --collect-only -qq -m "" >$(VENV)/collected.log || { grep -E "^(E |ERROR)" $(VENV)/collected.log; exit 1; }
	@$(BIN)/python -m pytest -qq -m "" tests/test_sizes.py >$(VENV)/sizes.log || { cat $(VENV)/sizes.log; exit 1; }
	@$(BIN)/python -m deploy.supply.registry

bench: setup-dev whole-browser
	@$(BIN)/python -m benchmarks $(ARGS)

setup: $(VENV)/run
setup-dev: $(VENV)/dev

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Waymark needs Python 3.11 or newer: make PYTHON=python3.11 …"; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { echo "Python cannot make a virtual environment: on Debian, apt install python3-venv."; exit 1; }

# Only wheels whose hash is in the constraints are installed: a wheel runs no code while it is installed.
# make WHEELS= builds from source where a package has no wheel (cryptography on Intel Macs).
# pip takes no hashes from `-c`, and refuses further packages beside hashes: .venv/constraints.txt has the versions alone.
WHEELS := --only-binary :all:
install = $(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes $(WHEELS) $(2) \
  $(addprefix -r ,$(1)) >$(VENV)/pip.log 2>&1 || { $(BIN)/python deploy/supply/install_log.py $(VENV)/pip.log; exit 1; }; \
  sed -n 's/^\([^ ].*\) \\$$/\1/p' constraints.txt constraints-dev.txt >$(VENV)/constraints.txt

$(VENV)/run: constraints.txt | $(VENV)/bin/python
	@echo "Installing what Waymark needs …"
	@$(call install,constraints.txt)
	@touch $@

$(VENV)/dev: constraints.txt constraints-dev.txt constraints-graphs.txt | $(VENV)/bin/python
	@echo "Installing what the tests need …"
	@$(call install,constraints.txt constraints-dev.txt)
	@$(call install,constraints-graphs.txt,--no-deps)
	@touch $(VENV)/run $@

# TypeScript checks the browser's JavaScript. It is npm's, and the Node that installs and runs it is of PyPI: none is needed
# beside it. package-lock.json has the hashes of all platforms.
TYPESCRIPT := $(VENV)/typescript-files
$(VENV)/typescript: package.json package-lock.json | $(VENV)/dev
	@echo "Installing TypeScript …"
	@mkdir -p $(TYPESCRIPT)
	@cp package.json package-lock.json $(TYPESCRIPT)
	@$(BIN)/npm ci --prefix $(TYPESCRIPT) --ignore-scripts --no-audit --no-fund --fetch-retries 1 >$(VENV)/npm.log 2>&1 || \
	  { cat $(VENV)/npm.log; exit 1; }
	@touch $@

# A browser that is there is used; as root on Debian one is installed; else one line says what to do. The tests prefer
# Debian's headless shell: it needs half the CPU time of a Chromium with windows.
APT := apt-get -qq -y -o Acquire::Retries=0 -o Acquire::http::Timeout=20
HAS_BROWSER := { command -v chromium || command -v chromium-browser || command -v google-chrome || \
  [ -d "/Applications/Google Chrome.app" ] || [ -d "/Applications/Chromium.app" ]; } >/dev/null 2>&1
HAS_SHELL := command -v chromium-headless-shell >/dev/null 2>&1
NO_BROWSER := The page's tests and benchmarks need Chromium or Chrome: install it (Debian: apt install chromium; macOS: brew install --cask chromium).
browser: $(VENV)/browser
$(VENV)/browser: | $(VENV)/bin/python
	@$(HAS_SHELL) || [ "$$(id -u)" != 0 ] || ! command -v apt-get >/dev/null || { \
	  $(APT) update; $(APT) install chromium-headless-shell || $(HAS_BROWSER) || $(APT) install chromium; } >/dev/null 2>&1 || true
	@$(HAS_SHELL) || $(HAS_BROWSER) || { echo "$(NO_BROWSER)"; exit 1; }
	@touch $@

# The page is measured in the browser that people have, with a compositor.
whole-browser:
	@$(HAS_BROWSER) || [ "$$(id -u)" != 0 ] || ! command -v apt-get >/dev/null || { \
	  $(APT) update; $(APT) install chromium; } >/dev/null 2>&1 || true
	@$(HAS_BROWSER) || { echo "$(NO_BROWSER)"; exit 1; }

# Pins what the requirements bring along, with all wheels' hashes, after a change to them.
# make lock ARGS=--upgrade: the newest versions of what they bring along.
compile = $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --fork-strategy fewest $(WHEELS) \
  --generate-hashes --custom-compile-command "make lock" $(ARGS)
without = $$(sed -n 's/^\([^ ]*\)==.*/--no-emit-package \1/p' $(1))
lock: setup-dev
	@$(compile) requirements.txt --output-file constraints.txt
	@$(compile) requirements-dev.txt --constraints constraints.txt --output-file constraints-dev.txt \
	  $(call without,constraints.txt)
	@echo langchain-google-genai | $(compile) requirements-graphs.txt --constraints constraints.txt \
	  --constraints constraints-dev.txt --excludes - --output-file constraints-graphs.txt \
	  $(call without,constraints.txt constraints-dev.txt)

# Builds the page's font files again, which are in the repository: the script names its own packages.
font: setup-dev
	@$(BIN)/uv run --quiet --script deploy/supply/font.py

# A bill of materials in CycloneDX's format: build/waymark.cdx.json.
sbom: setup-dev
	@mkdir -p build
	@$(BIN)/python -m deploy.supply.bill_of_materials "$$(git describe --always --dirty)" >build/waymark.cdx.json
	@echo "build/waymark.cdx.json"

clean:
	rm -rf $(VENV) build
