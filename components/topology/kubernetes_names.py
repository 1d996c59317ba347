"""The form of names in Kubernetes. Imports the standard library only.

Source: RFC 1123, IsDNS1123Label and IsDNS1123Subdomain in apimachinery.
"""

import re

#: Patterns of a whole name, and its greatest length in characters.
LABEL, LABEL_LENGTH = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", 63
#: Pattern of a whole key of labels and annotations. Source: IsQualifiedName in apimachinery.
LABEL_KEY = r"^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$"
SUBDOMAIN, SUBDOMAIN_LENGTH = rf"{LABEL}(\.{LABEL})*", 253


def is_label(text: str) -> bool:
    """Return whether a text can be a name without dots, such as that of a namespace."""
    return len(text) <= LABEL_LENGTH and re.fullmatch(LABEL, text) is not None


def is_subdomain(text: str) -> bool:
    """Return whether a text can be a name with dots, such as that of a ConfigMap."""
    return len(text) <= SUBDOMAIN_LENGTH and re.fullmatch(SUBDOMAIN, text) is not None
