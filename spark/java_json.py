"""Transfers objects of Spark's JVM to Python as JSON, because each call into the JVM takes time.

The JVM writes an answer through a buffer of 8 KiB, with Nagle's algorithm on: the second buffer waits until Python's
end has acknowledged the first, which takes about 40 ms. So a text is sent in pieces that fit into the buffer. A long
text is sent through a pipe, which takes less time than a call for each piece.
"""

import json
import os
from collections.abc import Callable, Collection, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from spark.read.kafka_errors import JavaObject

_JACKSON = "com.fasterxml.jackson"
#: Less than the buffer's 8,192 bytes: an answer has a few bytes around its text, and one more for each backslash.
_PIECE = 8_000
#: A longer text is sent through a pipe.
_IN_PIECES = 16 * _PIECE


class JavaJson:
    """Writes the fields of objects: Kafka's classes have no getters that Jackson would find.

    `java` gives a class of the JVM by its full name. `left_out` are instances with the fields that are left out of all
    instances of their class. Instances of the classes of `as_text` are written as Java prints them.
    """

    def __init__(
        self,
        java: Callable[[str], JavaObject],
        left_out: Iterable[tuple[JavaObject, Collection[str]]] = (),
        as_text: Iterable[JavaObject] = (),
    ) -> None:
        field = java(f"{_JACKSON}.annotation.PropertyAccessor").FIELD
        self._mapper: JavaObject = java(f"{_JACKSON}.databind.ObjectMapper")()
        self._mapper.setVisibility(field, java(f"{_JACKSON}.annotation.JsonAutoDetect$Visibility").ANY)
        # In ASCII, a piece has as many bytes as characters, and no character is split.
        self._mapper.configure(java(f"{_JACKSON}.core.JsonGenerator$Feature").ESCAPE_NON_ASCII, True)
        # Takes classes from instances: under spark-submit, `Class.forName` does not see the jars that Spark added.
        for example, fields in left_out:
            names = java("java.util.HashSet")()
            for name in fields:
                names.add(name)
            ignored = java(f"{_JACKSON}.annotation.JsonIgnoreProperties$Value").forIgnoredProperties(names)
            self._mapper.configOverride(example.getClass()).setIgnorals(ignored)
        module = java(f"{_JACKSON}.databind.module.SimpleModule")()
        for example in as_text:
            module.addSerializer(java(f"{_JACKSON}.databind.ser.std.ToStringSerializer")(example.getClass()))
        self._mapper.registerModule(module)
        self._java = java

    def read(self, value: JavaObject) -> Any:
        """The object as parsed JSON; bytes are base64."""
        # Each answer has its own writer, because heartbeats are observed in another thread.
        writer: JavaObject = self._java("java.io.StringWriter")()
        self._mapper.writeValue(writer, value)
        text = writer.getBuffer()
        size = text.length()
        if size > _IN_PIECES:
            return json.loads(self._through_pipe(text))
        pieces = (text.substring(start, min(start + _PIECE, size)) for start in range(0, size, _PIECE))
        return json.loads("".join(pieces))

    def _through_pipe(self, text: JavaObject) -> bytes:
        with TemporaryDirectory() as folder, ThreadPoolExecutor(1, "answer") as reader:
            pipe = Path(folder, "answer")
            os.mkfifo(pipe, 0o600)
            # If both ends waited for each other to open the pipe, one that fails would leave the other waiting forever.
            with os.fdopen(os.open(pipe, os.O_RDONLY | os.O_NONBLOCK), "rb") as end:
                os.set_blocking(end.fileno(), True)
                writer = self._writer(pipe)
                # From here on there is a writer, so the reader reads until it is closed.
                found = reader.submit(end.read)
                try:
                    writer.append(text, 0, text.length())
                finally:
                    writer.close()
                return found.result()

    def _writer(self, file: Path) -> JavaObject:
        return self._java("java.io.FileWriter")(str(file))
