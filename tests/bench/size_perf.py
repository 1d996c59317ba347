"""Kafka's own consumer bench, over the same listener and with the same login as the job."""

import os
import tempfile

from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.infra.local.endpoints import Region
from tests.bench.size_run import Bench, Cost, measured


def perf_test(region: Region, topic: str, records: int, bench: Bench) -> tuple[float, Cost]:
    """Records per second that kafka-consumer-perf-test reports, including its group's rebalance, and its cost."""
    bench.console.print(f"kafka-consumer-perf-test in {region.alias}")
    user = region.users["app"]
    login = "org.apache.kafka.common.security.plain.PlainLoginModule required"
    with tempfile.NamedTemporaryFile("w", suffix=".properties") as properties:
        properties.write(
            "security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\n"
            f'sasl.jaas.config={login} username="{user.name}" password="{user.password}";\n'
            f"ssl.truststore.type=PEM\nssl.truststore.location={region.ca_file}\n"
        )
        properties.flush()
        command = [
            str(bench.built.jdk.java), "-Xmx512m", "-cp", f"{bench.built.connect_lib}/*",
            "org.apache.kafka.tools.ConsumerPerformance", "--bootstrap-server", region.bootstrap_servers,
            "--topic", topic, "--num-records", str(records), "--group", f"perf-{topic}-{records}",
            "--command-config", properties.name, "--timeout", "60000",
        ]  # fmt: skip
        cost, printed, _ = measured(command, os.environ)
    figures = [line.split(", ") for line in printed.splitlines() if line[:2] == "20"]
    if not figures or int(figures[-1][4]) < records:
        raise CannotRunError(
            "not-read",
            "kafka-consumer-perf-test did not read every record",
            topic,
            "Its rate would mean nothing.",
            "see that the region runs",
        )
    return float(figures[-1][5]), cost
