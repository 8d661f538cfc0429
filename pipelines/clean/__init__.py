"""Scoring and filtering of pairs: existing bitext, and the candidates of a mine."""
