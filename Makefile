# Every target creates .venv on first use and re-installs only when pyproject.toml changed.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.installed

.PHONY: demo test test-browser test-flink test-kill bench lint screenshot

$(READY): pyproject.toml
	test -x $(BIN)/uv || ($(PYTHON) -m venv .venv && $(BIN)/pip install --quiet uv)
	$(BIN)/uv pip install --quiet --compile-bytecode --python $(BIN)/python --editable '.[cpu,web,demo,test]'
	touch $@

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test: lint
	OMP_WAIT_POLICY=PASSIVE $(BIN)/pytest

# Report and review in the system's Chromium; `make test` leaves these out where there is none.
test-browser: $(READY)
	TWINLODE_BROWSER=1 $(BIN)/pytest -rs tests/browser

# The whole mine on a real Flink cluster, in processes of their own.
test-flink: $(READY)
	TWINLODE_FLINK=1 $(BIN)/pytest -rs tests/flink

# SIGKILL at random moments of every stage and of a loop, rerun, same pairs and encoders.
test-kill: $(READY)
	$(BIN)/python -m tests.pipelines.kill
	$(BIN)/python -m tests.pipelines.loop.kill

bench: $(READY)
	$(BIN)/python -m tests.benchmarks

demo: $(READY)
	$(BIN)/twinlode demo

# The picture in the README, from the quick demo's report.
screenshot: $(READY)
	$(BIN)/twinlode demo --quick
	$(BIN)/python -m tests.browser.screenshot runs/demo-quick docs/report.png
