"""Starts the validation job: `python spark/validate.py …` or `spark-submit spark/validate.py …`."""

import signal
import sys

if __name__ == "__main__":
    # Python puts the folder of a script first on its path. The package is installed, or given by --py-files.
    del sys.path[0]
    # Ctrl-C ends the process at once and without a trace. Spark's JVM ends with it, and nothing has to be undone.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from kafka_replication.spark.arguments import parser, session_options
    from kafka_replication.spark.read.sessions import begin_jvm

    # The JVM starts while everything else is imported, which takes about as long.
    begin_jvm(session_options(parser().parse_args()))
    from kafka_replication.spark.command_line import entry

    sys.exit(entry())
