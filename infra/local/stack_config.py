"""What a local stack's configuration takes from the running local stack: addresses, trust, credentials."""

import secrets
from collections.abc import Mapping
from pathlib import Path

from infra.local import paths
from infra.local.endpoints import Endpoints


def stack_config(endpoints: Endpoints) -> Mapping[str, tuple[str, bool]]:
    """Configuration value and whether it is a secret, by key: `useastBootstrap`, `useastMirrorPassword`, …"""
    config: dict[str, tuple[str, bool]] = {}
    for alias, region in endpoints.regions.items():
        config[f"{alias}Bootstrap"] = (region.bootstrap_servers, False)
        config[f"{alias}Ca"] = (region.ca_file.read_text(), True)
        for user in ("mirror", "validator"):
            config[f"{alias}{user.capitalize()}Password"] = (region.users[user].password, True)
    return config


def local_addresses(endpoints: Endpoints) -> Mapping[str, str]:
    """The values of `stack_config` that are not secret."""
    return {key: value for key, (value, secret) in stack_config(endpoints).items() if not secret}


def passphrase_file() -> Path:
    """File with the passphrase of the local Pulumi state, made once."""
    path = paths.PULUMI / "passphrase"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.touch(mode=0o600)
        path.write_text(secrets.token_urlsafe(32))
    return path
