"""Documents that outlive the version that writes them, as today's program writes them.

`tests/documents` keeps those of each version, and topologies that it accepted. Before a release, `python -m
tests.written_documents` writes them again; what a released version wrote stays as it is.
"""

import json
import sys
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from kafka_replication.components.contract.evidence import Proven, ProvenTopic, PublishedPositions, SpannedTopic
from kafka_replication.components.contract.evidence import uncompressed as unpacked
from kafka_replication.components.contract.published_verdict import BINARY, REPORT, History, verdict_data
from kafka_replication.components.contract.report import Verdict
from kafka_replication.components.kafka.proven_positions import ProvenPosition, Span
from kafka_replication.components.render.job_parameters import job_parameters
from kafka_replication.infra.deploy.promotion.rule.evidence import Evidence, FlowEvidence, evidence_config_map
from kafka_replication.infra.deploy.promotion.rule.rules import CheckResult, FlowProof
from kafka_replication.infra.operate.rehearse.drill import DrillRecord, DrillStep
from kafka_replication.spark.report.failover import past_verdict
from tests import release
from tests.builders import a_cluster, a_resolved_flow
from tests.repository import ROOT
from tests.spark import reports

DOCUMENTS = ROOT / "tests" / "documents"
_TIME = datetime(2026, 11, 22, 15, 21, 57, tzinfo=UTC)


def parameters() -> dict[str, Any]:
    """What a deployed stack keeps in its outputs for the validation job."""
    keystore = {"trust": {"secret": "ca", "key": "ca.p12", "format": "PKCS12", "password": {"config": "p"}}}
    token = {"type": "oauth", "accessToken": {"secret": "login", "key": "token"}}
    clusters = {
        "useast": a_cluster(validation={"authentication": {"type": "tls", "secret": "validator"}}),
        "uswest": a_cluster("us-west-2", tls=keystore, authentication=token),
    }
    sources = {"bulk": {"topics": ["logs-.*"]}, "rest": {"topics": ["orders"]}}
    ledger = a_resolved_flow(
        clusters,
        "ledger",
        policy="identity",
        startFrom="latest",
        loopGuard=True,
        topics=[],
        connectors={"sources": sources},
    )
    return job_parameters("local", (a_resolved_flow(), ledger)).document()


def verdict() -> dict[str, Any]:
    """The entries of a published verdict: the report, and the history, evidence and positions, unpacked."""
    spans = {0: Span(0, 200, 5, 205, dense=True), 1: Span(10, 40, 10, 44, dense=False)}
    positions = {("checkout-web", "orders", 1): ProvenPosition(30, 28, 2)}
    published = PublishedPositions(
        "sha256:0f", reports.TIME, {"orders": SpannedTopic("S", "T", spans)}, positions, left_out=3
    )
    proven = {
        "orders": ProvenTopic(
            "S", "T", compacted=False, partitions={0: Proven(0, 200, 5, 205, 200, 1_795_000_000, unmoved=False)}
        )
    }
    flow = replace(
        reports.flow("orders", "useast", "uswest", replace(reports.parity(), proven=proven)),
        positions=published,
        began_at="2026-11-22T15:21:00+00:00",
        topic_ids={"useast": {"orders": "S"}, "uswest": {"useast.orders": "T"}},
    )
    history = History(dropped=2, lost=("noticed earlier",)).followed_by(past_verdict(flow))
    data = verdict_data(flow, "2026-11-21T09:00:00+00:00", history)
    plain = {key: json.loads(value) if key == REPORT else value for key, value in data.items() if key not in BINARY}
    return plain | {key: unpacked(value) for key, value in data.items() if key in BINARY}


def promotion() -> dict[str, Any]:
    """The data of the ConfigMap in which a promotion records what a stack has proven."""
    check = CheckResult(Verdict.PASS.value, "6 of 6 partitions", {"no-offset-sync": "billing starts at the earliest"})
    flow = FlowEvidence("mirror-orders", FlowProof("sha256:0f", "pass", _TIME, checks={"parity": check}))
    evidence = Evidence("prod", "sha256:1e", _TIME, _TIME, "ann", {"orders": flow}, _TIME, "the first region")
    data: dict[str, Any] = evidence_config_map(evidence, "promotion")["data"]
    return data


def drill() -> dict[str, Any]:
    """The file that a drill leaves for the runbook."""
    steps = (DrillStep(name="failover", seconds=12.5), DrillStep(name="failback", seconds=9.0))
    record = DrillRecord(
        flow="orders",
        at=reports.TIME,
        passed=True,
        partitions=3,
        expected=1200,
        skipped=0,
        announced=14,
        announced_at_least=False,
        read_again=14,
        steps=steps,
    )
    return record.model_dump(mode="json", by_alias=True)


def written() -> Mapping[str, Any]:
    """Every document by the name of its file."""
    return {
        "parameters": parameters(),
        "report": reports.troubled().document(),
        "verdict": verdict(),
        "promotion": promotion(),
        "drill": drill(),
    }


def main() -> int:
    """Write today's documents, unless the changelog says that this version is released."""
    version = release.project()["version"]
    try:
        release.notes(f"v{version}", version, release.CHANGELOG.read_text())
    except ValueError:
        folder = DOCUMENTS / version
        folder.mkdir(parents=True, exist_ok=True)
        for name, document in written().items():
            (folder / f"{name}.json").write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n")
        return 0
    print(f"{version} is released. Remedy: raise the version in pyproject.toml first.", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
