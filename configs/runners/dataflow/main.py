"""What the Flex Template launcher runs."""

import sys

from pipelines.commands.flex_template import main

if __name__ == "__main__":
    main(sys.argv[1:])
