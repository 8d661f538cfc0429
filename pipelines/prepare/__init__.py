"""From corpus files to clean sentence shards."""
