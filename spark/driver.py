"""Starts the validation job in a driver pod that Spark created: `python -m kafka_replication.spark.driver driver …`.

In cluster mode spark-submit creates the pod and appends these arguments to its command; a file holds the settings of
the session. The job then runs as in any other pod: it starts its own JVM, and executors once it needs them.
Source: Spark 4.2, DriverCommandFeatureStep, and resource-managers/kubernetes/docker, entrypoint.sh.
"""

import os
import re
import signal
import sys
from collections.abc import Mapping
from pathlib import Path

from kafka_replication.components.contract.spark_conf import DRIVER_HEAP
from kafka_replication.spark.read.sessions import SessionOptions, begin_jvm

#: The only application of this image.
APPLICATION = "validate.py"
#: The variable with the address of the pod, to which the driver's Service also leads.
_ADDRESS = "SPARK_DRIVER_BIND_ADDRESS"
_MASTER, _MEMORY = "spark.master", "spark.driver.memory"
#: Settings of the submission only: this process starts the JVM itself, in client mode.
_OF_THE_SUBMISSION = frozenset(
    {_MASTER, _MEMORY, "spark.submit.deployMode", "spark.submit.pyFiles", "spark.kubernetes.submitInDriver"}
)
_LINE = re.compile(r"((?:\\.|[^\\=])*)=(.*)", re.DOTALL)
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|(.))")
_CONTROL = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_WRONG_USE = 2


def stored_properties(text: str) -> dict[str, str]:
    """Return the properties that a Java program has stored, one a line. Source: java.util.Properties.store.

    Java does not escape characters that only Python takes for the end of a line, such as U+2028. Raises ValueError for
    a line that Java would not write.
    """
    properties = {}
    for line in (line.removesuffix("\r") for line in text.split("\n")):
        if line and not line.startswith("#"):
            match = _LINE.fullmatch(line)
            if match is None:
                raise ValueError(f"{line.partition('=')[0]} is not a property with its value")
            properties[_unescaped(match[1])] = _unescaped(match[2])
    return properties


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(lambda match: chr(int(match[1], 16)) if match[1] else _CONTROL.get(match[2], match[2]), text)


def session_options(settings: Mapping[str, str], address: str) -> SessionOptions:
    """Return the session that was submitted, with its driver at this address; raises KeyError for a missing setting."""
    conf = {key: value for key, value in settings.items() if key not in _OF_THE_SUBMISSION}
    conf |= {"spark.driver.host": address, "spark.driver.bindAddress": address}
    return SessionOptions(settings[_MASTER], None, settings.get(_MEMORY, DRIVER_HEAP), conf)


def main(arguments: list[str]) -> int:
    """Run the job and return its exit code."""
    match arguments:
        case ["driver", "--properties-file", file, "--class", _, application, *given] if (
            Path(application).name == APPLICATION
        ):
            pass
        case _:
            print(
                f"Spark starts this in a driver pod that it has made for {APPLICATION}, with the arguments "
                "`driver --properties-file FILE --class CLASS local:///…`.",
                file=sys.stderr,
            )
            return _WRONG_USE
    try:
        options = session_options(stored_properties(Path(file).read_text(encoding="utf-8")), os.environ[_ADDRESS])
    except KeyError as missing:
        print(f"Spark did not set {missing}.", file=sys.stderr)
        return _WRONG_USE
    except ValueError as error:
        print(f"{file}: {error}.", file=sys.stderr)
        return _WRONG_USE
    # As in validate.py.
    begin_jvm(options)
    from kafka_replication.spark.command_line import entry

    return entry(given, options)


if __name__ == "__main__":
    # As in validate.py.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(main(sys.argv[1:]))
