"""From sentence shards to vector shards."""
