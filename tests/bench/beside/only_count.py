"""Reads both sides of a flow as the job does, and only counts the records: the rest of the job's time is its own.

It is started as a process: arguments are the folder of the jars and a file with the flow's parameters.
"""

import sys
from pathlib import Path

from kafka_replication.components.contract.parameters import FlowParameters
from kafka_replication.spark.read.credentials import resolver
from kafka_replication.spark.read.flows import open_flow
from kafka_replication.spark.read.sessions import SessionOptions, Spark, session
from tests.bench.size_run import CORES, DRIVER_MEMORY


def main() -> None:
    options = SessionOptions(f"local[{CORES}]", Path(sys.argv[1]), DRIVER_MEMORY)
    parameters = FlowParameters.model_validate_json(Path(sys.argv[2]).read_text())
    with (
        session(options) as spark,
        open_flow(parameters, Spark(lambda: spark, spark), resolver(), lambda _: None) as flow,
    ):
        here = flow.replicated_partitions()
        there = [flow.policy.remote_partition(partition) for partition in here]
        source = flow.read(flow.source, flow.source.logs(here))
        target = flow.read(flow.target, flow.target.logs(there))
        print(source.unionByName(target).count())


if __name__ == "__main__":
    main()
