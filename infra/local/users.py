"""The Kafka users of each region and the random passwords of a stack. A password never goes anywhere but into files
with mode 0600, and into what is handed to a client."""

import secrets
from collections.abc import Mapping

REGIONS = ("useast", "uswest")

ADMIN = "admin"
MIRROR = "mirror"
VALIDATOR = "validator"
APP = "app"
USERS = (ADMIN, MIRROR, VALIDATOR, APP)
"""Super user and broker; Connect and its connectors; the Spark job; producers and consumers of the traffic."""


def password_key(region: str, user: str) -> str:
    """Where a user's password lies among the state's passwords."""
    return f"{region}/{user}"


def with_passwords(known: Mapping[str, str], wanted: tuple[str, ...]) -> dict[str, str]:
    """The known passwords and a fresh one for each wanted key that has none; letters and digits only, so that no
    file format needs to quote them."""
    return {**{key: secrets.token_hex(16) for key in wanted}, **known}
