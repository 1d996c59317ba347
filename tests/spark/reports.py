"""Reports as the job writes them: two regions where everything is proven, and three where much is not."""

from kafka_replication.components.contract.report import (
    CheckName,
    CheckOutcome,
    Coverage,
    Finding,
    FindingSeverity,
    FlowOutcome,
    Report,
    error,
    fail,
    note,
)

TIME = "2026-11-22T15:21:57+00:00"


def access() -> CheckOutcome:
    coverage = Coverage("permissions", 43, {})
    return CheckOutcome(CheckName.ACCESS, "0 of 43 permissions are missing", {"missing": 0}, coverage=coverage)


def connectors(*findings: Finding, behind: int = 3) -> CheckOutcome:
    summary = f"3 of 3 connectors run, with 5 tasks; stored offsets of 6 partitions, at most {behind} behind the source"
    counts = {"connectors": 3, "running": 3, "tasks": 5, "offsetsBehind": behind, "newestSyncSeconds": 12}
    return CheckOutcome(CheckName.CONNECTORS, summary, counts, findings, coverage=Coverage("connectors", 3, {}))


def heartbeats(*findings: Finding, observed: int = 9, p50: int = 348, longest: int = 632) -> CheckOutcome:
    counts = {"heartbeats": 104, "newestAgeMs": 540, "observed": observed, "latencyResolutionMs": 210}
    latencies = {"latencyP50Ms": p50, "latencyP99Ms": longest, "latencyMaxMs": longest} if observed else {}
    summary = "104 heartbeats, the newest 0.5 s old"
    return CheckOutcome(
        CheckName.HEARTBEATS, summary, counts | latencies, findings, coverage=Coverage("heartbeats", 104, {})
    )


def group(name: str, offsets: int = 6, wrong: int = 0, again: int = 0) -> dict[str, str | int | float | bool | None]:
    return {"group": name, "committedOffsets": offsets, "proven": offsets - wrong, "wrong": wrong, "readAgain": again}


def offsets(*findings: Finding, groups: tuple[dict[str, str | int | float | bool | None], ...] = ()) -> CheckOutcome:
    rows = groups or (group("checkout-web", again=11), group("checkout-mobile", again=3), group("checkout-audit", 2))
    committed, proven, again = (
        sum(int(str(row[each])) for row in rows) for each in ("committedOffsets", "proven", "readAgain")
    )
    not_judged = {
        each.code: each.count for each in findings if each.severity in (FindingSeverity.ERROR, FindingSeverity.ACCEPTED)
    }
    return CheckOutcome(
        CheckName.OFFSETS,
        f"{proven} of {committed} committed offsets of {len(rows)} groups proven by their records",
        {
            "groups": len(rows),
            "committedOffsets": committed,
            "proven": proven,
            "readAgain": again,
            "exactPositions": committed,
        },
        findings,
        ({"group": rows[0]["group"], "topic": "orders", "partition": 0, "committed": 118, "sourceOffset": None},),
        Coverage("committed offsets", committed - sum(not_judged.values()), not_judged),
        rows,
    )


def topic(name: str, records: int, lacking: int = 0) -> dict[str, str | int | float | bool | None]:
    equal = 2 if lacking else 3
    return {
        "topic": name,
        "partitions": 3,
        "sourceRecords": records,
        "targetRecords": records - lacking,
        "agreeingPartitions": equal,
    }


def parity(*findings: Finding, topics: tuple[dict[str, str | int | float | bool | None], ...] = ()) -> CheckOutcome:
    rows = topics or (topic("orders", 4000), topic("payments-eu", 1_250_400))
    records = sum(int(str(row["sourceRecords"])) for row in rows)
    summary = f"{records} source records in {3 * len(rows)} partitions"
    counts = {"sourceRecords": records, "partitions": 3 * len(rows)}
    coverage = Coverage("partitions", 3 * len(rows), {})
    return CheckOutcome(CheckName.PARITY, summary, counts, findings, coverage=coverage, rows=rows)


def retention() -> CheckOutcome:
    summary = "0 offsets lost in 6 partitions; the source has removed nothing in 6 of them"
    return CheckOutcome(CheckName.RETENTION, summary, {"lost": 0}, coverage=Coverage("partitions", 6, {}))


def checks(*instead: CheckOutcome) -> tuple[CheckOutcome, ...]:
    """All checks of a flow: the given ones, and for the others an outcome that passes."""
    every = {each.name: each for each in (access(), connectors(), heartbeats(), offsets(), parity(), retention())}
    return tuple((every | {each.name: each for each in instead}).values())


def flow(
    name: str = "orders",
    source: str = "useast",
    target: str = "uswest",
    *instead: CheckOutcome,
    failure: Finding | None = None,
) -> FlowOutcome:
    found = () if failure else checks(*instead)
    digest = "sha256:0f"
    return FlowOutcome(name, "mirror-" + name, digest, source, target, "default", TIME, found, failure, {}, name)


def a_report(*flows: FlowOutcome, failure: Finding | None = None) -> Report:
    return Report("local", TIME, 31.4, flows, failure)


def proven() -> Report:
    upstream = note("upstream-clusters", "heartbeats of these clusters arrive through useast: apac")
    return a_report(flow("orders", "useast", "uswest", heartbeats(upstream)), flow("ledger", "uswest", "useast"))


def troubled() -> Report:
    """A report with a failure, an error, an accepted finding, and a cluster that could not be reached."""
    missing = fail(
        "missing-records",
        "payments-eu: 120 records of useast are missing on uswest (partition 1 offsets 880 to 999). Remedy: find out "
        "with `replicate diff local --against cluster` whether the flow runs as declared. Do not fail over to uswest "
        "before this check passes",
        120,
    )
    expired = error(
        "target-expired",
        "group checkout-web on orders-0: the target no longer holds offset 45. Remedy: let the group consume on useast "
        "up to the records that uswest still holds, or set a longer `retention.ms` on uswest",
    )
    trusted = Finding(
        "no-offset-sync",
        FindingSeverity.ACCEPTED,
        "group billing on ledger-2: no checkpoint, because no offset sync exists for the partition",
        1,
        "billing starts at the earliest offset anyway",
    )
    unreachable = error(
        "unreachable",
        "no broker has answered, at cluster apac (kafka.apac.example:9093). The job reads from it. Remedy: check the "
        "address and the network",
    )
    groups = (group("checkout-web", 6, 1, 11), group("checkout-mobile", again=3), group("checkout-audit", 2))
    topics = (topic("payments-eu", 1_250_400, 120), topic("orders", 4000))
    return a_report(
        flow("orders", "useast", "uswest", offsets(expired, groups=groups), parity(missing, topics=topics)),
        flow("ledger", "uswest", "useast", offsets(trusted, groups=(group("billing", 4, 1, 2),))),
        flow("catalogue", "apac", "uswest", failure=unreachable),
    )
