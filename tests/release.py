"""Builds what is released: `make dist` writes a source archive, a wheel, a bill of materials and checksums into dist/.

With `--notes TAG`, it prints the changelog's section of that version instead.

Everything is built twice, from what the last commit holds, and must have the same bytes both times. The wheel is built
from the source archive, so that whoever rebuilds it from there gets the same one.
"""

import argparse
import gzip
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from packaging.metadata import Metadata

from kafka_replication.infra.machine.paths import TOP
from tests.bill_of_materials import bill_of_materials
from tests.job_image import sums
from tests.repository import ROOT

DIST = ROOT / "dist"
BILL_OF_MATERIALS = "sbom.cdx.json"
CHANGELOG = ROOT / ".github" / "CHANGELOG.md"
FOLDERS = ("components", "infra", "spark")
#: What the source archive holds beside the folders.
FILES = ("LICENSE", "README.md", "pyproject.toml", "setup.py")
#: The only pages that a command reads: `replicate explain CODE`. `init` copies those in folders of templates.
READ_PAGES = {"infra/PROBLEMS.md", "infra/operate/ALERTS.md"}
_BUILD = "import sys, setuptools.build_meta as backend; getattr(backend, sys.argv[1])(sys.argv[2])"


def project() -> dict[str, Any]:
    """The table `project` of pyproject.toml."""
    table: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return table


def git(*words: str) -> bytes:
    """The output of a git command in this repository."""
    return subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True).stdout


def build(folder: Path, seconds: int) -> dict[str, bytes]:
    """Build the source archive, and the wheel from it, in an empty folder; `seconds` is the time that both state."""
    archive = git("archive", "HEAD", *FOLDERS, *FILES)
    _extract(archive, folder / "source")
    name, content = _built("build_sdist", folder / "source", seconds)
    source = _normalized(content, seconds)
    _extract(source, folder / "unpacked")
    (unpacked,) = (folder / "unpacked").iterdir()
    wheel_name, wheel = _built("build_wheel", unpacked, seconds)
    return {name: source, wheel_name: wheel}


def _extract(archive: bytes, folder: Path) -> None:
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        files.extractall(folder, filter="data")


def _built(kind: str, source: Path, seconds: int) -> tuple[str, bytes]:
    out = source / "built"
    out.mkdir()
    # The files that the build writes have the modes that the umask leaves.
    subprocess.run(
        [sys.executable, "-c", _BUILD, kind, str(out)],
        cwd=source,
        env=os.environ | {"SOURCE_DATE_EPOCH": str(seconds)},
        umask=0o022,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    (file,) = out.iterdir()
    return file.name, file.read_bytes()


def _normalized(archive: bytes, seconds: int) -> bytes:
    """The same files in the order of their names, without the times and the user of this machine."""
    out = io.BytesIO()
    with (
        tarfile.open(fileobj=io.BytesIO(archive)) as files,
        gzip.GzipFile(filename="", fileobj=out, mode="wb", mtime=seconds) as compressed,
        tarfile.open(fileobj=compressed, mode="w", format=tarfile.PAX_FORMAT) as ordered,
    ):
        for member in sorted(files.getmembers(), key=lambda member: member.name):
            member.mtime, member.uid, member.gid, member.uname, member.gname = seconds, 0, 0, "", ""
            member.pax_headers = {}
            ordered.addfile(member, files.extractfile(member))
    return out.getvalue()


def differences(first: Mapping[str, bytes], second: Mapping[str, bytes]) -> Iterator[str]:
    """Report the files that two builds do not agree on."""
    for name in sorted(first.keys() | second.keys()):
        if first.get(name) != second.get(name):
            yield f"{name}: two builds of the same commit have different bytes."


def packaged(committed: Collection[str]) -> set[str]:
    """The names in the wheel of the files that the packages need: all but pages and pictures for readers."""
    return {
        "kafka_replication/" + name.removeprefix(f"{TOP.parent}/")
        for name in committed
        if name.split("/")[0] in FOLDERS
        and (not name.endswith((".md", ".png", ".svg")) or "/templates/" in name or name in READ_PAGES)
    }


def content_problems(committed: Collection[str], wheel: Collection[str], source: Collection[str]) -> Iterator[str]:
    """Report what the archives lack, and what nobody needs in them. The names in `source` begin with its folder."""
    own = {name for name in wheel if ".dist-info/" not in name}
    for name in sorted(packaged(committed) - own):
        yield f"{name}: the wheel lacks it. Remedy: list it in package-data, in pyproject.toml."
    for name in sorted(own - packaged(committed)):
        yield f"{name}: the wheel holds it, but no package needs it. Remedy: narrow package-data, in pyproject.toml."
    made = {"PKG-INFO", "setup.cfg"}
    for name in sorted(name.partition("/")[2] for name in source):
        if name not in {*committed, *made} and not name.startswith("kafka_replication.egg-info/"):
            yield f"{name}: the source archive holds it, but it is not committed below {', '.join(FOLDERS)}."


def metadata_problems(text: bytes, stated: Mapping[str, Any], readme: str) -> Iterator[str]:
    """Report what an index would refuse in a METADATA file, and what differs from `project` in pyproject.toml."""
    try:
        found = Metadata.from_email(text)
    except ExceptionGroup as error:
        yield from (f"METADATA: {each}." for each in error.exceptions)
        return
    wanted = {
        "name": stated["name"],
        "version": stated["version"],
        "summary": stated["description"],
        "description": readme,
        "description_content_type": "text/markdown",
        "license_expression": stated["license"],
        "license_files": stated["license-files"],
        "requires_python": stated["requires-python"],
        "classifiers": stated["classifiers"],
    }
    for name, value in wanted.items():
        if (given := getattr(found, name)) is None or str(given) != str(value):
            yield f"METADATA: {name} is {_start(given)}. pyproject.toml and README.md want {_start(value)}."
    for requirement in found.requires_dist or ():
        if requirement.url:
            yield f"METADATA: {requirement} names a URL. An index refuses that."


def _start(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:60] + "…"


def problems(built: Mapping[str, bytes]) -> Iterator[str]:
    """Report what is wrong with the contents and the metadata of both archives."""
    (wheel,) = (content for name, content in built.items() if name.endswith(".whl"))
    (source,) = (content for name, content in built.items() if name.endswith(".tar.gz"))
    with zipfile.ZipFile(io.BytesIO(wheel)) as files, tarfile.open(fileobj=io.BytesIO(source)) as archive:
        committed = git("ls-tree", "-r", "--name-only", "HEAD", *FOLDERS, *FILES).decode().splitlines()
        names = [member.name for member in archive.getmembers() if member.isfile()]
        yield from content_problems(committed, files.namelist(), names)
        (metadata,) = (name for name in files.namelist() if name.endswith(".dist-info/METADATA"))
        yield from metadata_problems(files.read(metadata), project(), (ROOT / "README.md").read_text())


def notes(tag: str, version: str, changelog: str) -> str:
    """What a release says: the section of its version. Raises ValueError if the tag or the changelog is not ready."""
    if tag != f"v{version}":
        raise ValueError(f"the tag is {tag}, but pyproject.toml states {version}. Remedy: change one of them.")
    section = re.search(rf"^## \[{re.escape(version)}\] - (\S+)\n(.+?)(?=^## |\Z)", changelog, re.MULTILINE | re.DOTALL)
    if section is None or not re.fullmatch(r"\d{4}-\d\d-\d\d", section[1]):
        raise ValueError(f"CHANGELOG.md lacks a dated section. Remedy: begin one with `## [{version}] - YYYY-MM-DD`.")
    return f"{section[2].strip()}\n"


def main() -> int:
    """Write dist/ or print the notes; or print what is wrong and return 1."""
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--notes", metavar="TAG")
    if (tag := arguments.parse_args().notes) is not None:
        try:
            print(notes(tag, project()["version"], CHANGELOG.read_text()), end="")
        except ValueError as error:
            print(error, file=sys.stderr)
            return 1
        return 0
    return _build_all()


def _build_all() -> int:
    if changed := git("status", "--porcelain", "--", *FOLDERS, *FILES).decode():
        print(f"{changed}A release holds only what is committed. Remedy: commit or stash these.", file=sys.stderr)
        return 1
    seconds = int(git("log", "-1", "--format=%ct"))
    with tempfile.TemporaryDirectory() as folder:
        first, second = (build(Path(folder) / name, seconds) for name in ("first", "second"))
    if found := [*differences(first, second), *problems(first)]:
        print(*found, sep="\n", file=sys.stderr)
        return 1
    shutil.rmtree(DIST, ignore_errors=True)
    DIST.mkdir()
    for name, content in first.items():
        (DIST / name).write_bytes(content)
    (DIST / BILL_OF_MATERIALS).write_text(json.dumps(bill_of_materials(seconds), indent=2) + "\n")
    (DIST / "SHA256SUMS").write_text("".join(sums(DIST.iterdir())))
    print((DIST / "SHA256SUMS").read_text(), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
