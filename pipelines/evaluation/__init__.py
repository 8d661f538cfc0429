"""Benchmarks of sentence encoders under the published protocols, one module each."""
