"""The error of the local stack."""

from components.contract.problems import CannotRunError


class LocalStackError(CannotRunError):
    """The local stack could not do what it was asked to do."""
