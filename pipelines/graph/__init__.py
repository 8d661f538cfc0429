"""From vector shards to the neighbour graph of both directions."""
