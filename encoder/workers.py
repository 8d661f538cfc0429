"""Worker processes that nobody has to look after."""

from __future__ import annotations

import os
import signal
import threading
import time
from multiprocessing import parent_process


def start_worker() -> None:
    """For the start of a worker: it leaves Ctrl-C to its parent, and ends with it even if that is killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()


def _end_with(parent: int) -> None:
    """A killed parent leaves no message; without this its workers would wait, or go on writing, for ever."""
    pool = parent_process()
    if pool is not None:
        pool.join()  # which also notices an end before this worker was started
    while os.getppid() == parent and pool is None:
        time.sleep(0.2)
    os._exit(1)
