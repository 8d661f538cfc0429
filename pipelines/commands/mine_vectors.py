"""`twinlode mine-vectors`: pairs from vectors that already exist."""


def command() -> None:
    """Mine translation pairs from vectors you already have."""
