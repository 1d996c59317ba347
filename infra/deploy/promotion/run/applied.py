"""Whether a cluster holds what this revision renders, for a stack whose objects GitOps applies. Only reads."""

from collections.abc import Iterator

from components.contract.problems import Problem
from components.contract.wording import named
from infra.review.comparison import Comparison
from infra.review.drift import CODE
from infra.review.live_comparison import compare_with_cluster
from infra.review.object_changes import ChangeKind, ObjectChange
from infra.stack.session import OpenStack
from infra.stack.settings import StackSettings

#: Drift that is no difference between what was rendered and what is applied.
_NO_DIFFERENCE = frozenset(
    {
        # The validation judges whether the flow works.
        *("connector-failed", "connector-state", "connector-without-task", "not-ready"),
        *("validation-failed", "validation-unproven", "foreign-topic", "foreign-partitions"),
        # The missing objects are reported one by one.
        "deployment-incomplete",
        # Secrets are written by whatever manages the credentials, not by `replicate render`.
        "secret-written",
    }
)
#: Fields of a Secret that the topology names; its creator decides the rest.
_KEYS_OF_SECRET = "values"
_SHOWN = 3


def against_applied(settings: StackSettings) -> tuple[Problem, ...]:
    """Everything in which the cluster differs from what this revision renders; nothing if it holds exactly that.

    Raises CannotRunError if the cluster does not answer.
    """
    with OpenStack(settings) as opened:
        return tuple(sorted(differences(compare_with_cluster(opened))))


def differences(compared: Comparison) -> Iterator[Problem]:
    """Which differences from the cluster prevent a validation from proving this revision. Pure."""
    drift = [each for each in compared.drift if each.code not in _NO_DIFFERENCE]
    explained = {each.where for each in drift}
    undeleted = {each.flow for each in drift if each.code == CODE}
    changes = [
        each
        for change in compared.objects
        if change.deployment not in undeleted and (each := _of_render(change)) is not None
    ]
    left = [each for each in changes if _named(each) not in explained]
    missing = [each for each in left if each.change is ChangeKind.ADDED]
    again = f"wait until it is applied, and run `replicate promote --to {compared.stack}` again."
    where = f"stack {compared.stack}"
    if any(each.kind != "Secret" for each in missing) and len(missing) == len(changes) and not drift:
        yield Problem(
            where,
            "not-applied",
            f"the cluster lacks {_list(missing)}",
            "Nothing replicates without them, so nothing can be proven.",
            f"commit what `replicate render {compared.stack} --out DIR` writes, {again}",
        )
    elif left and all(each.kind == "Secret" and each.change is not ChangeKind.REMOVED for each in left):
        yield Problem(
            where,
            "secret-not-applied",
            f"the cluster lacks Secrets, or keys in them: {_list(left)}",
            "Connectors cannot log in without them, and `replicate render` does not write Secrets.",
            "create them with whatever manages your credentials: `required-secrets.yaml` of "
            f"`replicate render {compared.stack} --out DIR` lists their keys.",
        )
    elif left:
        yield Problem(
            where,
            "other-revision-applied",
            f"the cluster differs from what this revision renders: {_list(left)}",
            "A validation would prove what runs, but this revision declares something else.",
            f"commit what `replicate render {compared.stack} --out DIR` writes, {again} If the cluster is right, "
            "check out the revision that was applied.",
        )
    for found in drift:
        by = f" (by {' at '.join(filter(None, (found.by, found.since)))})" if found.by else ""
        place = f"{where}, {found.where}"
        if found.code == CODE:
            why = (
                "A validation of this revision does not check this replication, so it could pass although the "
                "replication still runs."
            )
            yield Problem(place, "not-deleted", found.what, why, found.remedy)
        else:
            why = "A validation would prove something that no revision declares."
            yield Problem(place, "applied-and-edited", f"{found.code}: {found.what}{by}", why, found.remedy)


def _of_render(change: ObjectChange) -> ObjectChange | None:
    """A change, unless it concerns a Secret that has every key."""
    if change.kind != "Secret" or change.change is not ChangeKind.CHANGED:
        return change
    return change if any(field.path.startswith(_KEYS_OF_SECRET) for field in change.fields) else None


def _named(change: ObjectChange) -> str:
    return f"{change.kind} {'/'.join(filter(None, (change.namespace, change.name)))}"


def _list(changes: list[ObjectChange]) -> str:
    return named([_with_fields(each) for each in changes], _SHOWN)


def _with_fields(change: ObjectChange) -> str:
    paths = ", ".join(f"`{field.path}`" for field in change.fields[:_SHOWN])
    more = " …" if len(change.fields) > _SHOWN else ""
    return f"{_named(change)} ({change.change}{': ' if paths else ''}{paths}{more})"
