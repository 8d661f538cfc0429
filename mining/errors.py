"""The exceptions that users see."""


class InputError(ValueError):
    """Something the user gave us is wrong; the message is one sentence naming what, where and what to do.

    The command line prints it and exits with code 2.
    """


class UnreachablePrecision(InputError):
    """No threshold reaches the precision that was asked for; the input is sound, and a better encoder may reach it."""
