"""Run the notebooks in a folder with the demo's text: `python -m tests.site.notebooks FOLDER [--save]`.

An error in a cell is an error here. With --save their outputs are kept in docs/notebooks, for readers.
"""

from __future__ import annotations

import sys
import time

import nbformat
from nbclient import NotebookClient

from tests.site.pages import DOCS


def main(folder: str, *flags: str) -> None:
    for path in sorted((DOCS / "notebooks").glob("*.ipynb")):
        began = time.monotonic()
        book = nbformat.read(path, as_version=4)
        NotebookClient(book, timeout=600, resources={"metadata": {"path": folder}}).execute()
        print(f"{path.name}: {time.monotonic() - began:.0f} s")
        if "--save" in flags:
            book.metadata = {"language_info": {"name": "python"}}
            for cell in book.cells:
                cell.metadata = {}  # times of execution
            nbformat.write(book, path)


if __name__ == "__main__":
    main(*sys.argv[1:])
