"""What stops the job from judging at all. May be imported by everything in this package; imports nothing of ours."""


class CannotRunError(Exception):
    """The job could not find out whether replication works; exit code 2, never a pass.

    `code` is a stable kebab-case name, `where` names the cluster, file or key, `remedy` what to change. None of the
    fields may hold a credential: they end up in the terminal, in report.json and in a ConfigMap.
    """

    def __init__(self, code: str, what: str, where: str, remedy: str) -> None:
        self.code, self.what, self.where, self.remedy = code, what, where, remedy
        super().__init__(f"{code}: {what}, at {where}. Remedy: {remedy}")


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
    """The verdict could not be kept beside the flow."""
