"""What commands and transforms have in common before anything heavy is imported."""

ROWS_PER_SHARD = 65_536  # 256 MB of 1024 float32: a worker holds a few shards, and a crash costs one at most
