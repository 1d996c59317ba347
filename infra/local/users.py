"""The Kafka users of each region and the random passwords of a stack.

A password goes only into files with mode 0600 and into the configuration of clients."""

import secrets
from collections.abc import Mapping

REGIONS = ("useast", "uswest")

ADMIN = "admin"
MIRROR = "mirror"
VALIDATOR = "validator"
APP = "app"
USERS = (ADMIN, MIRROR, VALIDATOR, APP)
"""In this order: super user and broker; Connect and its connectors; the validation job; the traffic's clients."""


def password_key(region: str, user: str) -> str:
    """The key of a user's password in the state."""
    return f"{region}/{user}"


def with_passwords(known: Mapping[str, str], wanted: tuple[str, ...]) -> dict[str, str]:
    """The known passwords, and a new one for each wanted key without one.

    They consist of letters and digits, so no file format has to quote them.
    """
    return {**{key: secrets.token_hex(16) for key in wanted}, **known}
