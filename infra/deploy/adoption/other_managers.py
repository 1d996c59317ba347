"""Other tools that deploy an object that a stack manages. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Iterator

from components.contract.problems import Problem
from components.contract.wording import named
from components.render.planned_objects import Manifest
from infra.deploy.adoption.agreements import RELEASED, Refusal
from infra.kubernetes.api import reference
from infra.kubernetes.managed_fields import PULUMI, owners

#: What GitOps tools leave on an object that they apply, and the tool's name.
_MARKS = {
    "argocd.argoproj.io/tracking-id": "argocd",
    "argocd.argoproj.io/instance": "argocd",
    "kustomize.toolkit.fluxcd.io/name": "kustomize-controller",
    "helm.toolkit.fluxcd.io/name": "helm-controller",
}
_LET_GO = {
    "argocd": (
        "make Argo CD release it first, without deleting it: `kubectl delete application NAME -n argocd "
        "--cascade=orphan`"
    ),
    "kustomize-controller": (
        "make Flux release it first, without deleting it: set `prune: false` in the Kustomization, let it "
        "reconcile, and delete it"
    ),
    "helm-controller": (
        "make Flux release it first, without deleting it: `flux suspend helmrelease NAME`, and then delete the "
        "HelmRelease, because a suspended one is not uninstalled"
    ),
}


def managed_elsewhere(live: Iterable[Manifest]) -> Iterator[Refusal]:
    """A refusal for each tool that deploys some of these objects."""
    by_tool: dict[str, list[str]] = defaultdict(list)
    for body in live:
        for tool in sorted(set(_tools(body))):
            by_tool[tool].append(str(reference(body)))
    for tool, names in sorted(by_tool.items()):
        first, agreement = named(names), f"{RELEASED}:{tool}"
        if tool == PULUMI:
            problem = Problem(
                first,
                "other-stack-manages",
                "Pulumi deployed it, and it is not in the state of this stack",
                "Another stack, or this one in another backend, would change it back or delete it.",
                "choose the right backend with `pulumi login`; or make the other stack forget it with `pulumi state "
                f"delete URN`, which deletes nothing in the cluster, and then pass `--agree {agreement}`.",
            )
        else:
            problem = Problem(
                first,
                "gitops-manages",
                f"{tool} applies it",
                "It would change the object back to what is in Git, or delete it.",
                f"{_LET_GO[tool]}. Then pass `--agree {agreement}`.",
            )
        yield Refusal(problem, agreement)


def _tools(live: Manifest) -> Iterator[str]:
    """Other tools that deploy a live object, as far as the object shows them."""
    for owner in owners(live):
        if owner.by_gitops:
            yield next(tool for tool in _LET_GO if owner.manager.startswith(tool))
        elif owner.manager.startswith(PULUMI):
            yield PULUMI
    metadata = live["metadata"]
    for name in {**(metadata.get("labels") or {}), **(metadata.get("annotations") or {})}:
        if name in _MARKS:
            yield _MARKS[name]
