"""Tests on a real Spark cluster."""
