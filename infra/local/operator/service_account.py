"""A kubeconfig with a token of a flow's service account, so that a worker can read only what the Role names. Pure."""

import base64
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

TOKEN_LIFETIME_SECONDS = 24 * 3600
RENEW_BEFORE_SECONDS = TOKEN_LIFETIME_SECONDS / 2


def cluster_entry(kubeconfig: Path) -> dict[str, Any]:
    """How to reach the API server: the cluster of the kubeconfig's current context, without any user."""
    document = yaml.load(kubeconfig.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    context = _named(document["contexts"], document["current-context"])["context"]
    return dict(_named(document["clusters"], context["cluster"])["cluster"])


def worker_kubeconfig(cluster: Mapping[str, Any], namespace: str, token: str) -> str:
    """A kubeconfig (JSON is YAML) for one service account."""
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "local", "cluster": dict(cluster)}],
            "users": [{"name": "worker", "user": {"token": token}}],
            "contexts": [{"name": "local", "context": {"cluster": "local", "user": "worker", "namespace": namespace}}],
            "current-context": "local",
        },
        indent=2,
    )


def token_in(kubeconfig_text: str) -> str:
    return str(json.loads(kubeconfig_text)["users"][0]["user"]["token"])


def is_usable(token: str, service_account_uid: str, now: float) -> bool:
    """Whether the token belongs to this service account and is still valid long enough; `now` is in epoch seconds."""
    payload = token.split(".")[1]
    claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    same = claims["kubernetes.io"]["serviceaccount"]["uid"] == service_account_uid
    return bool(same and claims["exp"] - now > RENEW_BEFORE_SECONDS)


def _named(entries: list[dict[str, Any]], name: str) -> dict[str, Any]:
    return next(entry for entry in entries if entry["name"] == name)
