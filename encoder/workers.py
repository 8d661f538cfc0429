"""Worker processes that nobody has to look after."""

from __future__ import annotations

import os
import signal
import threading
from multiprocessing import parent_process


def start_worker() -> None:
    """For the start of a pool's worker: it leaves Ctrl-C to its parent, and ends with it even if that is killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """Without this a worker would wait for work for ever."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
