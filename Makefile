# Everything on a machine that has nothing but Python (3.10 or newer) and make.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
RELEASE ?= 0.33.0
# `make audit AUDIT=path/to/vllm` audits a tree of yours instead of a release.
AUDIT ?=

.PHONY: help setup audit test lint check bench clean

help:
	@echo "make audit                audit vLLM $(RELEASE) (RELEASE=x.y.z for another, AUDIT=path for your own tree)"
	@echo "make test                 run the tests, those on real releases too (they are fetched with pip)"
	@echo "make lint                 ruff and mypy"
	@echo "make check                lint and test: what CI runs"
	@echo "make bench                how long it takes, as ratios (needs hyperfine)"

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

check: lint test

bench: setup
	$(BIN)/python -m scripts.bench.marks --release $(RELEASE)

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist *.egg-info
