"""The review of a change to a folder of YAML: both sides are imported, checked, and compared as a stack is."""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from kafka_replication.components.checks import check_topology
from kafka_replication.components.checks.double_replication import check_double_replication, check_group_offsets
from kafka_replication.components.checks.loops import check_halves, check_loops
from kafka_replication.components.contract.grouping import grouped
from kafka_replication.components.contract.problems import CannotRunError, Problem, ReplicationError
from kafka_replication.components.flows.expansion import expand
from kafka_replication.components.flows.operators import STRIMZI_GROUP
from kafka_replication.components.kafka.plugins import BYTE_ARRAY_CONVERTER
from kafka_replication.components.topology.parsing import parse_topology
from kafka_replication.infra.onboard.importing.flows import Imported
from kafka_replication.infra.onboard.importing.left_out import LeftOut
from kafka_replication.infra.onboard.importing.mirrors import ends_of_mirrors
from kafka_replication.infra.onboard.importing.reading import ReadInput, dedicated_files
from kafka_replication.infra.onboard.importing.topologies import ImportedTopology, imported_topologies
from kafka_replication.infra.review.bases import branch_point, changed_paths
from kafka_replication.infra.review.comparison import Comparison, Mistake, Unjudged, compare, required_objects
from kafka_replication.infra.review.snapshots import Snapshot
from kafka_replication.infra.review.yaml.effects import (
    effects_at_rest,
    is_beside,
    object_effects,
    unclear_objects,
    unjudged_before,
    unjudged_fields,
    unjudged_files,
)
from kafka_replication.infra.review.yaml.folder import Files, files_at, files_now, may_matter, repository_of
from kafka_replication.infra.review.yaml.objects import (
    FolderObjects,
    ObjectId,
    changed_objects,
    side_of,
    states_of_both,
    workers_of_both,
)
from kafka_replication.infra.stack.yaml_files import shown

#: Files that people read and from which no tool generates objects.
_TEXTS = (".md", ".txt", "LICENSE", "CODEOWNERS", ".gitignore")
#: Groups and kinds of objects that are checked.
_CHECKED = (f"{STRIMZI_GROUP}/", "ConfigMap", "Secret", "Namespace")
_REPLICATING, _OTHERS = "replicating", "others"


@dataclass(frozen=True)
class CheckedObjects:
    """What the checks of one side found. `left_out` is what they do not cover, and `failed` says why they could not
    run. The replications in `apart` were not checked against each other; `because` says why."""

    mistakes: tuple[Mistake, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    apart: tuple[tuple[str, ...], ...] = ()
    because: str = ""
    failed: str = ""


@dataclass(frozen=True)
class FolderReview(Comparison):
    """A comparison of a folder of YAML, with what only a folder has. `existed` says whether the base has the folder.
    `beside` counts the changed objects of kinds that replication does not depend on, `ignored` all objects of kinds
    that are not checked. `unread` are changed files that are not YAML."""

    checked: CheckedObjects = CheckedObjects()
    existed: bool = True
    beside: Mapping[str, int] = field(default_factory=dict)
    ignored: Mapping[str, int] = field(default_factory=dict)
    unread: tuple[str, ...] = ()

    @property
    def has_errors(self) -> bool:
        """Return whether the change introduces an error, or leaves a changed file unreadable."""
        unreadable = any(not unjudged.obj and not unjudged.fields for unjudged in self.unjudged)
        return bool(self.checked.failed) or unreadable or super().has_errors


def review_folder(folder: Path, against: str | None, namespace: str | None) -> FolderReview:
    """Review a folder against the commit where its branch began. Raises CannotRunError if neither side has it."""
    home = repository_of(folder)
    commit = branch_point(against, home)
    before, after = files_at(commit, folder), files_now(folder)
    if not folder.is_dir() and not before.read:
        what, why = "the folder exists neither now nor at the base", "A review compares what the folder holds."
        raise CannotRunError("no-such-folder", what, str(folder), why, "name the folder of your YAML with `--yaml`.")
    label = f"{against or 'the main branch'} ({commit[:10]})"
    changed = changed_paths(commit, folder) if folder.is_dir() else ()
    unread = tuple(path for path in changed if not may_matter(path) and not path.endswith(_TEXTS))
    dedicated = tuple(shown(file) for file in dedicated_files(folder))
    return replace(review_files(shown(folder), label, before, after, namespace, dedicated), unread=unread)


def review_files(
    folder: str, label: str, before: Files, after: Files, namespace: str | None, dedicated: Sequence[str] = ()
) -> FolderReview:
    """Review a folder's files against its earlier files. Raises CannotRunError if there is nothing to review.

    `dedicated` names the files of a dedicated MirrorMaker.
    """
    old, new = (side_of(files.read, namespace or "default") for files in (before, after))
    if not (old.unreadable or new.unreadable or any(name.replicates for name in (*old.objects, *new.objects))):
        what = "neither the folder nor its earlier version holds a KafkaMirrorMaker2, KafkaConnect or KafkaConnector"
        why = "A review says what a change does to replication, and nothing here replicates."
        why = " ".join(str(note) for note in new.found.left_out if not note.harmless) or why
        remedy = "name the folder that holds these objects with `--yaml`."
        if dedicated:
            why = f"A review does not read the properties of a dedicated MirrorMaker, as in {', '.join(dedicated)}."
            remedy = f"`replicate import {dedicated[0]} --out DIR` shows what it replicates."
        raise CannotRunError("nothing-to-review", what, folder, why, remedy)
    unclear = unclear_objects(old, new)
    old_workers, new_workers = workers_of_both(old, new, unclear)
    workers = (*new_workers, *old_workers)
    states = states_of_both(old_workers, new_workers)
    comparison = compare(folder, label, *(Snapshot(states={state.name: state for state in side}) for side in states))
    changes = tuple(changed_objects(old, new))
    owners = {connector.flow: state.name for side in states for state in side for connector in state.connectors}
    files = grouped((group.name, read.file) for group in workers for read in group.objects)
    effects = {
        replace(effect, where=", ".join(dict.fromkeys(files.get(owners.get(effect.flow, effect.flow), [folder]))))
        for effect in (*comparison.effects, *effects_at_rest(*states), *object_effects(changes, workers))
    }
    with_effects = {owners.get(effect.flow, effect.flow) for effect in effects}
    unjudged = {
        Unjudged(change.file, change.id.label, paths, why)
        for change in changes
        for paths, why in unjudged_fields(change, unclear, workers, with_effects, namespace)
    }
    checked, checked_before = checked_objects(new, unclear), checked_objects(old, unclear)
    known = {_meaning(mistake) for mistake in checked_before.mistakes}
    return FolderReview(
        folder,
        label,
        tuple(sorted(effects, key=lambda effect: (-effect.severity.rank, effect.flow, effect.code, effect.what))),
        tuple(change.shown for change in changes if not is_beside(change.id)),
        required=required_objects(_bodies(old, unclear), _bodies(new, unclear), [_REPLICATING]),
        mistakes=tuple(replace(mistake, is_new=_meaning(mistake) not in known) for mistake in checked.mistakes),
        unjudged=tuple(sorted({*unjudged, *unjudged_files(old, new, before, after)})),
        unjudged_before=tuple(sorted({*unjudged_before(old, new, unclear, {change.id for change in changes})})),
        checked=checked,
        existed=bool(before.read or before.others),
        beside=Counter(change.kind for change in changes if is_beside(change.id)),
        ignored=Counter(name.kind for name in new.objects if not name.group_kind.startswith(_CHECKED)),
    )


def _meaning(mistake: Mistake) -> tuple[str, str, str]:
    return mistake.problem.where, mistake.problem.code, mistake.problem.what


def _bodies(side: FolderObjects, unclear: Mapping[ObjectId, str]) -> Snapshot:
    """Return the objects of a side: those that replicate, which may need others, and the others."""
    replicating = {
        read.label: read.body for name, read in side.by_id.items() if name.replicates and name not in unclear
    }
    others = {
        f"{name}": {"kind": name.kind, "metadata": {"namespace": name.namespace, "name": name.name}}
        for name in side.objects
        if name.name and not name.replicates
    }
    return Snapshot(others={_REPLICATING: replicating, _OTHERS: others})


_NO_REGION = "imported"
_CONVERTER = re.compile(r"\.transforms\.converters\.(key|value|header)$")
_OF_CONVERTERS = frozenset({"bytes-become-text", "headers-become-text"})
#: Needed only for the validation of a project; a folder of YAML has none.
_OF_THE_VALIDATION = frozenset({"validation-needs-credentials"})


def checked_objects(side: FolderObjects, unclear: Collection[ObjectId]) -> CheckedObjects:
    """Check what can be judged of a folder."""
    judged = ReadInput(
        [read for identity, read in side.by_id.items() if identity not in unclear], left_out=side.found.left_out
    )
    try:
        topologies, left_out = imported_topologies(judged, None, _NO_REGION)
    except CannotRunError as error:
        return CheckedObjects(left_out=tuple(sorted(set(side.found.left_out))), failed=str(error))
    # Resources that the operator refuses as a whole, so that their change never reaches Connect.
    refused = (ends_of_mirrors(read) for read in side.read("KafkaMirrorMaker2").values())
    mistakes = [_noted(ends, "Connect never gets this resource") for ends in refused if isinstance(ends, LeftOut)]
    mistakes += _each_once(topologies)
    # A topology cannot express connectors that disagree, so its checks do not see them.
    for note in (note for note in left_out if note.mistake):
        mistakes.append(_noted(note, f"{note.obj} disagrees with its source connector"))
    apart, because, whole = _together(topologies)
    known = {mistake.problem for mistake in mistakes}
    mistakes += [mistake for mistake in whole if mistake.problem not in known]
    not_checked = tuple(sorted({note for note in left_out if not note.mistake}))
    return CheckedObjects(tuple(sorted(mistakes, key=lambda mistake: mistake.problem)), not_checked, apart, because)


def _noted(note: LeftOut, what: str) -> Mistake:
    return Mistake(Problem(note.field, note.code, what, note.why, note.remedy), (f"{note.obj} in {note.file}",))


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
    imported = [made for topology in topologies for made in topology.imported]
    whole = ImportedTopology(topologies[0].strimzi, clusters, imported)
    try:
        flows = expand(parse_topology(whole.document))
    except ReplicationError:
        return apart, "they do not form one topology", []
    checks = (check_double_replication, check_group_offsets, check_loops, check_halves)
    problems = [problem for check in checks for problem in check(flows)]
    return (), "", [Mistake(problem, _objects_of(problem.where, [whole])) for problem in problems]


def _same(cluster: dict[str, Any], other: dict[str, Any]) -> bool:
    one, two = (str(given.get("bootstrapServers")) for given in (cluster, other))
    return not {server.strip() for server in one.split(",")}.isdisjoint(server.strip() for server in two.split(","))


def _objects_of(where: str, topologies: Sequence[ImportedTopology]) -> tuple[str, ...]:
    """Return the objects that a path of a topology concerns, each with its file."""
    made = [replication for topology in topologies for replication in topology.imported]

    def concerned(replication: Imported) -> bool:
        paths = (f"replications.{replication.name}.", *(f"clusters.{alias}." for alias in replication.clusters))
        return f"{where}.".startswith(paths)

    chosen = list(filter(concerned, made)) or made
    return tuple(dict.fromkeys(f"{one.read[0].label} in {one.read[0].file}" for one in chosen))
