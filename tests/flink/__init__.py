"""Tests on a real Flink cluster and other portable runners."""
