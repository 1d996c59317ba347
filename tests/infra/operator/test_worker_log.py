"""The log line that says why a worker does not start; the logs are excerpts from real ones."""

import pytest

from kafka_replication.infra.local.operator.conditions import first_problem, trace_summary

TIME = "2026-01-01 10:00:00.000"
REFUSED = f"""{TIME} INFO Kafka version: 4.2.0 (AppInfoParser)
{TIME} WARN Connection to node -1 (localhost/127.0.0.1:1) could not be established. (NetworkClient)
{TIME} WARN Bootstrap broker 127.0.0.1:1 (id: -1 rack: null) disconnected (NetworkClient)
"""
STOPPED = f"""{TIME} INFO Kafka Connect worker initializing ... (ConnectDistributed)
{TIME} ERROR Stopping due to error (AbstractConnectCli)
org.apache.kafka.connect.errors.ConnectException: Failed to connect to and describe Kafka cluster.
\tat org.apache.kafka.connect.runtime.WorkerConfig.lookupKafkaClusterId(WorkerConfig.java:1)
Caused by: java.util.concurrent.ExecutionException: org.apache.kafka.common.errors.SslAuthenticationException: SSL
\t... 5 more
Caused by: sun.security.provider.certpath.SunCertPathBuilderException: unable to find valid certification path
{TIME} ERROR Something later (Other)
"""
NOT_COMPACTED = f"""{TIME} INFO Kafka Connect starting (Connect)
{TIME} ERROR [Worker clientId=c, groupId=g] Uncaught exception in herder work thread, exiting:  (DistributedHerder)
org.apache.kafka.common.config.ConfigException: Topic 'g-configs-internal' supplied via the 'config.storage.topic' \
property is required to have 'cleanup.policy=compact' to guarantee consistency
\tat org.apache.kafka.connect.util.TopicAdmin.verifyTopicCleanupPolicyOnlyCompact(TopicAdmin.java:1)
"""


@pytest.mark.parametrize(
    ("log", "problem"),
    [
        pytest.param(
            NOT_COMPACTED,
            "[Worker clientId=c, groupId=g] Uncaught exception in herder work thread, exiting:; ConfigException: Topic "
            "'g-configs-internal' supplied via the 'config.storage.topic' property is required to have "
            "'cleanup.policy=compact' to guarantee consistency",
            id="storage-topic-that-is-not-compacted",
        ),
        pytest.param("", None, id="empty"),
        pytest.param(f"{TIME} INFO fine (A)\n{TIME} WARN a key is deprecated (B)\n", None, id="no-problem"),
        pytest.param(
            REFUSED, "Bootstrap broker 127.0.0.1:1 (id: -1 rack: null) disconnected", id="last-warning-of-a-connection"
        ),
        pytest.param(
            STOPPED,
            "Stopping due to error; ConnectException: Failed to connect to and describe Kafka cluster.; "
            "SunCertPathBuilderException: unable to find valid certification path",
            id="first-error-with-its-root-cause",
        ),
        pytest.param(
            "Error: Could not find or load main class a.B\n", "Error: Could not find or load main class a.B", id="jvm"
        ),
    ],
)
def test_the_first_problem_is_the_first_error_or_the_last_connection_warning(log: str, problem: str | None) -> None:
    assert first_problem(log) == problem


@pytest.mark.parametrize(
    ("trace", "summary"),
    [
        pytest.param("", "no trace", id="none"),
        pytest.param("a.B: x\n\tat c.D\n", "a.B: x", id="no-cause"),
        pytest.param(
            "a.B: x\n\tat c.D\nCaused by: e.F: y\n\tat g.H\nCaused by: i.J: z",
            "a.B: x; Caused by: i.J: z",
            id="root-cause",
        ),
    ],
)
def test_a_trace_summary_has_the_exception_and_its_root_cause(trace: str, summary: str) -> None:
    assert trace_summary(trace) == summary
