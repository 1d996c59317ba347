"""The review of a change to a folder of YAML: both sides are imported, and compared as a stack is."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from components.contract.problems import CannotRunError
from infra.onboard.importing.left_out import LeftOut
from infra.review.bases import branch_point, changed_paths
from infra.review.comparison import Comparison, compare, required_objects
from infra.review.snapshots import Objects, Snapshot
from infra.review.yaml.effects import effects_at_rest, object_effects
from infra.review.yaml.folder import Files, files_at, files_now, may_matter, repository_of
from infra.review.yaml.mistakes import checked, new_mistakes
from infra.review.yaml.objects import FolderObjects, Identity, changed_objects, kind_of, replicates, side_of
from infra.review.yaml.states import FolderWorkers, deployments_of, states_of_both, workers_of_both
from infra.review.yaml.unjudged import is_beside, unclear_objects, unjudged_before, unjudged_of
from infra.stack.yaml_files import shown

#: Files that people read and from which no tool generates objects.
_TEXTS = (".md", ".txt", "LICENSE", "CODEOWNERS", ".gitignore")
_REPLICATING, _OTHERS = "replicating", "others"


@dataclass(frozen=True)
class FolderReview(Comparison):
    """A comparison of a folder of YAML, with what only a folder has.

    `left_out` is what the checks do not cover, and `failed` says why they could not run. The replications in `apart`
    were not checked against each other; `because` says why. `existed` says whether the base has the folder. `beside`
    counts the changed objects of kinds that replication does not depend on, `ignored` all objects of kinds that are
    not checked. `unread` are changed files that are not YAML.
    """

    left_out: tuple[LeftOut, ...] = ()
    apart: tuple[tuple[str, ...], ...] = ()
    because: str = ""
    failed: str = ""
    existed: bool = True
    beside: Mapping[str, int] = field(default_factory=dict)
    ignored: Mapping[str, int] = field(default_factory=dict)
    unread: tuple[str, ...] = ()

    @property
    def has_errors(self) -> bool:
        """Return whether the change introduces an error, or leaves a changed file unreadable."""
        unreadable = any(not unjudged.obj and not unjudged.fields for unjudged in self.unjudged)
        return bool(self.failed) or unreadable or super().has_errors


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
    return replace(review_files(shown(folder), label, before, after, namespace), unread=unread)


def review_files(folder: str, label: str, before: Files, after: Files, namespace: str | None) -> FolderReview:
    """Review the files of a folder against its earlier files. Raises CannotRunError if there is nothing to review."""
    old, new = sides = (side_of(before.read, namespace or "default"), side_of(after.read, namespace or "default"))
    if not (old.unreadable or new.unreadable) and not any(map(replicates, (*old.objects, *new.objects))):
        what = "neither the folder nor its earlier version holds a KafkaMirrorMaker2, KafkaConnect or KafkaConnector"
        why = "A review says what a change does to replication, and nothing here replicates."
        remedy = "name the folder that holds these objects with `--yaml`."
        raise CannotRunError("nothing-to-review", what, folder, why, remedy)
    unclear = unclear_objects(old, new)
    old_workers, new_workers = workers_of_both(old, new, unclear)
    workers = (*new_workers, *old_workers)
    deployments = deployments_of((*old_workers, *new_workers))
    states = states_of_both(old_workers, new_workers)
    comparison = compare(folder, label, *(Snapshot(states={state.name: state for state in side}) for side in states))
    changes = tuple(changed_objects(old, new))
    owners = {connector.flow: state.name for side in states for state in side for connector in state.connectors}
    files = _files_by_workers(workers)
    effects = {
        replace(effect, where=files.get(owners.get(effect.flow, effect.flow), folder))
        for effect in (
            *comparison.effects,
            *effects_at_rest(*states),
            *object_effects(changes, deployments, workers),
        )
    }
    with_effects = {owners.get(effect.flow, effect.flow) for effect in effects}
    unjudged = unjudged_of(sides, (before, after), changes, unclear, deployments, with_effects, workers, namespace)
    found = checked(new, unclear)
    required = required_objects(_bodies(old, unclear), _bodies(new, unclear), [_REPLICATING])
    return FolderReview(
        folder,
        label,
        tuple(sorted(effects, key=lambda effect: (-effect.severity.rank, effect.flow, effect.code, effect.what))),
        tuple(change.shown for change in changes if not is_beside(change.identity)),
        required=required,
        mistakes=new_mistakes(checked(old, unclear), found),
        unjudged=tuple(sorted(set(unjudged))),
        unjudged_before=tuple(sorted(set(unjudged_before(old, new, unclear, {change.identity for change in changes})))),
        left_out=tuple(sorted(set(found.left_out))),
        apart=found.apart,
        because=found.because,
        failed=found.failed,
        existed=bool(before.read or before.others),
        beside=Counter(kind_of(change.identity) for change in changes if is_beside(change.identity)),
        ignored=Counter(kind_of(identity) for identity in new.objects if not _is_checked(identity)),
    )


def _files_by_workers(workers: Sequence[FolderWorkers]) -> dict[str, str]:
    files: dict[str, dict[str, None]] = {}
    for group in workers:
        files.setdefault(group.name, {}).update(dict.fromkeys(read.file for read in group.objects))
    return {name: ", ".join(named) for name, named in files.items()}


def _is_checked(identity: Identity) -> bool:
    return identity[0].startswith("kafka.strimzi.io/") or identity[0] in {"ConfigMap", "Secret", "Namespace"}


def _bodies(side: FolderObjects, unclear: Mapping[Identity, str]) -> Snapshot:
    """Return the objects of a side: those that replicate, which may need others, and the others."""
    replicating = {
        read.label: read.body
        for kind in ("KafkaMirrorMaker2", "KafkaConnect", "KafkaConnector")
        for identity, read in side.read(kind).items()
        if identity not in unclear
    }
    others: Objects = {
        f"{identity}": {"kind": kind_of(identity), "metadata": {"namespace": identity[1], "name": identity[2]}}
        for identity in side.objects
        if identity[2] and not replicates(identity)
    }
    return Snapshot(others={_REPLICATING: replicating, _OTHERS: others})
