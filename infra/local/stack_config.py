"""Configuration values that a Pulumi stack takes from the running local stack: addresses, certificates, passwords."""

import secrets
from collections.abc import Mapping
from pathlib import Path

from infra.local import paths
from infra.local.endpoints import Endpoints


def stack_config(endpoints: Endpoints) -> Mapping[str, tuple[str, bool]]:
    """(value, whether it is secret) by key: `useastBootstrap`, `useastMirrorPassword`, …"""
    config: dict[str, tuple[str, bool]] = {}
    for alias, region in endpoints.regions.items():
        config[f"{alias}Bootstrap"] = (region.bootstrap_servers, False)
        config[f"{alias}Ca"] = (region.ca_file.read_text(), True)
        for user in ("mirror", "validator"):
            config[f"{alias}{user.capitalize()}Password"] = (region.users[user].password, True)
    return config


def passphrase_file() -> Path:
    """The file with the passphrase of the local Pulumi state, created once."""
    path = paths.pulumi() / "passphrase"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.touch(mode=0o600)
        path.write_text(secrets.token_urlsafe(32))
    return path
