# Every target creates .venv on first use and re-installs only when pyproject.toml changed.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.installed

.PHONY: demo test bench lint

$(READY): pyproject.toml
	test -x $(BIN)/uv || ($(PYTHON) -m venv .venv && $(BIN)/pip install --quiet uv)
	$(BIN)/uv pip install --quiet --compile-bytecode --python $(BIN)/python --editable '.[cpu,web,demo,test]'
	touch $@

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test: lint
	$(BIN)/pytest

bench: $(READY)
	$(BIN)/python -m tests.benchmarks

demo: $(READY)
	$(BIN)/twinlode demo
