"""Bootstrap addresses, as Kafka's clients parse them.

Source: ConfigDef.Type.LIST, ClientUtils.parseAndValidateAddresses, Utils.getHost and Utils.getPort.
"""

import re
from dataclasses import dataclass

_SERVER = re.compile(
    r"(?P<scheme>[0-9a-zA-Z\-%._]*://)?(?:\[(?P<ip6>[0-9a-zA-Z%._:]+)\]|(?P<name>[0-9a-zA-Z\-%._]+)):(?P<port>[0-9]+)"
)
_HIGHEST_PORT = 2**16 - 1
#: The first version whose clients refuse an empty entry. Source: ConfigDef.ValidList.anyNonDuplicateValues.
_NO_EMPTY_ENTRY_SINCE = (4, 2)


@dataclass(frozen=True)
class Server:
    """One server of a bootstrap address. Clients accept a scheme such as `SASL_SSL://`, and ignore it."""

    host: str
    port: int
    scheme: str = ""


def server(text: str) -> Server | None:
    """Read one server of an address; None if clients refuse it or cannot connect to it, such as port 0. Clients take
    everything after the last colon as the port, so an IPv6 address needs brackets: `[::1]:9092`.
    """
    found = _SERVER.fullmatch(text)
    if found is None or not 0 < int(found["port"]) <= _HIGHEST_PORT:
        return None
    return Server((found["ip6"] or found["name"]).lower(), int(found["port"]), found["scheme"] or "")


def servers(address: str) -> dict[str, Server | None]:
    """Read a bootstrap address: each of its servers by its text, with None for one that clients refuse."""
    return {text: server(text) for text in entries(address) if text}


def entries(address: str) -> list[str]:
    """The entries of a bootstrap address, also empty and repeated ones. Source: ConfigDef.parseType."""
    return [text.strip() for text in address.split(",")]


def refuses_empty_entries(kafka: str) -> bool:
    """Whether clients of a minor version, such as `4.2`, refuse `a:1,`; all of them use a repeated entry once."""
    major, minor = kafka.split(".")[:2]
    return (int(major), int(minor)) >= _NO_EMPTY_ENTRY_SINCE


def is_ip6(text: str) -> bool:
    """Whether a text without brackets is an IPv6 address, perhaps with a port at its end."""
    return text.count(":") > 1 and set(text) <= set("0123456789abcdefABCDEF:.")
