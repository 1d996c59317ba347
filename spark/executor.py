"""Starts a Spark executor in its pod. Source: Spark 4.2, resource-managers/kubernetes/docker, entrypoint.sh."""

import os
import re
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

_BACKEND = "org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend"
_JAVA_OPTION = re.compile(r"SPARK_JAVA_OPT_([0-9]+)")
#: The options of the backend, and which variable of the pod has the value of each.
_OPTIONS = {
    "--driver-url": "SPARK_DRIVER_URL",
    "--executor-id": "SPARK_EXECUTOR_ID",
    "--cores": "SPARK_EXECUTOR_CORES",
    "--app-id": "SPARK_APPLICATION_ID",
    "--hostname": "SPARK_EXECUTOR_POD_IP",
    "--resourceProfileId": "SPARK_RESOURCE_PROFILE_ID",
    "--podName": "SPARK_EXECUTOR_POD_NAME",
}
_MEMORY = "SPARK_EXECUTOR_MEMORY"
_LOG4J = Path(__file__).resolve().parent / "log4j2.properties"
_WRONG_USE = 2


def executor_command(variables: Mapping[str, str], spark_home: Path) -> list[str]:
    """Return the command of an executor's JVM; raises KeyError, with the name of a variable that Spark did not set."""
    options = {int(match[1]): value for name, value in variables.items() if (match := _JAVA_OPTION.fullmatch(name))}
    home = variables.get("JAVA_HOME")
    memory = variables[_MEMORY]
    class_path = [str(spark_home / "jars" / "*"), variables.get("SPARK_CLASSPATH", "")]
    return [
        str(Path(home) / "bin" / "java") if home else "java",
        f"-Dlog4j2.configurationFile=file:{_LOG4J}",
        *(options[number] for number in sorted(options)),
        f"-Xms{memory}",
        f"-Xmx{memory}",
        *("-cp", os.pathsep.join(entry for entry in class_path if entry)),
        _BACKEND,
        *(part for option, name in _OPTIONS.items() for part in (option, variables[name])),
    ]


def main(arguments: list[str]) -> int:
    """Become the executor; returns only if that is not possible, with an exit code."""
    if arguments != ["executor"]:
        print("Spark starts this in its executor pods, with the one argument `executor`.", file=sys.stderr)
        return _WRONG_USE
    pyspark = find_spec("pyspark")
    if pyspark is None or pyspark.origin is None:
        print("pyspark is not installed.", file=sys.stderr)
        return _WRONG_USE
    try:
        command = executor_command(os.environ, Path(pyspark.origin).parent)
    except KeyError as missing:
        print(f"Spark did not set the variable {missing}.", file=sys.stderr)
        return _WRONG_USE
    # Spark writes the jars that it gets from the driver into the current folder. That of the image is read-only.
    os.chdir(os.environ.get("HOME", "."))
    try:
        os.execvp(command[0], command)
    except OSError as error:
        print(f"{command[0]}: {error.strerror}; set JAVA_HOME to a JDK of version 17 or later.", file=sys.stderr)
        return _WRONG_USE


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
