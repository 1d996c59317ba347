"""The READMEs of the repository, taken apart: fenced blocks, shell commands, code spans, links and headings."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.repository import ROOT

_FENCE = re.compile(r"^```([a-z]*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_SPAN = re.compile(r"`([^`\n]+)`")
_LINK = re.compile(r"\]\(([^)\s]+)\)|(?:src|srcset)=\"([^\"]+)\"")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
_HEADING_LINE = re.compile(r"^(#+) (.+)$", re.MULTILINE)
#: Words that end a command on a shell line.
_NEXT = {"|", "||", "&&", ";", ">", ">>"}


@dataclass(frozen=True)
class Block:
    """One fenced block: where it stands, its language and its text."""

    place: str
    language: str
    text: str


@dataclass(frozen=True)
class Command:
    """One shell command of a README, and the lines of output that it shows. `whole` is False for a mention in prose."""

    place: str
    words: tuple[str, ...]
    output: tuple[str, ...] = ()
    whole: bool = True

    def __str__(self) -> str:
        return f"{self.place}-{' '.join(self.words)}"


@dataclass(frozen=True)
class Readme:
    path: Path

    @property
    def name(self) -> str:
        return str(self.path.relative_to(ROOT))

    @property
    def text(self) -> str:
        return self.path.read_text()

    @property
    def prose(self) -> str:
        """The text without its fenced blocks."""
        return _FENCE.sub("", self.text)

    def blocks(self) -> Iterator[Block]:
        for match in _FENCE.finditer(self.text):
            line = self.text.count("\n", 0, match.start()) + 1
            yield Block(f"{self.name}:{line}", match[1], match[2])

    def spans(self) -> Iterator[str]:
        yield from _SPAN.findall(self.prose)

    def links(self) -> Iterator[str]:
        yield from (target for pair in _LINK.findall(self.prose) for target in pair if target)

    def anchors(self) -> set[str]:
        """Anchors of the headings, as GitHub makes them."""
        return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in _HEADING.findall(self.prose)}

    def commands(self) -> Iterator[Command]:
        """Commands of the console blocks with their output, then those that the prose mentions."""
        for block in self.blocks():
            if block.language == "console":
                yield from _console(block)
        for span in self.spans():
            words = span.split()
            if words[0] in {"replicate", "make"} and len(words) > 1:
                yield Command(self.name, tuple(words), whole=False)


def _console(block: Block) -> Iterator[Command]:
    for text in re.split(r"^\$ ", block.text.replace("\\\n", " "), flags=re.MULTILINE)[1:]:
        line, *output = text.splitlines()
        words = shlex.split(line, comments=True)
        ends = next((index for index, word in enumerate(words) if word in _NEXT), len(words))
        yield Command(block.place, tuple(words[:ends]), tuple(output))


def _is_elsewhere(path: Path) -> bool:
    """Whether a README is in a hidden folder, or is a template that `replicate init` fills in."""
    folders = path.relative_to(ROOT).parts[:-1]
    return "templates" in folders or any(folder.startswith(".") for folder in folders)


#: Every README of the repository, the first screen first.
READMES = [Readme(path) for path in sorted(ROOT.glob("**/README.md")) if not _is_elsewhere(path)]
#: The pages about the project itself.
ABOUT = [Readme(path) for path in sorted((ROOT / ".github").glob("*.md"))]
#: The pages that a program writes, in whole or in part.
GENERATED = [
    Readme(path) for path in sorted(ROOT.glob("**/[A-Z]*.md")) if path.name != "README.md" and not _is_elsewhere(path)
]


def shown(part: str) -> str:
    """Return the only block of a README that contains this text, wherever the page is."""
    (text,) = [block.text for readme in READMES for block in readme.blocks() if part in block.text]
    return text


def chapter(title: str) -> str:
    """Return the text below the only heading with this title, up to the next heading of its level or a higher one."""
    (found,) = [match for readme in READMES for match in _HEADING_LINE.finditer(readme.text) if match[2] == title]
    rest = found.string[found.end() :]
    end = re.search(rf"^#{{1,{len(found[1])}}} ", rest, re.MULTILINE)
    return rest[: end.start()] if end else rest
