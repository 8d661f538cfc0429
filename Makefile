# Every target creates .venv on first use and re-installs only when pyproject.toml changed.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.installed

.PHONY: demo test test-flink test-kill bench lint

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

# The whole mine on a real Flink cluster and through Beam's portability API, in processes of their own.
test-flink: $(READY)
	TWINLODE_FLINK=1 $(BIN)/pytest -rs tests/flink

# SIGKILL at random moments of every stage, rerun, same pairs.
test-kill: $(READY)
	$(BIN)/python -m tests.pipelines.kill

bench: $(READY)
	$(BIN)/python -m tests.benchmarks

demo: $(READY)
	$(BIN)/twinlode demo
