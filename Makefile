# Everything on a machine that has nothing but Python (3.10 or newer) and make.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
RELEASE ?= 0.33.0
# `make audit AUDIT=path/to/vllm` audits a tree of yours instead of a release.
AUDIT ?=
# `make verify TORCH_INDEX=...`: where pip finds CPU builds of torch; VERIFY="--after-fix" and the like go to the command.
TORCH_INDEX ?=
VERIFY ?=

EXAMPLES ?= 100000
# Ten packages that have nothing to do with vLLM.
PACKAGES ?= django sympy sqlalchemy networkx twisted ansible-core sphinx pygments nltk pandas

.PHONY: help setup audit verify test browser lint check docs corpus e2e bench clean differential robustness

help:
	@echo "make audit                audit vLLM $(RELEASE) (RELEASE=x.y.z for another, AUDIT=path for your own tree)"
	@echo "make verify               confirm the audit of vLLM $(RELEASE) by execution, in an environment that pip makes"
	@echo "make test                 run the tests, those on real releases too (they are fetched with pip)"
	@echo "make browser              run the tests of HTML pages, with a chromium from apt-get where that is allowed"
	@echo "make lint                 ruff and mypy"
	@echo "make docs                 make docs/rules and the README's table of rules from the rules"
	@echo "make differential         random trees, analysed and run (EXAMPLES=n)"
	@echo "make robustness           foreign packages, damaged files, very many files"
	@echo "make check                lint and test: what CI runs"
	@echo "make bench                how long it takes, as ratios (needs hyperfine)"
	@echo "make corpus               write docs/corpus.md: upstream's changes, release by release, and what explains them"
	@echo "make e2e                  whole engines on the CPU, before and after the fix (needs 15 GB and PyPI; writes docs/e2e.md, teach.md, plugin.md)"

$(BIN)/.ready: pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev]"
	@touch $@

setup: $(BIN)/.ready

audit: setup
	@$(BIN)/vllm-contracts audit $(if $(AUDIT),"$(AUDIT)",--release $(RELEASE)); test $$? -le 1

verify: setup
	@$(BIN)/python -m scripts.verify_release $(RELEASE) $(if $(TORCH_INDEX),--extra-index-url "$(TORCH_INDEX)") $(VERIFY)

test: setup
	$(BIN)/python -m pytest -n auto --dist loadfile

browser: setup
	@if command -v chromium >/dev/null && command -v chromedriver >/dev/null; then :; \
	elif test "$$(id -u)" = 0 && command -v apt-get >/dev/null; then \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
		apt-get install -qq -y --no-install-recommends chromium chromium-driver fonts-dejavu-core >/dev/null || true; \
	fi
	$(BIN)/python -m pytest -n0 tests/test_matrix_browser.py

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

differential: setup
	$(BIN)/python -W ignore -m tests.differential $(EXAMPLES)

robustness: setup
	@mkdir -p .robustness
	$(BIN)/python -m pip download --quiet --no-deps --only-binary=:all: --dest .robustness $(PACKAGES)
	@for wheel in .robustness/*.whl; do $(BIN)/python -m zipfile -e $$wheel $${wheel%%-*}; done
	$(BIN)/python -m scripts.robustness packages $(addprefix .robustness/,$(subst -,_,$(PACKAGES)))
	$(BIN)/python -m scripts.robustness mutations 10000
	$(BIN)/python -m scripts.robustness sizes 50000

check: lint test

docs: setup
	$(BIN)/python scripts/rule_docs.py

bench: setup
	$(BIN)/python -m scripts.bench.marks --release $(RELEASE)

corpus: setup
	$(BIN)/python scripts/corpus.py docs/corpus.md

# The environments need a Python for which the releases' CPU build of torch is to be had.
e2e: setup
	$(BIN)/python -m scripts.e2e --write docs/e2e.md
	$(BIN)/python -m scripts.e2e.teach --write docs/teach.md
	$(BIN)/python -m scripts.e2e.plugin --write docs/plugin.md

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .robustness build dist *.egg-info
