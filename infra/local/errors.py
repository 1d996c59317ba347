"""What stops the local stack: one exception, made of what happened and what to do. Imports nothing of ours."""


class LocalStackError(Exception):
    """The local stack could not do what was asked; the command line ends with exit code 2.

    `what` says what happened and names the part, `remedy` says what to do about it, `detail` holds evidence such as
    the last lines of a log. None of the three may hold a secret.
    """

    def __init__(self, what: str, remedy: str, detail: str = "") -> None:
        self.what = what
        self.remedy = remedy
        self.detail = detail
        super().__init__("\n".join(text for text in (what, detail, f"Remedy: {remedy}") if text))
