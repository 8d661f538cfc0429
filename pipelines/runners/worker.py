"""A worker process of the local runner: Beam's own, but quiet, and gone as soon as its parent is."""

from __future__ import annotations

import logging
import sys

from encoder.workers import start_worker


def main() -> None:
    logging.disable(logging.WARNING)
    start_worker()
    from apache_beam.runners.worker import sdk_worker_main

    sdk_worker_main.main(sys.argv)


if __name__ == "__main__":
    main()
