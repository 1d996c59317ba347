"""What stops a command before it can find anything; exit code 2. Imports nothing of ours."""


class CannotRunError(Exception):
    """A command could not do its work: what, where, why and what to do, as separate sentences."""

    def __init__(self, what: str, where: str, why: str, remedy: str) -> None:
        self.what, self.where, self.why, self.remedy = what, where, why, remedy
        super().__init__(f"{what}, at {where}. {why} Remedy: {remedy}")
