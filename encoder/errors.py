"""The one exception that users see."""


class InputError(ValueError):
    """Something the user gave us is wrong; the message is one sentence naming what, where and what to do.

    The command line prints it and exits with code 2.
    """
