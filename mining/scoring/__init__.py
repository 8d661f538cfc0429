"""Pair scoring: how likely two sentences are translations, from their graph, their words and their surface."""
