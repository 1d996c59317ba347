"""Runs lines that name Kafka's own tools, as an administrator of a region of the local stack."""

import shlex
import subprocess
from pathlib import Path

from kafka_replication.infra.local.endpoints import ADMIN, Region
from kafka_replication.infra.machine import toolchain
from kafka_replication.infra.machine.jdk import class_archive, find_jdk

_TOOLS = {
    "kafka-acls.sh": "org.apache.kafka.tools.AclCommand",
    "kafka-configs.sh": "kafka.admin.ConfigCommand",
}


def run_lines(region: Region, lines: list[str], folder: Path, **variables: str) -> str:
    """Return what the lines print; they connect by the shell variables of the region that printed lines name."""
    properties = folder / f"{region.alias}.properties"
    properties.touch(mode=0o600)
    admin = region.users[ADMIN]
    login = f'PlainLoginModule required username="{admin.name}" password="{admin.password}";'
    properties.write_text(
        "security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\nssl.truststore.type=PEM\n"
        f"ssl.truststore.location={region.ca_file}\n"
        f"sasl.jaas.config=org.apache.kafka.common.security.plain.{login}\n"
    )
    jdk, jars = find_jdk(), toolchain.CONNECT.directory / "*"
    # Without a configuration, they log errors only.
    java = (
        jdk.java,
        "-Xmx128m",
        "-XX:+UseSerialGC",
        "-XX:TieredStopAtLevel=1",
        *class_archive(jdk, "tools", jars),
        "-cp",
        jars,
    )
    tools = [f'{name}() {{ {shlex.join(map(str, (*java, main_class)))} "$@"; }}' for name, main_class in _TOOLS.items()]
    connection = {f"{region.alias.upper()}_SERVERS": region.bootstrap_servers}
    connection[f"{region.alias.upper()}_CONFIG"] = str(properties)
    script = "\n".join([*tools, *lines])
    ran = subprocess.run(
        ["bash", "-euc", script], env={**connection, **variables}, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout
