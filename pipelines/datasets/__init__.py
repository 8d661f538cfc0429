"""What passes between stages: folders of shards with a manifest."""

ROWS_PER_SHARD = 65_536  # 256 MB of 1024 float32: a worker holds a few shards, and a crash costs one at most
