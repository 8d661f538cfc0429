"""From a neighbour graph to pairs, and the job that runs all stages."""
