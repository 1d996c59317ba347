"""The series of `replicate exporter`, which Kafka's own metrics lack. Alerts and the dashboard read them. If a question
was not answered, its series is missing; it never has an old value or 0. May be imported by anything; imports nothing of
ours.
"""

from dataclasses import dataclass

#: Labels of every series about a flow.
FLOW_LABELS = ("stack", "flow", "source", "target")
#: Default address of the exporter.
ADDRESS = "127.0.0.1:9847"
#: Paths that answer 200 while the exporter looks, and while it serves a look that counts; otherwise 503.
ALIVE, READY = "/livez", "/readyz"
#: What is asked about each flow, by the keys of `replicate status --json`, which does not look for drift.
DRIFT_QUESTION = "drift"
QUESTIONS = ("connectors", "heartbeatSeconds", "lag", "losses", "readAgain", "verdict", "logins", DRIFT_QUESTION)
#: A certificate that expires within this time raises an alert.
EXPIRES_SOON_DAYS = 14
#: The value for a flow without a published verdict.
NO_VERDICT = "none"


@dataclass(frozen=True)
class ExportedSeries:
    """The series of one name. `more` has their labels besides those of the flow."""

    name: str
    meaning: str
    more: tuple[str, ...] = ()
    type: str = "gauge"


#: The only series without a flow: its label is `stack`.
LOOK_TIME = ExportedSeries("mirror_look_timestamp_seconds", "When the newest look at the stack began.")

COULD_FAIL_OVER = ExportedSeries(
    "mirror_flow_could_fail_over", "1 if the flow could fail over now, 0 if not; missing if that is not known."
)
UNANSWERED = ExportedSeries(
    "mirror_flow_unasked", "1 if the answer to this question about the flow is unknown, else 0.", ("what",)
)
CONNECTOR_RUNNING = ExportedSeries(
    "mirror_connector_running", "1 if Connect last reported the connector as running, else 0.", ("connector",)
)
RUNNING_TASKS = ExportedSeries("mirror_connector_running_tasks", "Tasks of the connector that run.", ("connector",))
FAILURES = ExportedSeries(
    "mirror_connector_failures", "Failed tasks, and 1 more if the connector itself failed.", ("connector",)
)
HEARTBEAT_AGE = ExportedSeries(
    "mirror_heartbeat_age_seconds", "Age of the newest heartbeat on the target; missing without a recent one."
)
KEPT_AGE = ExportedSeries(
    "mirror_kept_positions_age_seconds",
    "Age of the positions that `replicate keep` has kept on the target; missing if none ever ran.",
)
PARTITIONS = ExportedSeries("mirror_partitions", "Source partitions that the flow replicates.")
PARTITIONS_BEHIND = ExportedSeries(
    "mirror_partitions_behind", "Partitions with records that may not be on the target yet."
)
MISSING_TOPICS = ExportedSeries("mirror_missing_topics", "Remote topics that do not exist although their topics do.")
LAG_RECORDS = ExportedSeries("mirror_lag_records", "Upper bound of the records that are not on the target yet.")
LAG_SECONDS = ExportedSeries(
    "mirror_lag_seconds", "Age of the oldest record that may not be on the target yet; 0 if there is none."
)
_ONE_PARTITION = ("topic", "partition")
PARTITION_LAG_RECORDS = ExportedSeries(
    "mirror_partition_lag_records",
    "mirror_lag_records of the partitions that have been behind longest.",
    _ONE_PARTITION,
)
PARTITION_LAG_SECONDS = ExportedSeries(
    "mirror_partition_lag_seconds",
    "mirror_lag_seconds of the partitions that have been behind longest.",
    _ONE_PARTITION,
)
PARTITION_POSITION = ExportedSeries(
    "mirror_partition_position",
    "Source offset below which everything is on the target, of the partitions that have been behind longest.",
    _ONE_PARTITION,
)
SOURCE_ENDS = ExportedSeries("mirror_source_end_offsets", "Sum of the end offsets of the source partitions.")
OTHER_PARTITIONS_LAG_RECORDS = ExportedSeries(
    "mirror_other_partitions_lag_records", "mirror_lag_records of the partitions without series of their own."
)
NEAR_DELETION = ExportedSeries(
    "mirror_partitions_near_deletion",
    "Partitions whose first record that has not crossed has outlived three quarters of the source's retention.",
)
DELETION_SECONDS = ExportedSeries(
    "mirror_partition_deletion_seconds",
    "Seconds until the source may delete the first record that has not crossed, of the partitions where that is first.",
    _ONE_PARTITION,
)
LOST_OFFSETS = ExportedSeries(
    "mirror_lost_offsets",
    "Offsets that the source has deleted before they crossed, at least; 0 again once the flow has passed over them.",
)
LOST_OFFSETS_AT_MOST = ExportedSeries("mirror_lost_offsets_at_most", "Upper bound of mirror_lost_offsets.")
STOPPED_PARTITIONS = ExportedSeries(
    "mirror_stopped_partitions",
    "Partitions that replicate nothing until somebody says where to continue; 0 without `onLoss: stop`.",
)
RECREATED_TOPICS = ExportedSeries(
    "mirror_recreated_topics",
    "Topics of the flow that the cluster created again since the newest published validation, or the exporter's start.",
    ("cluster",),
)
CUT_PARTITIONS = ExportedSeries(
    "mirror_cut_partitions", "Partitions of the flow whose log on the cluster is shorter than it was.", ("cluster",)
)
GROUPS = ExportedSeries("mirror_groups", "Consumer groups with committed offsets on the flow's topics.")
READ_AGAIN = ExportedSeries(
    "mirror_read_again_records", "Upper bound of the records that would be read again after a failover."
)
GROUPS_WITHOUT_POSITION = ExportedSeries(
    "mirror_groups_without_position", "Groups that have no position on the target in some partition."
)
GROUP_READ_AGAIN = ExportedSeries(
    "mirror_group_read_again_records", "mirror_read_again_records of the groups that would read most again.", ("group",)
)
OTHER_GROUPS_READ_AGAIN = ExportedSeries(
    "mirror_other_groups_read_again_records", "mirror_read_again_records of the groups without series of their own."
)
VERDICT = ExportedSeries(
    "mirror_verdict", "The newest published verdict; `none` if none was published.", ("mirror_verdict",), "stateset"
)
VERDICT_TIME = ExportedSeries("mirror_verdict_timestamp_seconds", "When the newest published validation began.")
VERDICT_CURRENT = ExportedSeries(
    "mirror_verdict_current", "1 if the newest published validation judged the model that is declared now, else 0."
)
LOGIN_REFUSED = ExportedSeries(
    "mirror_login_refused",
    "1 if the cluster refuses the login that the connectors use, 0 if it accepts it; missing if that is not known.",
    ("cluster",),
)
CERTIFICATE_EXPIRY = ExportedSeries(
    "mirror_certificate_expiry_timestamp_seconds",
    "When the first certificate of this key of a Secret expires.",
    ("cluster", "secret", "key"),
)
DRIFT = ExportedSeries(
    "mirror_drift", "Objects and fields of the flow that somebody changed, added or deleted by hand."
)

#: Every series above but the one of the stack, in this order.
ABOUT_FLOWS = tuple(
    series for series in [*globals().values()] if isinstance(series, ExportedSeries) and series is not LOOK_TIME
)
