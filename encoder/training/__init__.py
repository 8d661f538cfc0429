"""From settings and parallel text to a checkpoint: the training loop and its parts."""
