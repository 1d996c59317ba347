"""Checks a stack's files: returns their mistakes, or the stack's flows if there are none.

Loads no engine and no client: a check in an editor or a hook must not wait for something that only a deployment
needs.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

from kafka_replication.components.checks import check_topology
from kafka_replication.components.checks.clusters import check_addresses
from kafka_replication.components.checks.replications import check_deployed
from kafka_replication.components.contract.grouping import grouped
from kafka_replication.components.contract.problems import (
    CannotRunError,
    Problem,
    ReplicationError,
    Severity,
    raise_errors,
    warning,
)
from kafka_replication.components.flows.expansion import expand
from kafka_replication.components.flows.resolved import config_keys, config_secrets
from kafka_replication.components.properties.definitions import nearest
from kafka_replication.components.properties.values import value_text
from kafka_replication.components.render.kafka_users import kafka_user_objects
from kafka_replication.components.render.planned_objects import PlannedObject
from kafka_replication.components.topology.clusters import Cluster, ConfigValue
from kafka_replication.components.topology.editor_schema import editor_schema
from kafka_replication.components.topology.in_cluster import InCluster
from kafka_replication.components.topology.model import Flow, Topology
from kafka_replication.infra.stack.environment import stack_environment
from kafka_replication.infra.stack.other_stacks import check_other_stacks
from kafka_replication.infra.stack.settings import (
    ALLOW_UNPROVEN,
    DEPLOY,
    DEPLOYERS,
    GITOPS,
    PROJECT,
    SETTINGS,
    VALIDATION,
    FormError,
    StackSettings,
    read_settings,
    regions_of_topology,
    stack_file,
)
from kafka_replication.infra.stack.validation_job import (
    WHERE,
    in_cluster,
    in_cluster_problems,
    spark_problems,
)
from kafka_replication.infra.stack.yaml_files import placed, shown

#: The keys of a stack file that Pulumi itself reads. Source: pulumi, sdk/go/common/workspace, ProjectStack.
PULUMI_KEYS = frozenset({"config", "environment", "secretsprovider", "encryptedkey", "encryptionsalt"})
#: Configuration of the Kubernetes provider. Source: pulumi-kubernetes, schema.json.
KUBERNETES_KEYS = tuple(
    f"kubernetes:{key}"
    for key in (
        *("kubeconfig", "context", "cluster", "namespace", "clusterIdentifier", "deleteUnreachable"),
        *("skipUpdateUnreachable", "enableServerSideApply", "enableConfigMapMutable", "enableSecretMutable"),
        *("alwaysRender", "strictMode", "renderYamlToDirectory", "suppressDeprecationWarnings"),
        *("suppressHelmHookWarnings", "suppressHelmReleaseWarnings", "helmReleaseSettings", "kubeClientSettings"),
    )
)
#: Values that are not reasons: the author took the key for a switch.
_NO_REASONS = ("", "true", "false", "yes", "no")


def problems_of_stack(stack: str, stacks: Path) -> list[Problem]:
    """Return every problem of a stack's files, sorted; a wrong form does not hide others. Raises CannotRunError."""
    try:
        return problems(read_settings(stack, stacks))
    except ReplicationError as error:
        further = _problems_left(error) if isinstance(error, FormError) else ()
        return sorted({*error.problems, *further})


def _problems_left(error: FormError) -> Iterator[Problem]:
    left, settings = error.left, error.settings
    of_each = (problem for alone in left.alone for problem in check_topology(alone))
    further = [problem for problem in of_each if problem.where.startswith("replications.")]
    certain = (each for each in (*_problems_of_topology(settings), *further) if left.is_certain(each.where))
    yield from placed(certain, settings.topology_file)
    file = stack_file(settings.stack, settings.stacks)
    if not any(path[0] == "clusters" for path in left.unknown):
        yield from placed(_check_stack(settings), file)
    if not stack_environment(settings).on_this_machine:
        yield from placed(_configuration_problems(settings, ()), file)


def problems(settings: StackSettings) -> list[Problem]:
    """Return every problem that can be found without a cluster and without Pulumi, sorted by where."""
    all_problems = [*_problems_of_files(settings), *placed(_check_coverage(settings), settings.topology_file)]
    all_problems += check_other_stacks(settings)
    refused = any(problem.severity is Severity.ERROR for problem in all_problems)
    # The local stack supplies configuration only while it runs, but a check must not require it to run.
    if not stack_environment(settings).on_this_machine:
        # The users' objects are rendered from a topology that has passed its checks.
        users = kafka_user_objects(settings.topology, settings.region) if not refused else ()
        all_problems += placed(_configuration_problems(settings, users), stack_file(settings.stack, settings.stacks))
    return sorted(set(all_problems))


def raise_mistakes(settings: StackSettings) -> tuple[Problem, ...]:
    """Raise a ReplicationError if the topology or the stack file has errors; otherwise return the warnings."""
    return raise_errors(_problems_of_files(settings))


def raise_without_stack(settings: StackSettings) -> None:
    """Raise a ReplicationError if a topology without a stack needs values that only a stack's configuration has."""
    file = settings.without_stack
    if file is None:
        return
    problems = [
        Problem(
            f"clusters.{alias}",
            "config-without-stack",
            f"{what} of `{alias}` is the configuration key `{key}`",
            "Only a stack has a configuration.",
            remedy,
        )
        for alias, cluster in settings.topology.clusters.items()
        for what, key, remedy in _values_of_a_stack(cluster)
    ]
    raise_errors(placed(problems, file))


def _values_of_a_stack(cluster: Cluster) -> Iterator[tuple[str, str, str]]:
    if isinstance(cluster.bootstrap_servers, ConfigValue):
        yield "the address", cluster.bootstrap_servers.config, "write the address there."
    own = cluster.validation is not None and cluster.validation.authentication is not None
    secrets = config_secrets(cluster)
    used = ({} if own else secrets["credentials"]) | secrets.get("validation", {})
    remedy = "name the Secret in the flow's namespace that has it, as `{secret: NAME, key: KEY}`."
    for credential in used.values():
        yield "a credential", credential.config, remedy


def raise_by_gitops(settings: StackSettings) -> None:
    """Raise a CannotRunError for a stack that Pulumi must not touch, because GitOps applies its objects."""
    if settings.by_gitops:
        raise CannotRunError(
            "deployed-by-gitops",
            f"stack `{settings.stack}` is not deployed by Pulumi",
            shown(stack_file(settings.stack, settings.stacks)),
            f"Its file says `{PROJECT}:{DEPLOY}: {GITOPS}`; two deployers would undo each other's changes.",
            f"to deploy it, commit what `replicate render {settings.stack} --out DIR` writes; to destroy it, delete "
            "those files where GitOps applies them. To let Pulumi deploy it, remove the key.",
        )


def _problems_of_files(settings: StackSettings) -> Iterator[Problem]:
    yield from placed(_problems_of_topology(settings), settings.topology_file)
    yield from placed(_check_stack(settings), stack_file(settings.stack, settings.stacks))


def _problems_of_topology(settings: StackSettings) -> Iterator[Problem]:
    yield from check_topology(settings.topology)
    yield from check_addresses(settings.topology, settings.values)


def _check_coverage(settings: StackSettings) -> Iterator[Problem]:
    """Check that the stacks of a topology deploy all its flows, as far as their files can be read."""
    regions, unread = regions_of_topology(settings.values["topology"], settings.stacks)
    known = {cluster.region for cluster in settings.topology.clusters.values()}
    if settings.region in {None, *known}:
        yield from check_deployed(settings.topology, settings.values["topology"], regions, unread)


def _check_stack(settings: StackSettings) -> Iterator[Problem]:
    """Yield the problems of the stack file itself: keys, region, deployer, Spark, reason for an unproven model."""
    regions = sorted({cluster.region for cluster in settings.topology.clusters.values()})
    yield from _unknown_keys(settings)
    yield from _stray_keys(settings)
    yield from _value_forms(settings)
    yield from spark_problems(settings.validation)
    wrong = list(in_cluster_problems(settings))
    yield from wrong or _check_keeper(settings)
    if settings.region is not None and settings.region not in regions:
        what = f"no cluster is in the region `{settings.region}`"
        why = f"The stack would deploy nothing. The regions are: {', '.join(regions)}."
        remedy = "set `replication:region` to one of these, or remove it to deploy all regions."
        yield Problem(f"config.{PROJECT}:region", "unknown-region", what, why, remedy)
    if settings.values.get(DEPLOY) not in {*DEPLOYERS, None}:
        what = f"`{DEPLOY}` is {settings.values[DEPLOY]!r}"
        remedy = f"set `{PROJECT}:{DEPLOY}: {GITOPS}` if Argo CD or Flux applies the stack's objects, or remove it."
        yield Problem(f"config.{PROJECT}:{DEPLOY}", "not-accepted", what, f"Accepted: {', '.join(DEPLOYERS)}.", remedy)
    if settings.allow_unproven is not None and settings.allow_unproven.strip().lower() in _NO_REASONS:
        what = f"`{ALLOW_UNPROVEN}` is {settings.allow_unproven!r}"
        why = "Outputs and evidence record it, so that readers learn why an unproven model was deployed."
        remedy = f"set `{PROJECT}:{ALLOW_UNPROVEN}` to a reason in words, or remove it."
        yield Problem(f"config.{PROJECT}:{ALLOW_UNPROVEN}", "unproven-without-reason", what, why, remedy)


def _unknown_keys(settings: StackSettings) -> Iterator[Problem]:
    """Yield the keys of the project that nothing reads: a misspelt `region` would deploy the flows of all regions."""
    known = sorted({*SETTINGS, *config_keys(settings.topology)})
    for key in sorted({*settings.values, *settings.secret_keys} - set(known)):
        near = nearest(key, known)
        what = f"`{PROJECT}:{key}` is not a key here"
        remedy = f"did you mean `{PROJECT}:{near}`?" if near else f"remove it; the keys here are {', '.join(known)}."
        yield Problem(f"config.{PROJECT}:{key}", "unknown-key", what, "It would have no effect.", remedy)


def _stray_keys(settings: StackSettings) -> Iterator[Problem]:
    """Yield keys of a stack file that look like ours but are elsewhere or under another prefix, so nothing reads them:
    `region` without its prefix would deploy the flows of all regions."""
    full = [f"{PROJECT}:{key}" for key in {*SETTINGS, *config_keys(settings.topology)}] + list(KUBERNETES_KEYS)
    by_name = {key.partition(":")[2]: key for key in reversed(full)}

    def likely(key: str) -> str | None:
        # Another provider's key, such as `aws:region`, resembles ours only in its name.
        return nearest(key, full) if ":" in key else by_name.get(nearest(key, by_name) or "")

    def stray(where: str, key: str, remedy: str) -> Problem:
        return Problem(where, "unknown-key", f"`{key}` is not a key here", "It would have no effect.", remedy)

    for key in map(str, settings.given.keys() - PULUMI_KEYS):
        top = nearest(key, PULUMI_KEYS)
        indented = f"indent it below `config:`, as `{likely(key) or key}`."
        yield stray(key, key, f"did you mean `{top}`?" if top else indented)
    config = settings.given.get("config")
    for key in map(str, config if isinstance(config, Mapping) else ()):
        prefix, meant = key.rpartition(":")[0], likely(key)
        if key in full or prefix == PROJECT or (prefix and meant is None):
            continue
        prefixed = f"remove it; keys here begin with `{PROJECT}:`."
        yield stray(f"config.{key}", key, f"did you mean `{meant}`?" if meant else prefixed)


def _value_forms(settings: StackSettings) -> Iterator[Problem]:
    """Yield own keys whose value is missing or not text: an empty `region` would deploy the flows of all regions."""
    config = settings.given.get("config")
    own = config.items() if isinstance(config, Mapping) else ()
    for key, value in own:
        prefix, _, name = str(key).partition(":")
        where = f"config.{key}"
        if prefix == PROJECT and value is None:
            what, why = f"`{key}` has no value", "It would be as if the key were not there."
            yield Problem(where, "not-accepted", what, why, "write a value, or remove the key.")
        elif prefix == PROJECT and name in SETTINGS and name != VALIDATION and isinstance(value, Mapping | list):
            what, why = f"`{key}` is {'a mapping' if isinstance(value, Mapping) else 'a list'}", "It has to be text."
            yield Problem(where, "wrong-type", what, why, f"write `{key}: VALUE`.")
        elif (prefix, name) == (PROJECT, "local") and value_text(value) not in ("true", "false"):
            why = "Accepted: true, false. The stack would be deployed to a real cluster."
            yield Problem(where, "not-accepted", f"`local` is {value!r}", why, f'set `{key}: "true"`, or remove it.')


def _check_keeper(settings: StackSettings) -> Iterator[Problem]:
    """A stack whose flows stop at a gap runs a keeper, which says where partitions start."""
    stopping = [flow for flow in _deployed(settings.topology, settings.region) if flow.on_loss is not None]
    asked = in_cluster(settings.validation)
    if stopping and (asked is None or not asked.keeps):
        yield warning(
            f"{WHERE}.inCluster.exporter.keep",
            "keeper-not-declared",
            f"`onLoss` of a flow from `{stopping[0].source}` is `stop`, and the stack runs no keeper",
            "A partition that has never been replicated starts only once a keeper has committed where. Until then, the "
            "task that it belongs to replicates nothing, not even other topics.",
            "set `inCluster: {image: IMAGE, exporter: {namespace: NAMESPACE, keep: true}}`; or remove `onLoss`; or let "
            "`replicate keep` always run elsewhere.",
        )


def check_configuration(settings: StackSettings) -> Iterator[Problem]:
    """Yield values that flows and KafkaUsers read from the configuration and that are missing or in plain text."""
    missing = _configuration_problems(settings, kafka_user_objects(settings.topology, settings.region))
    yield from placed(missing, stack_file(settings.stack, settings.stacks))


def _configuration_problems(settings: StackSettings, users: Iterable[PlannedObject]) -> Iterator[Problem]:
    of_users = ((key, (user.part, True)) for user in users for key in user.secret_values.values())
    for key, readers in sorted(grouped([*_read_by_flows(settings), *of_users]).items()):
        secret = any(is_secret for _, is_secret in readers)
        if secret and key in settings.values:
            why = "Anyone who reads the stack file could use the credential."
            remedy = f"run `pulumi config set --stack {settings.stack} --secret {PROJECT}:{key} VALUE`."
            yield Problem(f"config.{PROJECT}:{key}", "plain-text-secret", f"`{key}` is in plain text", why, remedy)
        elif key not in {*settings.values, *settings.secret_keys} and not (secret and settings.by_gitops):
            aliases = ", ".join(f"`{alias}`" for alias in sorted({alias for alias, _ in readers}))
            option = "--secret " if secret else ""
            what = f"configuration key `{key}` is not set for stack `{settings.stack}`"
            why = f"The topology reads {'a credential' if secret else 'the address'} of {aliases} from it."
            remedy = f"run `pulumi config set --stack {settings.stack} {option}{PROJECT}:{key} VALUE`."
            yield Problem(f"config.{PROJECT}:{key}", "missing-config", what, why, remedy)


def _read_by_flows(settings: StackSettings) -> Iterator[tuple[str, tuple[str, bool]]]:
    """Yield each configuration key that a cluster reads, with its alias and whether the key holds a credential."""
    topology = settings.topology
    sides = {side for flow in _deployed(topology, settings.region) for side in (flow.source, flow.target)}
    for alias in sorted(sides):
        cluster = topology.clusters[alias]
        if isinstance(cluster.bootstrap_servers, ConfigValue):
            yield cluster.bootstrap_servers.config, (alias, False)
        for secrets in config_secrets(cluster).values():
            for value in secrets.values():
                yield value.config, (alias, True)


def _deployed(topology: Topology, region: str | None) -> Iterator[Flow]:
    """Yield the flows whose target is in the region, except those that name an unknown cluster."""
    for flow in expand(topology):
        known = {flow.settings.source, flow.settings.target} <= topology.clusters.keys()
        if known and region in (None, topology.clusters[flow.settings.target].region):
            yield flow.settings


@cache
def stack_schema() -> str:
    """Return the JSON Schema of stack files as text, for editors; the checks decide what a stack file may hold."""
    in_cluster = editor_schema(InCluster)
    dialect, definitions = in_cluster.pop("$schema"), in_cluster.pop("$defs")
    # The topology names further keys. A misspelt key has neither an address nor an encrypted value.
    named = {
        "description": "What the topology names by `{config: KEY}`: `HOST:PORT` or a value that Pulumi encrypted.",
        "type": ["string", "object"],
        "pattern": ":[0-9]+",
        "required": ["secure"],
        "properties": {"secure": {"type": "string"}},
    }
    config = {
        "description": "The stack's configuration.",
        "type": "object",
        "properties": {f"{PROJECT}:{key}": form for key, form in SETTINGS.items()}
        | {key: {} for key in KUBERNETES_KEYS},
        "patternProperties": {
            f"^{PROJECT}:(?!({'|'.join(SETTINGS)})$)": named,
            f"^(?!{PROJECT}:|kubernetes:)[^:]+:": {"description": "A key of another provider."},
        },
        "additionalProperties": False,
        "required": [f"{PROJECT}:topology"],
    }
    schema = {
        "$schema": dialect,
        "$defs": {**definitions, "InCluster": {"type": "object", **in_cluster}},
        "description": "One stack: which topology, region and Kubernetes cluster, and how it is deployed.",
        "type": "object",
        "properties": {key: {} for key in PULUMI_KEYS} | {"config": config},
        "additionalProperties": False,
        "required": ["config"],
    }
    return json.dumps(schema, indent=2, sort_keys=True) + "\n"
