"""A new process that runs one small mine of a plan: asked on standard input, it answers on standard output."""

from __future__ import annotations

import sys

from pipelines.runners.quiet import quiet_beam


def main() -> None:
    quiet_beam()
    from pipelines.planning.sample_runs import answer

    print(answer(sys.stdin.read()))


if __name__ == "__main__":
    main()
