# Everything on a machine that has nothing but Python (3.10 or newer) and make.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
RELEASE ?= 0.33.0
# `make audit AUDIT=path/to/vllm` audits a tree of yours instead of a release.
AUDIT ?=

EXAMPLES ?= 100000
# Ten packages that have nothing to do with vLLM.
PACKAGES ?= django sympy sqlalchemy networkx twisted ansible-core sphinx pygments nltk pandas

.PHONY: help setup audit test lint check clean differential robustness

help:
	@echo "make audit                audit vLLM $(RELEASE) (RELEASE=x.y.z for another, AUDIT=path for your own tree)"
	@echo "make test                 run the tests, those on real releases too (they are fetched with pip)"
	@echo "make lint                 ruff and mypy"
	@echo "make differential         random trees, analysed and run (EXAMPLES=n)"
	@echo "make robustness           foreign packages, damaged files, very many files"
	@echo "make check                lint and test: what CI runs"

$(BIN)/.ready: pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev]"
	@touch $@

setup: $(BIN)/.ready

audit: setup
	@$(BIN)/vllm-contracts audit $(if $(AUDIT),"$(AUDIT)",--release $(RELEASE)); test $$? -le 1

test: setup
	$(BIN)/python -m pytest -n auto --dist loadfile

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

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .robustness build dist *.egg-info
