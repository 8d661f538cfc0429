"""Measurements: `make bench` runs every `bench_*.py` here and prints ratios measured in one run."""
