"""The document of `replicate status --json`: each class is one of its objects. Plain values."""

from enum import StrEnum

from components.contract.parameters import Model, Shape
from components.contract.report import Verdict


class Kind(StrEnum):
    """Why a flow could not fail over: something is wrong, something is unknown, or the flow does not support it."""

    PROBLEM = "problem"
    UNASKED = "unasked"
    DESIGN = "design"


class Reason(Model):
    kind: Kind
    text: str


class ConnectorStatus(Model):
    """`state` is what Connect reported when the operator last asked, and empty if it reported nothing."""

    name: str
    role: str
    resource: str
    wanted: str
    state: str
    tasks: int
    running_tasks: int
    failures: tuple[str, ...] = ()
    problem: str = ""
    temporary: str = ""


class PartitionStatus(Model):
    """`position` is the source offset below which everything is on the target."""

    partition: str
    records: int
    seconds: float | None = None
    position: int = 0


class LagStatus(Model):
    """`records` is an upper bound; `seconds` is the age of the oldest record that may not be on the target.

    `ends` is the sum of the end offsets of all source partitions.
    """

    records: int
    seconds: float | None
    partitions: int
    behind: int
    most: tuple[PartitionStatus, ...]
    missing_topics: tuple[str, ...]
    ends: int = 0


class CertificateStatus(Model):
    """A certificate of a Secret (namespace and name); `expires` is in ISO 8601."""

    secret: str
    key: str
    expires: str


class LoginStatus(Model):
    """The login that the connectors use on one cluster; `accepted` is null if that is not known.

    `why` says why the cluster refuses it, or why it or a certificate could not be checked.
    """

    cluster: str
    accepted: bool | None
    why: str = ""
    certificates: tuple[CertificateStatus, ...] = ()


class GroupStatus(Model):
    """`records` is an upper bound; `without_position` lists source partitions without a position on the target."""

    name: str
    records: int
    without_position: tuple[str, ...] = ()


class GroupsStatus(Model):
    groups: int
    records: int
    most: tuple[GroupStatus, ...]


class VerdictStatus(Model):
    verdict: Verdict
    time: str
    age_seconds: float
    current: bool
    failed_checks: tuple[str, ...] = ()


class FlowStatus(Model):
    """The status of one flow. What could not be asked is null and named in `unasked`; `reasons` say why. A failover
    does not need the connectors' logins, so a login that could not be tried is no reason; it has its own explanation.
    """

    name: str
    replication: str
    shape: Shape
    source: str
    target: str
    could_fail_over: bool
    reasons: tuple[Reason, ...]
    connectors: tuple[ConnectorStatus, ...] | None
    heartbeat_seconds: float | None
    lag: LagStatus | None
    read_again: GroupsStatus | None
    verdict: VerdictStatus | None
    logins: tuple[LoginStatus, ...] = ()
    unasked: tuple[str, ...]

    @property
    def by_design(self) -> bool:
        """Whether the flow translates no offsets, by design."""
        return any(reason.kind is Kind.DESIGN for reason in self.reasons)


class StackStatus(Model):
    """The flows of one stack."""

    stack: str
    flows: tuple[FlowStatus, ...]


class StatusDocument(Model):
    """Version 1 of the document. `asked_at` is in ISO 8601."""

    version: int = 1
    asked_at: str
    stacks: tuple[StackStatus, ...]

    @property
    def exit_code(self) -> int:
        """1 if something is wrong, else 2 if something could not be asked, else 0."""
        kinds = {reason.kind for stack in self.stacks for flow in stack.flows for reason in flow.reasons}
        return 1 if Kind.PROBLEM in kinds else 2 if Kind.UNASKED in kinds else 0
