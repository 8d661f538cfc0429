"""One module for each `twinlode` subcommand."""
