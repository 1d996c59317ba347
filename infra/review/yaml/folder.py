"""The files of a folder at a commit and in the working tree. It only reads, and follows no symbolic link."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.infra.review.bases import git, git_failure, git_output

_READ = frozenset({".yaml", ".yml", ".json"})
#: Files from which other tools generate objects.
_TEMPLATES = frozenset({".tpl", ".gotmpl", ".j2", ".jinja2", ".jsonnet", ".libsonnet", ".cue", ".properties"})
_LINK, _FILE, _SUBMODULE = "120000", "100", "160000"


@dataclass(frozen=True)
class Files:
    """Contents by path relative to the folder; `others` are contents of links and templates, which are not read."""

    read: Mapping[str, bytes]
    others: Mapping[str, bytes]


def is_read(path: str) -> bool:
    """Return whether a file may hold objects."""
    return PurePosixPath(path).suffix in _READ


def may_matter(path: str) -> bool:
    """Return whether a file holds objects, or something from which other tools generate objects."""
    return is_read(path) or PurePosixPath(path).suffix in _TEMPLATES


def repository_of(folder: Path) -> Path:
    """Return the nearest folder that exists, from which git finds the repository. Raises CannotRunError for a file."""
    if folder.is_file():
        why = "A review compares a folder with the same folder at another commit."
        remedy = "name the folder that holds the file with `--yaml`."
        raise CannotRunError("not-a-folder", "it is a file", str(folder), why, remedy)
    return next(parent for parent in (folder, *folder.parents) if parent.is_dir())


def files_at(commit: str, folder: Path) -> Files:
    """Return the files that a commit has in a folder, which may no longer exist; none if it did not have the folder."""
    home = repository_of(folder)
    prefix = _inside(home, folder)
    listed = git_output(home, "ls-tree", "-r", "-z", "--full-tree", commit, "--", *([prefix] if prefix else []))
    entries: dict[str, tuple[str, str]] = {}
    modules: dict[str, bytes] = {}
    for entry in filter(None, listed.decode(errors="surrogateescape").split("\0")):
        (mode, _, blob), path = entry.split("\t", 1)[0].split(), entry.split("\t", 1)[1]
        name = PurePosixPath(path).relative_to(prefix or ".").as_posix()
        if mode == _SUBMODULE:
            modules[name] = blob.encode()
        elif path != prefix and may_matter(name) and (mode == _LINK or mode.startswith(_FILE)):
            entries[name] = (mode, blob)
    contents = dict(zip(entries, _blobs(home, [blob for _, blob in entries.values()]), strict=True))
    links = {name for name, (mode, _) in entries.items() if mode == _LINK}
    return _divided(contents, links, modules)


def files_now(folder: Path) -> Files:
    """Return the files of a folder in the working tree, without those that git ignores."""
    if not folder.is_dir():
        return Files({}, {})
    listed = git_output(folder, "ls-files", "--cached", "--others", "--exclude-standard", "-z", "--", ".")
    names = sorted({name for name in listed.decode(errors="surrogateescape").split("\0") if name and may_matter(name)})
    contents: dict[str, bytes] = {}
    links: set[str] = set()
    for name in names:
        path = folder / name
        if path.is_symlink():
            links.add(name)
            contents[name] = os.fsencode(path.readlink())
        elif path.is_file():
            contents[name] = path.read_bytes()
    staged = git_output(folder, "ls-files", "--stage", "-z", "--", ".").decode(errors="surrogateescape")
    modules = (entry.split("\t", 1) for entry in staged.split("\0") if entry.startswith(_SUBMODULE))
    return _divided(contents, links, {name: head.split()[1].encode() for head, name in modules})


def _divided(contents: Mapping[str, bytes], links: set[str], modules: Mapping[str, bytes]) -> Files:
    read = {name: text for name, text in contents.items() if is_read(name) and name not in links}
    return Files(read, {name: text for name, text in contents.items() if name not in read} | dict(modules))


def _inside(home: Path, folder: Path) -> str:
    """Return the path of a folder in its repository; "" for the top."""
    top = git_output(home, "rev-parse", "--show-prefix").decode(errors="surrogateescape").rstrip("\n")
    inner = folder.relative_to(home).as_posix()
    return (PurePosixPath(top or ".") / inner).as_posix().removeprefix("./").removesuffix(".").rstrip("/")


def _blobs(home: Path, blobs: list[str]) -> Iterator[bytes]:
    """Yield the contents of blobs, by one process for all of them."""
    at, text = 0, git(home, "cat-file", "--batch", given="".join(f"{blob}\n" for blob in blobs).encode()).stdout
    for blob in blobs:
        end = text.find(b"\n", at)
        head = text[at:end].split()
        if end < 0 or len(head) != 3:
            raise git_failure(home, f"it does not have the file {blob[:10]}")
        size = int(head[2])
        yield text[end + 1 : end + 1 + size]
        at = end + size + 2
