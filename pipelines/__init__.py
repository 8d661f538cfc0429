"""Where it runs: corpus readers, Beam transforms, stages, benchmarks, the loop, reports and the command line."""
