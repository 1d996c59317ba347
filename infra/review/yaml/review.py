"""The review of a change to a folder of YAML: effects, mistakes, and what was not judged."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from components.changes.all_effects import all_effects
from components.changes.effect import Effect
from components.contract.problems import CannotRunError
from infra.onboard.importing.left_out import LeftOut
from infra.review.comparison import Comparison
from infra.review.object_changes import ChangeKind
from infra.review.yaml.fields import Change, changed_objects, unjudged_fields
from infra.review.yaml.folder import Files
from infra.review.yaml.mistakes import Mistake, checked, new_mistakes
from infra.review.yaml.objects import Identity, Side, label_of, side_of
from infra.review.yaml.requests import is_read, of_stopped, own_effects
from infra.review.yaml.states import Workers, deployments_of, states_of_both, workers_of_both
from infra.review.yaml.unclear import unclear_objects

#: Kinds and API groups on which no connector or worker depends.
_BESIDE = frozenset({"Service", "Pod", "Event", "Endpoints", "PersistentVolume", "PersistentVolumeClaim"})
_GROUPS_BESIDE = frozenset({"apps", "batch", "autoscaling", "monitoring.coreos.com", "metrics.k8s.io"})
_DOES_MORE = frozenset({"kustomize.config.k8s.io/Kustomization", "Kustomization"})
_JUST_LISTS = frozenset({"apiVersion", "kind", "metadata", "resources"})


@dataclass(frozen=True, order=True)
class Unjudged:
    """A part of the change, or of the folder, whose effect is not known."""

    file: str
    obj: str
    fields: tuple[str, ...]
    why: str


@dataclass(frozen=True)
class FolderReview:
    """What a change to a folder does. `changes` are not judged, `standing` was not judged before and has not changed.

    `beside` counts the changed objects of kinds that replication does not depend on, `ignored` all objects of a kind
    that is not looked at. `unread` are changed files that are not YAML.
    """

    comparison: Comparison
    mistakes: tuple[Mistake, ...]
    unjudged: tuple[Unjudged, ...]
    standing: tuple[Unjudged, ...]
    left_out: tuple[LeftOut, ...]
    apart: tuple[tuple[str, ...], ...] = ()
    because: str = ""
    failed: str = ""
    existed: bool = True
    beside: Mapping[str, int] = field(default_factory=dict)
    ignored: Mapping[str, int] = field(default_factory=dict)
    unread: tuple[str, ...] = ()

    @property
    def has_errors(self) -> bool:
        """Whether the change introduces a mistake, or leaves a changed file unreadable."""
        unreadable = any(not each.obj and not each.fields for each in self.unjudged)
        return bool(self.failed) or unreadable or any(each.is_error and each.is_new for each in self.mistakes)


def review_files(folder: str, label: str, before: Files, after: Files, namespace: str | None) -> FolderReview:
    """Review the files of a folder against its earlier files. Raises CannotRunError if there is nothing to review."""
    old, new = (side_of(each.read, namespace or "default") for each in (before, after))
    if not any(each.replicates for side in (old, new) for copies in side.objects.values() for each in copies) and not (
        old.unreadable or new.unreadable
    ):
        raise _nothing(folder)
    unclear = unclear_objects(old, new)
    old_workers, new_workers = workers_of_both(old, new, unclear)
    deployments = deployments_of((*old_workers, *new_workers))
    states = states_of_both(old_workers, new_workers)
    changes = tuple(changed_objects(old, new))
    files = _files(old_workers, new_workers)
    flows = {each.flow: state.name for side in states for state in side for each in state.connectors}

    def where(flow: str, _: str) -> str:
        return files.get(flows.get(flow, flow), folder)

    effects = [
        *all_effects(*_changed_only(*states), where),
        *of_stopped(*states),
        *own_effects(changes, deployments, (*new_workers, *old_workers)),
    ]
    effects = [each if each.where else _at(each, where(each.flow, "")) for each in effects]
    unjudged = [
        *_unreadable(old, new),
        *_without_object(old, new),
        *_others(before, after),
        *_of_changes(changes, unclear, deployments, effects, flows, (*new_workers, *old_workers), namespace),
    ]
    heads = checked(new, unclear)
    compared = Comparison(
        folder,
        label,
        tuple(sorted(dict.fromkeys(effects), key=lambda each: (-each.severity.rank, each.flow, each.code, each.what))),
        tuple(each.seen for each in changes if not _is_beside(each.identity[0])),
        unjudged=len(unjudged),
    )
    return FolderReview(
        compared,
        new_mistakes(checked(old, unclear), heads),
        tuple(sorted(set(unjudged))),
        tuple(sorted(set(_standing(old, new, unclear, changes)))),
        tuple(sorted(set(heads.left_out))),
        heads.apart,
        heads.because,
        heads.failed,
        bool(before.read or before.others),
        Counter(_kind(each.identity[0]) for each in changes if _is_beside(each.identity[0])),
        Counter(_kind(each[0]) for each in new.objects if not _is_looked_at(each)),
    )


def _nothing(folder: str) -> CannotRunError:
    return CannotRunError(
        "nothing-to-review",
        "neither the folder nor its earlier version holds a KafkaMirrorMaker2, KafkaConnect or KafkaConnector",
        folder,
        "A review says what a change does to replication, and nothing here replicates.",
        "name the folder that holds these objects with `--yaml`.",
    )


def _files(*sides: Sequence[Workers]) -> dict[str, str]:
    found: dict[str, dict[str, None]] = {}
    for each in (each for side in reversed(sides) for each in side):
        found.setdefault(each.name, {}).update(dict.fromkeys(read.file for read in each.objects))
    return {name: ", ".join(files) for name, files in found.items()}


def _at(effect: Effect, where: str) -> Effect:
    return Effect(effect.severity, effect.code, effect.flow, where, effect.what)


def _changed_only(old: Sequence, new: Sequence) -> tuple[list, list]:  # type: ignore[type-arg]
    same = [each for each in old if each in new]
    return [each for each in old if each not in same], [each for each in new if each not in same]


def _unreadable(old: Side, new: Side) -> Iterator[Unjudged]:
    for file in sorted({*old.unreadable, *new.unreadable}):
        if old.files.get(file) == new.files.get(file):
            continue
        if file in new.unreadable:
            said = new.unreadable[file]
            place = f" ({said.field})" if said.field else ""
            yield Unjudged(file, "", (), f"It cannot be read{place}. {said.why} {_sentence(said.remedy)}")
        else:
            yield Unjudged(file, "(the file)", (), "It could not be read before, so what it changes is unknown.")


def _without_object(old: Side, new: Side) -> Iterator[Unjudged]:
    for file in sorted(old.without_object | new.without_object):
        if old.files.get(file) != new.files.get(file):
            why = (
                "It holds something that is not an object, such as a chart's values. Other tools may generate "
                "objects from it."
            )
            yield Unjudged(file, "(the file)", (), why)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _others(before: Files, after: Files) -> Iterator[Unjudged]:
    for file in sorted({*before.others, *after.others}):
        if before.others.get(file) != after.others.get(file):
            why = "It is a link, a submodule, a template or a properties file, which this command does not read."
            yield Unjudged(file, "(the file)", (), why)


def _of_changes(
    changes: Sequence[Change],
    unclear: Mapping[Identity, str],
    deployments: Mapping[Identity, str],
    effects: Sequence[Effect],
    flows: Mapping[str, str],
    workers: Sequence[Workers],
    namespace: str | None,
) -> Iterator[Unjudged]:
    said = {flows.get(each.flow, each.flow) for each in effects}
    for change in changes:
        file, obj = change.seen.deployment, label_of(change.identity)
        if change.identity in unclear:
            yield Unjudged(file, obj, tuple(each.path for each in change.seen.fields), unclear[change.identity])
        elif change.identity in deployments:
            fields: dict[str, list[str]] = {}
            for path, why in unjudged_fields(change):
                if path != "metadata.namespace" or namespace is None:
                    fields.setdefault(why, []).append(path)
            yield from (Unjudged(file, obj, tuple(paths), why) for why, paths in fields.items())
            if deployments[change.identity] not in said:
                why = "The rules of this command derive no effect from this change, but it may have one."
                left = tuple(
                    each.path for each in change.seen.fields if each.path != "metadata.namespace" or namespace is None
                )
                if change.seen.fields and not left:
                    continue
                if not left or set(left) - {path for paths in fields.values() for path in paths}:
                    yield Unjudged(file, obj, left, why)
        elif change.kind == "ConfigMap":
            yield from _config_map(change, file, obj, workers)
        elif not _is_beside(change.identity[0]):
            why = _WHY_BESIDE.get(change.kind, "This command does not know what objects of this kind do.")
            if change.identity[0] in _DOES_MORE:
                why = "What `kustomize build` makes of the folder is not judged. Review its output."
            yield Unjudged(file, obj, tuple(each.path for each in change.seen.fields), why)


_WHY_BESIDE = {
    "Secret": "Connectors and workers may log in with it. Its values are not read.",
    "KafkaUser": "Its ACLs and its login decide what connectors may do.",
    "KafkaTopic": "Changes to it take effect in Kafka, and this command does not connect to Kafka.",
    "Role": "Connectors may need it to read Secrets and ConfigMaps.",
    "RoleBinding": "Connectors may need it to read Secrets and ConfigMaps.",
    "NetworkPolicy": "It decides which addresses workers reach.",
    "KafkaMirrorMaker": "It is MirrorMaker 1, which keeps its positions in a consumer group.",
}


def _config_map(change: Change, file: str, obj: str, workers: Sequence[Workers]) -> Iterator[Unjudged]:
    paths = [field.path for field in change.seen.fields]
    left = tuple(field.path for field in change.seen.fields if not is_read(field, change, workers))
    if left or not paths:
        why = "No connector's configuration reads it, but workers may read it for metrics or logging."
        if change.seen.change is not ChangeKind.CHANGED:
            why = "Connectors and workers may read it."
        yield Unjudged(file, obj, left, why)


def _kind(kind: str) -> str:
    return kind.rpartition("/")[2]


def _is_beside(kind: str) -> bool:
    return kind in _BESIDE or kind.rpartition("/")[0] in _GROUPS_BESIDE


def _is_looked_at(identity: Identity) -> bool:
    return identity[0].startswith("kafka.strimzi.io/") or identity[0] in {"ConfigMap", "Secret", "Namespace"}


def _standing(old: Side, new: Side, unclear: Mapping[Identity, str], changes: Sequence[Change]) -> Iterator[Unjudged]:
    """Yield what was not judged before and has not changed."""
    changed = {each.identity for each in changes}
    for file in sorted(new.unreadable):
        if old.files.get(file) == new.files.get(file):
            yield Unjudged(file, "", (), f"It cannot be read. {new.unreadable[file].why}")
    for identity, copies in new.objects.items():
        if identity in unclear and identity not in changed:
            yield from (Unjudged(each.file, each.label, (), unclear[identity]) for each in copies[:1])
        elif identity[0] in _DOES_MORE and identity not in changed:
            for each in copies:
                if each.body.keys() - _JUST_LISTS:
                    why = "It changes the objects that it lists; the output of `kustomize build` is not judged."
                    yield Unjudged(each.file, each.label, (), why)
