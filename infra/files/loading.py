"""Reads a YAML file into plain values, and refuses what YAML itself would let pass."""

from pathlib import Path
from typing import Any

import yaml

from components.contract.problems import CannotRunError
from infra.files.positions import lines_of, place, shown
from infra.files.yaml_words import words_for

_MERGE = "tag:yaml.org,2002:merge"


class _UniqueKeyLoader(yaml.CSafeLoader):
    """A fast YAML loader that refuses a duplicate key; YAML itself would silently keep the last one."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[Any] = set()
        for key_node, _ in node.value:
            # A key that is not a scalar is refused below; `<<` may merge any number of mappings.
            if not isinstance(key_node, yaml.ScalarNode) or key_node.tag == _MERGE:
                continue
            key = self.construct_object(key_node, deep=True)
            if key in seen:
                raise yaml.constructor.ConstructorError(None, None, f"`{key}` is given twice", key_node.start_mark)
            seen.add(key)
        return super().construct_mapping(node, deep=deep)


def load_yaml(path: Path) -> object:
    """The parsed YAML of a file. Raises CannotRunError for invalid YAML and for a duplicate key."""
    return parse_yaml(path.read_bytes(), shown(path))


def parse_yaml(content: bytes, file: str) -> object:
    """The parsed content of a file of this name. Raises CannotRunError for invalid YAML and for a duplicate key."""
    try:
        return yaml.load(content, _UniqueKeyLoader)
    except (yaml.YAMLError, ValueError) as error:
        lines = lines_of(content)
        words = words_for(error, lines)
        found = place(file, lines, words.line, words.column)
        raise CannotRunError("invalid-yaml", words.what, file, words.why, words.remedy, found.excerpt, found) from error
