"""Drills of `--fence`: a super user who still writes is reported, and nobody else can write."""

from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.components.kafka.acls import CLUSTER_NAME
from kafka_replication.components.render.flow_acls import Acl
from kafka_replication.infra.local.acls import apply_acls
from tests.bench.drill_commands import Drills
from tests.bench.drill_counting import everything, stand, synced
from tests.bench.drill_moves import counted_back, fill, moved, options, resumed, with_counts, work
from tests.bench.drill_rows import append
from tests.bench.drill_shapes import Shape
from tests.bench.drill_traffic import await_crossing, send, send_as_super_user, traffic

MAY_DENY = Acl("useast", "User:mirror", "cluster", "literal", CLUSTER_NAME, ("ALTER",))


def fenced(drills: Drills, shape: Shape) -> None:
    """Producers write while the command runs: first a super user, and then one whom the fence denies."""
    endpoints = drills.deployed.endpoints
    apply_acls(drills.source, [MAY_DENY])
    fill(drills, shape, drills.seed + 5)
    call = ("failover", shape.flow, "--fence", "--watch-seconds", "3")
    groups = stand(drills.source, shape, "fenced", drills.seed)
    with traffic(endpoints, shape, drills.seed + 6, send_as_super_user):
        caught = drills.call(*call, *options(groups))
    expect(caught.returncode == 1 and "fence-bypassed: " in caught.stderr, caught.stdout + caught.stderr)
    await_crossing(endpoints, shape)
    own = synced(drills.target, shape, groups)
    with traffic(endpoints, shape, drills.seed + 7):
        document, row = moved(drills, shape, "planned with `--fence`", [call], groups)
    if document is None:
        append(drills.rows, row)
        return
    expect(denied(drills, shape), "producers can write although the fence stands")
    append(drills.rows, with_counts(drills, shape, row, groups, own))
    if shape.turned:
        answer = drills.call("failover", shape.flow, "--lift-fence")
        expect(answer.returncode == 0, answer.stdout + answer.stderr)
    else:
        consumed = work(drills, shape, groups)
        sent, _ = drills.logs(shape)
        document, row = moved(drills, shape, "back after `--fence`", [("failback", shape.flow)], groups)
        append(drills.rows, row if document is None else counted_back(drills, row, everything(sent), consumed, sent))
    expect(not denied(drills, shape), "producers cannot write although the fence is lifted")
    resumed(drills, shape.flow)


def denied(drills: Drills, shape: Shape) -> bool:
    """Whether a producer is refused."""
    try:
        send(drills.deployed.endpoints, shape, 3, drills.seed + 8)
    except CannotRunError as error:
        expect("uthoriz" in str(error), str(error))
        return True
    return False


def expect(holds: bool, otherwise: str) -> None:
    if not holds:
        raise RuntimeError(otherwise)
