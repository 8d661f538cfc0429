"""The exceptions that users see."""


class InputError(ValueError):
    """Something the user gave us is wrong; the message is one sentence naming what, where and what to do.

    The command line prints it and exits with code 2. `code` names its section in errors.md, which `twinlode explain`
    shows, for errors about which there is more to say.
    """

    def __init__(self, message: str = "", *, code: str = "") -> None:
        super().__init__(message)
        self.code = code


class UnreachablePrecision(InputError):
    """No threshold reaches the precision that was asked for; the input is sound, and a better encoder may reach it."""

    def __init__(self, message: str = "", *, code: str = "T01") -> None:
        super().__init__(message, code=code)
