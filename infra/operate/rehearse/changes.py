"""What the runbook says about changes in several steps: rotating a credential, and switching exactly-once on."""

from collections.abc import Iterator

from components.flows.resolved import ResolvedFlow, config_values
from components.kafka.replication_policy import SIDES
from components.topology.clusters import Cluster, ConfigValue
from components.topology.model import ExactlyOnce
from infra.operate.rehearse import names
from infra.operate.rehearse.model import Do, RunbookModel, Section, steps


def sections(model: RunbookModel) -> Iterator[Section]:
    """The two sections."""
    rotate = "a credential has to be rotated?"
    yield Section("Rotate a credential", rotate, tuple(_rotate(model)))
    once = "exactly-once has to be switched on?"
    yield Section("Switch exactly-once on", once, tuple(_exactly_once(model)))


def _rotate(model: RunbookModel) -> Iterator[str]:
    if model.on_this_machine:
        yield "Nothing: `replicate local up` makes the credentials of this stack, and they exist on this machine only."
        return
    aliases = [each for each in sorted(model.settings.topology.clusters) if _has_credentials(model, each)]
    if not aliases:
        yield "Nothing: no cluster of these flows asks for a login."
        return
    yield "Replication pauses for the seconds in which connectors restart, and goes on where it stopped."
    for alias in aliases:
        yield from ("", f"### A credential for {alias}", "", *_rotate_one(model, alias))


def _has_credentials(model: RunbookModel, alias: str) -> bool:
    return any(
        names.connector_credentials(flow, side) or names.validation_credentials(flow, side)
        for flow in model.flows
        for side in SIDES
        if flow.alias(side) == alias
    )


def _rotate_one(model: RunbookModel, alias: str) -> Iterator[str]:
    cluster = model.settings.topology.clusters[alias]
    configured = _configured(cluster)
    raised = cluster.credentials_revision + 1
    own = Do(
        "In a Secret of your own: write it there. Connectors keep the old value until you raise "
        f"`clusters.{alias}.credentialsRevision` from {cluster.credentials_revision} to {raised} in "
        f"`{model.topology_file}`."
    )
    config = Do(
        "In the stack's configuration: set the one key that changes. Pulumi asks for the value:",
        tuple(f"pulumi config set --secret replication:{key} --stack {model.stack}" for key in configured),
    )
    kept = [*([config] if configured else []), *([own] if _has_own_secrets(cluster) else [])]
    yield from steps(
        Do(
            "Make the new credential in Kafka. Let the old one stay valid if the cluster can. "
            "[Credentials](#credentials) says where it is kept."
        ),
        *kept,
        Do("See that nothing but credentials changes:", (f"replicate diff {model.stack} --against cluster",)),
        Do("Deploy it. The connectors that read it restart:", (f"replicate up {model.stack}",)),
        Do(
            "Prove it: every task runs, and records cross.",
            (f"replicate status {model.stack}", f"replicate validate {model.stack}"),
        ),
        Do("Take the old credential away in Kafka, and prove it again.", (f"replicate validate {model.stack}",)),
    )


def _configured(cluster: Cluster) -> list[str]:
    """Configuration keys of the cluster's credentials."""
    address = cluster.bootstrap_servers
    keys = {value.config for value in config_values(cluster)}
    return sorted(keys - ({address.config} if isinstance(address, ConfigValue) else set()))


def _has_own_secrets(cluster: Cluster) -> bool:
    """Whether a credential is in a Secret that the stack does not make."""
    return '"secret":' in cluster.model_dump_json()


def _exactly_once(model: RunbookModel) -> Iterator[str]:
    yield "With exactly-once, a worker that dies repeats no record. Workers that run get there in two deployments. In"
    yield "one, new workers would fence out the old ones, so `replicate up` refuses it."
    by_key: dict[str, ResolvedFlow] = {}
    for flow in model.flows:
        by_key.setdefault(flow.expanded.where("exactlyOnce"), flow)
    for key, flow in by_key.items():
        yield from ("", f"### {flow.expanded.replication}", "", *_switch_on(model, key, flow.settings.exactly_once))


def _switch_on(model: RunbookModel, key: str, now: ExactlyOnce) -> Iterator[str]:
    if now is ExactlyOnce.ENABLED:
        yield f"It is on: `{key}: enabled`."
        return
    yield f"Now: `{key}: {now.value}`."
    yield ""
    yield from steps(
        *([] if now is ExactlyOnce.PREPARING else _step(model, key, ExactlyOnce.PREPARING)),
        Do(
            "Every worker is prepared if `up` ended without an error. Are you not sure? Run it again: it changes "
            "nothing, and waits until the operator reports every worker ready.",
            (f"replicate up {model.stack}",),
        ),
        *_step(model, key, ExactlyOnce.ENABLED),
        Do(
            "Prove that every task runs and that records cross. Duplicates are an error from now on.",
            (f"replicate status {model.stack}", f"replicate validate {model.stack}"),
        ),
    )


def _step(model: RunbookModel, key: str, wanted: ExactlyOnce) -> list[Do]:
    """The step for one of the two deployments."""
    return [
        Do(
            f"Set `{key}: {wanted.value}` in `{model.topology_file}`, and grant what is missing of the ACLs for it:",
            (f"replicate acls {model.stack} --commands",),
        ),
        Do("Deploy it. Every worker restarts, one after the other:", (f"replicate up {model.stack}",)),
    ]
