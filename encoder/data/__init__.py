"""Training data: readers of parallel text, memory-mapped token stores, samplers and batches."""
