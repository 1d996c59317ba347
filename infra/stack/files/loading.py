"""Reads a YAML file into plain values, and refuses what YAML itself would silently accept."""

import re
from pathlib import Path
from typing import Any

import yaml

from components.contract.problems import CannotRunError
from infra.stack.files.positions import MERGE, lines_of, place, shown
from infra.stack.files.yaml_words import words_for

#: Numbers that YAML 1.1 does not read as they are written: octal, base 60, and with separated digits.
_ODD_NUMBER = re.compile(r"[-+]?(0[0-7_]+|[0-9_]+(:[0-9]+)+|[0-9]+_[0-9_]*)")
_QUOTES_OF_PROSE = "\u2018\u2019\u201a\u201c\u201d\u201e\u00ab\u00bb"
#: Characters that look like a space or are invisible.
_UNSEEN = re.compile(r"[\u00a0\u1680\u2000-\u200f\u202f\u205f\u2060\u3000\ufeff]")


class _UniqueKeyLoader(yaml.CSafeLoader):
    """A fast YAML loader that refuses a duplicate key; YAML itself would silently keep the last one."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[Any] = set()
        for key_node, _ in node.value:
            # A key that is not a scalar is refused below; `<<` may merge any number of mappings.
            if not isinstance(key_node, yaml.ScalarNode) or key_node.tag == MERGE:
                continue
            key = self.construct_object(key_node, deep=True)
            if key in seen:
                raise yaml.constructor.ConstructorError(None, None, f"`{key}` is given twice", key_node.start_mark)
            seen.add(key)
        return super().construct_mapping(node, deep=deep)

    def construct_plain_number(self, node: yaml.ScalarNode) -> int:
        """Refuse a number whose value differs from how it reads."""
        value: int = self.construct_yaml_int(node)
        if _ODD_NUMBER.fullmatch(node.value):
            raise yaml.constructor.ConstructorError(None, None, f"`{node.value}` is read as {value}", node.start_mark)
        return value

    def construct_typed_text(self, node: yaml.ScalarNode) -> str:
        """Refuse characters that a word processor or a web page put into a name; text of several words may contain
        them.
        """
        value: str = self.construct_yaml_str(node)
        if " " in value:
            return value
        if not node.style and value.startswith(tuple(_QUOTES_OF_PROSE)):
            problem = f"`{value[0]}` is not a YAML quotation mark"
            raise yaml.constructor.ConstructorError(None, None, problem, node.start_mark)
        if unseen := _UNSEEN.search(value):
            problem = f"a value contains the invisible character U+{ord(unseen[0]):04X}"
            raise yaml.constructor.ConstructorError(None, None, problem, node.start_mark)
        return value


_UniqueKeyLoader.add_constructor("tag:yaml.org,2002:int", _UniqueKeyLoader.construct_plain_number)
_UniqueKeyLoader.add_constructor("tag:yaml.org,2002:str", _UniqueKeyLoader.construct_typed_text)


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
