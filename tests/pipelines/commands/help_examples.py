"""The examples that `twinlode COMMAND --help` shows."""

from tests.pipelines.command_tree import subcommand


def examples(name: str) -> list[str]:
    """Each as a line; those that go on in the next are joined."""
    lines = subcommand(name).help.partition("\b\n")[2].replace("\\\n", " ").splitlines()
    return [" ".join(line.split()) for line in lines if line.startswith("  ")]
