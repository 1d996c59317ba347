"""What keeps the job from judging. Each class is a type to catch; the text is that of CannotRunError.

No field of an error may hold a credential: errors end up in the terminal, in the report and in a ConfigMap.
"""

from components.contract.problems import CannotRunError


class ParametersError(CannotRunError):
    """The parameter document cannot be used."""


class CredentialError(CannotRunError):
    """A reference to a credential cannot be resolved."""


class ClusterError(CannotRunError):
    """A Kafka cluster did not answer, refused the login or refused the request."""


class SparkStartError(CannotRunError):
    """The Spark session cannot be started."""


class ReadError(CannotRunError):
    """Spark could not read a range of records to its end."""


class PublishError(CannotRunError):
    """The verdict could not be written to its ConfigMap."""
