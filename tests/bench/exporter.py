"""What one scrape of `replicate exporter` costs: bytes and time, for a small flow and one of 2,000 partitions.

No cluster is asked, because a scrape never asks one. `make bench` runs it.
"""

import sys
import time

from kafka_replication.infra.operate.status.document import FlowStatus, GroupStatus
from kafka_replication.infra.operate.status.exporter import Newest
from tests.infra.operate.status.exported import a_document, a_lag, a_status, behind, scraped, some_groups

_WORST = 20
_SCRAPES = 20


def main() -> int:
    print("partitions  groups  series  bytes  taking a look ms  scrape ms")
    for partitions, groups in ((6, 3), (2_000, 500)):
        newest = Newest(_WORST, every_seconds=60)
        document = a_document(_flow(partitions, groups))
        began = time.perf_counter()
        newest.take(document, {"prod": {}})
        taken = time.perf_counter() - began
        times = []
        for _ in range(_SCRAPES):
            began = time.perf_counter()
            text = scraped(newest)
            times.append(time.perf_counter() - began)
        series = sum(not line.startswith("#") for line in text.splitlines())
        row = f"{partitions:10d} {groups:7d} {series:7d} {len(text.encode()):6d}"
        print(f"{row} {taken * 1000:17.2f} {sorted(times)[_SCRAPES // 2] * 1000:10.2f}")
    return 0


def _flow(partitions: int, groups: int) -> FlowStatus:
    """A flow in which every partition is behind, and every group would read records again."""
    topics = (
        behind(f"payments-eu-central-{number // 20}-{number % 20}", number, number) for number in range(partitions)
    )
    of_groups = (GroupStatus(name=f"checkout-service-{number}", records=number) for number in range(groups))
    return a_status(lag=a_lag(topics, of=partitions), read_again=some_groups(*of_groups))


if __name__ == "__main__":
    sys.exit(main())
