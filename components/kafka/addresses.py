"""Bootstrap addresses, as Kafka's clients read them.

Source: ConfigDef.Type.LIST, ClientUtils.parseAndValidateAddresses, Utils.getHost and Utils.getPort.
"""

import re
from dataclasses import dataclass

_SERVER = re.compile(r"(?P<scheme>[0-9a-zA-Z\-%._]*://)?\[?(?P<host>[0-9a-zA-Z\-%._:]+)\]?:(?P<port>[0-9]+)")
_HIGHEST_PORT = 2**16 - 1


@dataclass(frozen=True)
class Server:
    """One server of a bootstrap address. Clients accept a scheme such as `SASL_SSL://`, and ignore it."""

    host: str
    port: int
    scheme: str = ""


def server(text: str) -> Server | None:
    """Read one server of an address; None if clients refuse it. They accept port 0, but cannot connect to it."""
    found = _SERVER.fullmatch(text)
    if found is None or not 0 < int(found["port"]) <= _HIGHEST_PORT:
        return None
    return Server(found["host"].lower(), int(found["port"]), found["scheme"] or "")


def servers(address: str) -> dict[str, Server | None]:
    """Read a bootstrap address: each of its servers by its text, with None for one that clients refuse."""
    return {text.strip(): server(text.strip()) for text in address.split(",") if text.strip()}
