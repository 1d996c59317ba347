"""A document as an entry of a ConfigMap's binaryData: JSON, compressed. Anything may import it."""

import base64
import gzip
import json
import zlib
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from components.contract.wording import agreeing

M = TypeVar("M", bound=BaseModel)


def compressed(document: object) -> bytes:
    """The document, not yet in base64; equal documents are equal bytes."""
    return gzip.compress(json.dumps(document, separators=(",", ":")).encode(), mtime=0)


def uncompressed(entry: str) -> Any:
    """The document of an entry. Raises ValueError if it cannot be unpacked."""
    try:
        return json.loads(gzip.decompress(base64.b64decode(entry, validate=True)))
    except (OSError, EOFError, ValueError, zlib.error, RecursionError) as error:
        raise ValueError("not compressed JSON in base64") from error


def read_entry(entry: str, kind: type[M], version: int, count: int) -> M:
    """The document of an entry. Raises ValueError with words for one thing or several, depending on `count`."""
    try:
        document = uncompressed(entry)
    except ValueError as error:
        raise ValueError(agreeing(count, "[it|they] cannot be unpacked")) from error
    if isinstance(document, dict) and document.get("version") != version:
        raise ValueError(agreeing(count, "another release of the job wrote [it|them]"))
    try:
        return kind.model_validate(document)
    except ValidationError as error:
        raise ValueError(agreeing(count, "[its|their] content is invalid")) from error
