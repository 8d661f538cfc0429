"""Vectors in, pairs out: vector files, kNN graphs, margins, matching, thresholds, filters and pair files."""
