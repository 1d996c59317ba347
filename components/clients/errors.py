"""The error of a question that a cluster did not answer."""


class NoAnswerError(Exception):
    """A cluster did not answer a question; the message names the question and the reason, and holds no credential.

    `refused` means that the cluster answers, but refuses the login or the right to ask.
    """

    def __init__(self, message: str, *, refused: bool = False) -> None:
        super().__init__(message)
        self.refused = refused
