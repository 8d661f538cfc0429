"""Work in a process forked from this one, so that nothing is imported again."""

import os
import traceback
from collections.abc import Callable


def fork(work: Callable[[], object]) -> int:
    """The new process, whose exit code is 0, or 1 after an error."""
    process = os.fork()
    if process == 0:
        try:
            work()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return process
