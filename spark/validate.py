"""Starts the validation job: `python spark/validate.py …` or `spark-submit spark/validate.py …`."""

import signal
import sys
from pathlib import Path

if __name__ == "__main__":
    # Python puts the folder of a script first on its path; the package is the folder above. Under --py-files the
    # packages are already on the path, and this file may be anywhere.
    sys.path[0] = str(Path(__file__).resolve().parent.parent)
    # Ctrl-C ends the process at once and without a trace. Spark's JVM ends with it, and nothing has to be undone.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from spark.arguments import parser, session_options
    from spark.read.sessions import begin_jvm

    # The JVM starts while everything else is imported, which takes about as long.
    begin_jvm(session_options(parser().parse_args()))
    from spark.command_line import entry

    sys.exit(entry())
