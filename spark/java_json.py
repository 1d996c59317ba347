"""Brings objects of Spark's JVM to Python as JSON, because each call into the JVM takes time.

The JVM writes an answer through a buffer of 8 KiB, with Nagle's algorithm on: what follows the first buffer waits until
Python's end has acknowledged it, which takes about 40 ms. So a long text crosses in pieces that fit into the buffer.
"""

import json
from collections.abc import Callable, Collection
from typing import Any

from spark.kafka_errors import JavaObject

_JACKSON = "com.fasterxml.jackson"
#: Of the buffer's 8,192 bytes. An answer has a few bytes around its text, and one more for each backslash in it.
_PIECE = 8_000


class JavaJson:
    """Writes the fields of objects: Kafka's classes have no getters that Jackson would find.

    `java` gives a class of the JVM by its full name. `left_out` are fields of instances of the class of `example`.
    """

    def __init__(
        self, java: Callable[[str], JavaObject], example: JavaObject | None = None, left_out: Collection[str] = ()
    ) -> None:
        field = java(f"{_JACKSON}.annotation.PropertyAccessor").FIELD
        self._mapper: JavaObject = java(f"{_JACKSON}.databind.ObjectMapper")()
        self._mapper.setVisibility(field, java(f"{_JACKSON}.annotation.JsonAutoDetect$Visibility").ANY)
        # In ASCII, a piece has as many bytes as characters, and no character is parted.
        self._mapper.configure(java(f"{_JACKSON}.core.JsonGenerator$Feature").ESCAPE_NON_ASCII, True)
        if example is not None:
            names = java("java.util.HashSet")()
            for name in left_out:
                names.add(name)
            ignored = java(f"{_JACKSON}.annotation.JsonIgnoreProperties$Value").forIgnoredProperties(names)
            # Of an instance: under spark-submit, `Class.forName` does not see the jars that Spark added.
            self._mapper.configOverride(example.getClass()).setIgnorals(ignored)
        self._writer: JavaObject = java("java.io.StringWriter")()
        self._text: JavaObject = self._writer.getBuffer()

    def read(self, value: JavaObject) -> Any:
        """The object as Python has JSON: bytes are base64."""
        self._text.setLength(0)
        self._mapper.writeValue(self._writer, value)
        size = self._text.length()
        pieces = (self._text.substring(start, min(start + _PIECE, size)) for start in range(0, size, _PIECE))
        return json.loads("".join(pieces))
