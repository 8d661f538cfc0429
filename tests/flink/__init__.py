"""Tests on a real Flink cluster."""
