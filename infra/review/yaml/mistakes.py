"""The mistakes that the checks find in an import of the folder, and which of them are new. Pure."""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from components.checks import check_topology
from components.checks.double_replication import check_double_replication, check_group_offsets
from components.checks.loops import check_halves, check_loops
from components.contract.problems import CannotRunError, Problem, ReplicationError
from components.flows.expansion import expand
from components.kafka.plugins import BYTE_ARRAY_CONVERTER
from components.topology.parsing import parse_topology
from infra.onboard.importing.left_out import LeftOut
from infra.onboard.importing.mirrors import ends_of_mirrors
from infra.onboard.importing.reading import ReadInput
from infra.onboard.importing.topologies import ImportedTopology, imported_topologies
from infra.review.comparison import Mistake
from infra.review.yaml.objects import FolderObjects, Identity, identity_of

_NO_REGION = "imported"
_CONVERTER = re.compile(r"\.transforms\.converters\.(key|value|header)$")
_OF_CONVERTERS = frozenset({"bytes-become-text", "headers-become-text"})
#: Needed only for the validation of a project; a folder of YAML has none.
_OF_THE_VALIDATION = frozenset({"validation-needs-credentials"})


@dataclass(frozen=True)
class Checked:
    """What the checks of one side found and did not look at, and why they could not run, or not check all together."""

    mistakes: tuple[Mistake, ...]
    left_out: tuple[LeftOut, ...]
    apart: tuple[tuple[str, ...], ...] = ()
    because: str = ""
    failed: str = ""


def checked(side: FolderObjects, unclear: Collection[Identity]) -> Checked:
    """Check what can be judged of a folder."""
    judged = ReadInput(
        [read for read in side.found.objects if identity_of(read) not in unclear], left_out=side.found.left_out
    )
    try:
        topologies, left_out = imported_topologies(judged, None, _NO_REGION)
    except CannotRunError as error:
        return Checked((), tuple(side.found.left_out), failed=str(error))
    mistakes = [*_refused(side), *_disagreeing(left_out), *_each_once(topologies)]
    apart, because, whole = _together(topologies)
    known = {mistake.problem for mistake in mistakes}
    mistakes += [mistake for mistake in whole if mistake.problem not in known]
    not_checked = tuple(note for note in left_out if not note.mistake)
    return Checked(tuple(sorted(mistakes, key=lambda mistake: mistake.problem)), not_checked, apart, because)


def new_mistakes(before: Checked, after: Checked) -> tuple[Mistake, ...]:
    """Return the mistakes of the head; those that the base also has are not new."""
    old = {(mistake.problem.where, mistake.problem.code, mistake.problem.what) for mistake in before.mistakes}
    return tuple(
        replace(mistake, is_new=(mistake.problem.where, mistake.problem.code, mistake.problem.what) not in old)
        for mistake in after.mistakes
    )


def _refused(side: FolderObjects) -> Iterator[Mistake]:
    """Yield the resources that the operator refuses as a whole, so that their change never reaches Connect."""
    for read in side.read("KafkaMirrorMaker2").values():
        ends = ends_of_mirrors(read)
        if isinstance(ends, LeftOut):
            problem = Problem(ends.field, ends.code, "Connect never gets this resource", ends.why, ends.remedy)
            yield Mistake(problem, (f"{read.label} in {read.file}",))


def _disagreeing(left_out: Sequence[LeftOut]) -> Iterator[Mistake]:
    """Yield the disagreements of connectors that a topology cannot express, so its checks do not see them."""
    for note in left_out:
        if note.mistake:
            what = f"{note.obj} disagrees with its source connector"
            yield Mistake(Problem(note.field, note.code, what, note.why, note.remedy), (f"{note.obj} in {note.file}",))


def _each_once(topologies: Sequence[ImportedTopology]) -> Iterator[Mistake]:
    for topology in topologies:
        try:
            problems = sorted(set(check_topology(parse_topology(topology.document))))
        except ReplicationError as error:
            problems = list(error.problems)
        yield from (
            Mistake(_for_yaml(problem), _objects_of(problem.where, [topology]))
            for problem in problems
            if problem.code not in _OF_THE_VALIDATION
        )


def _for_yaml(problem: Problem) -> Problem:
    """Return the problem with a remedy for YAML, where a converter has a default that a topology does not have."""
    converter = _CONVERTER.search(problem.where)
    if converter is None or problem.code not in _OF_CONVERTERS:
        return problem
    remedy = f"set `{converter[1]}.converter: {BYTE_ARRAY_CONVERTER}` in the `config` of the source connector."
    return replace(problem, remedy=f"unless its transforms produce text on purpose, {remedy}")


def _together(topologies: Sequence[ImportedTopology]) -> tuple[tuple[tuple[str, ...], ...], str, list[Mistake]]:
    """Return loops and double replication between topologies that differ in logins or API versions. If an alias means
    two clusters, they are not checked together, and are returned with the reason."""
    if len(topologies) < 2:
        return (), "", []
    apart = tuple(tuple(made.name for made in one.imported) for one in topologies)
    clusters: dict[str, Any] = {}
    for topology in topologies:
        for alias, cluster in topology.clusters.items():
            if alias in clusters and not _same(clusters[alias], cluster):
                one, two = (f"`{given.get('bootstrapServers')}`" for given in (clusters[alias], cluster))
                return apart, f"alias `{alias}` is {one} in one of them and {two} in another", []
            clusters.setdefault(alias, cluster)
    whole = ImportedTopology(
        topologies[0].strimzi, clusters, [made for topology in topologies for made in topology.imported]
    )
    try:
        flows = expand(parse_topology(whole.document))
    except ReplicationError:
        return apart, "they do not form one topology", []
    problems = [
        *check_double_replication(flows),
        *check_group_offsets(flows),
        *check_loops(flows),
        *check_halves(flows),
    ]
    return (), "", [Mistake(problem, _objects_of(problem.where, [whole])) for problem in problems]


def _same(cluster: dict[str, Any], other: dict[str, Any]) -> bool:
    one, two = (str(given.get("bootstrapServers")) for given in (cluster, other))
    return not {server.strip() for server in one.split(",")}.isdisjoint(server.strip() for server in two.split(","))


def _objects_of(where: str, topologies: Sequence[ImportedTopology]) -> tuple[str, ...]:
    """Return the objects that a path of a topology concerns, each with its file."""
    top, _, rest = where.partition(".")
    made = [replication for topology in topologies for replication in topology.imported]
    named = [
        replication
        for replication in made
        if top == "replications" and (rest == replication.name or rest.startswith(f"{replication.name}."))
    ]
    if top == "clusters":
        named = [
            replication
            for replication in made
            if any(rest == alias or rest.startswith(f"{alias}.") for alias in replication.clusters)
        ]
    chosen = named or made
    return tuple(
        dict.fromkeys(f"{read.label} in {read.file}" for replication in chosen for read in replication.read[:1])
    )
