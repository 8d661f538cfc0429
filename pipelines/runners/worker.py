"""A worker process of the local runner: Beam's own, but quiet, and gone as soon as its parent is."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
import time


def main() -> None:
    logging.disable(logging.WARNING)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the parent too, which then ends its workers
    threading.Thread(target=_follow_parent, args=(os.getppid(),), daemon=True).start()
    from apache_beam.runners.worker import sdk_worker_main

    sdk_worker_main.main(sys.argv)


def _follow_parent(parent: int) -> None:
    """A killed parent leaves no message; without this its workers would go on writing."""
    while os.getppid() == parent:
        time.sleep(0.2)
    os._exit(1)


if __name__ == "__main__":
    main()
