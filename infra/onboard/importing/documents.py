"""The YAML documents of a file, with duplicate keys: YAML itself would silently keep the last one."""

from collections.abc import Iterator
from typing import Any

import yaml

from infra.onboard.importing.left_out import LeftOut
from infra.stack.files.positions import MERGE


class _Loader(yaml.CSafeLoader):
    """A fast YAML loader that records duplicate keys. Dates stay text, as in the JSON of Kubernetes."""

    def __init__(self, stream: bytes) -> None:
        super().__init__(stream)
        self.repeated: list[tuple[str, int]] = []

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode) or key.tag == MERGE:
                continue
            if key.value in seen:
                self.repeated.append((key.value, key.start_mark.line + 1))
            seen.add(key.value)
        return super().construct_mapping(node, deep=deep)

    def construct_date(self, node: yaml.ScalarNode) -> str:
        return str(self.construct_scalar(node))


_Loader.add_constructor("tag:yaml.org,2002:timestamp", _Loader.construct_date)


def documents_of(file: str, content: bytes, left_out: list[LeftOut]) -> Iterator[object]:
    """Yield the documents of a file; none if it is not YAML, which `left_out` then says."""
    documents = []
    try:
        loader = _Loader(content)
        while loader.check_data():  # type: ignore[no-untyped-call]
            documents.append(loader.get_data())
    except (yaml.YAMLError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        line = f"line {mark.line + 1}" if mark is not None else ""
        why = "The file is not YAML."
        if b"{{" in content:
            why = "The file is a template, not YAML."
        remedy = "correct it; if it is a template, print it first with `helm template` or `kustomize build`."
        left_out.append(LeftOut(file, "", line, "invalid-yaml", why, remedy))
        return
    for key, line_number in loader.repeated:
        why = f"`{key}` is given twice in one mapping, and only the last value counts."
        left_out.append(LeftOut(file, "", f"line {line_number}", "duplicate-key", why, "remove one of the two."))
    yield from documents
