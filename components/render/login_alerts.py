"""Alerts on the logins of a flow's connectors, and the other alerts that only follow from a refused login. A worker
whose login is refused logs that and keeps trying. Its task stays RUNNING and fails only when the worker restarts, so
the exporter tries each login itself.
"""

from collections.abc import Iterator
from dataclasses import replace

from components.contract import exported_series as series
from components.render.alerts import STATUS, Alert

_DAY_SECONDS = 86_400
#: Alerts caused by a refused login, which would only repeat that nothing crosses.
_CONSEQUENCES = frozenset(
    {
        "MirrorCheckpointsMissing",
        "MirrorHeartbeatSilent",
        "MirrorLagHigh",
        "MirrorLatencyHigh",
        "MirrorMetricsAbsent",
        "MirrorNotAsked",
        "MirrorPartitionStalled",
        "MirrorSourceMissing",
        "MirrorTaskFailed",
    }
)


def login_alerts(of: str) -> Iterator[Alert]:
    """Yield the alerts on a flow's logins: at most one of them fires for one login."""
    expiry = f"min by (cluster, secret, key) ({series.CERTIFICATE_EXPIRY.name}{{{of}}}) - time()"
    refused = f"max by (cluster) ({series.LOGIN_REFUSED.name}{{{of}}})"
    yield Alert(
        "MirrorCertificateExpiring",
        "warning",
        f"{expiry} < {series.EXPIRES_SOON_DAYS * _DAY_SECONDS} > 0",
        60,
        "a certificate in Secret {{ $labels.secret }} ({{ $labels.key }}) expires in {{ $value | humanizeDuration }}",
        "The connectors use it to connect to {{ $labels.cluster }}. Unless it is a spare one in a bundle, they cannot "
        "connect once it has expired.",
        STATUS,
    )
    yield Alert(
        "MirrorCertificateExpired",
        "critical",
        # A bundle may hold an old certificate that nobody needs; the cluster then still accepts the login.
        f"({expiry} <= 0)\nunless on (cluster) {refused} == 0",
        2,
        "a certificate in Secret {{ $labels.secret }} ({{ $labels.key }}) has expired",
        "The connectors use it to connect to {{ $labels.cluster }}. Nothing crosses until it is renewed.",
        STATUS,
    )
    yield Alert(
        "MirrorLoginRefused",
        "critical",
        f"{refused} > 0\nunless on (cluster) {expiry} <= 0",
        2,
        "{{ $labels.cluster }} refuses the login of its connectors",
        "The Secret does not hold the user's password or certificate, or the connectors do not trust the cluster's "
        "certificate.",
        STATUS,
    )


def explained(alert: Alert, of: str) -> Alert:
    """Return an alert that stays silent while a refused login explains it."""
    if alert.name not in _CONSEQUENCES:
        return alert
    expression = f"({alert.expression})\nunless on () max({series.LOGIN_REFUSED.name}{{{of}}}) > 0"
    return replace(alert, expression=expression)
