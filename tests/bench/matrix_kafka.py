"""Which versions of Kafka are supported: `make matrix KAFKA='3.9.2 4.3.1'` judges each, one after the other.

Brokers and workers of the version run the demo's flow on a local stack, in a copy of this project that pins it. The
definitions of its properties are read from the same jars, and compared with what `replicate check` knows of it.
"""

import os
import re
import shutil
import subprocess
import sysconfig
import tempfile
import time
import venv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any
from unittest.mock import patch

import yaml
from rich.console import Console

from kafka_replication.components.flows.operators import OPERATORS
from kafka_replication.components.properties import definitions as known
from kafka_replication.components.properties.definitions import Definition, Owner, minor_version
from kafka_replication.infra.machine.jdk import find_jdk
from kafka_replication.infra.machine.paths import link_package
from kafka_replication.infra.machine.toolchain import JarSet, ensure_jars
from tests.contract.property_definitions import REPEATING, TRANSFORMS, definition, read_config_defs
from tests.repository import ROOT

HEAD = ("Kafka", "its properties, as `check` knows them", "the demo's flow on brokers and workers of it")
PROVEN = "proven"
THE_SAME = "the same"
UNKNOWN = "not known"
OTHERS = "only of other versions"
_COPIED = ("Pulumi.yaml", "components", "infra", "spark", "stacks")
_COMPARED = [field.name for field in fields(Definition) if field.name not in ("importance", "documentation", "origin")]
_POM = Path("infra", "machine", "maven", "connect", "pom.xml")
_MAIN = "from kafka_replication.infra.commands.app import main; main()"
#: An image of one's own may have any Kafka. Nothing on a local stack runs it.
_IMAGE = f"registry.example.com/kafka@sha256:{'0' * 64}"


def copied(version: str, folder: Path, libraries: str = sysconfig.get_path("purelib")) -> None:
    """Copy this project, with another Kafka for brokers and workers, and an environment with these libraries."""
    for name in _COPIED:
        source = ROOT / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, folder / name)
    _replace(folder / _POM, r"<kafka.version>[^<]+", f"<kafka.version>{version}")
    _replace(folder / "infra" / "machine" / "versions.py", r'\nKAFKA = "[^"]+"', f'\nKAFKA = "{version}"')
    topology = folder / "stacks" / "topologies" / "local.yaml"
    document = yaml.safe_load(topology.read_text())
    document["replications"]["orders"]["connect"] |= {"version": version}
    if version not in OPERATORS[max(OPERATORS)]:
        document["replications"]["orders"]["connect"] |= {"image": _IMAGE}
    topology.write_text(yaml.safe_dump(document))
    # The stack's own processes get no PYTHONPATH, so the copy has an environment: its package, then our libraries.
    link_package(folder, folder / "src")
    venv.create(folder / ".venv", symlinks=True)
    (packages,) = folder.glob(".venv/lib/python*/site-packages")
    (packages / "copy.pth").write_text(f"{folder / 'src'}\n{libraries}\n")


def _replace(file: Path, old: str, new: str) -> None:
    text, count = re.subn(old, new, file.read_text())
    assert count == 1, f"{file} has `{old}` {count} times"
    file.write_text(text)


def compared(version: str, sections: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    """How what `check` knows differs from what a version's ConfigDefs define."""
    found: dict[str, set[str]] = {UNKNOWN: set(), OTHERS: set(), "with another value": set()}
    for key, how in _differences(version, sections):
        found[how].add(f"`{key}`")
    told = {how: str(len(keys)) if how == OTHERS else ", ".join(sorted(keys)) for how, keys in found.items() if keys}
    return "; ".join(f"{how}: {what}" for how, what in told.items()) or THE_SAME


def _differences(version: str, sections: Mapping[str, Sequence[Mapping[str, Any]]]) -> Iterator[tuple[str, str]]:
    real = {name: {prop["name"]: definition(prop) for prop in props} for name, props in sections.items()}
    for name, repeated in REPEATING.items():
        others = {key: value for other in repeated for key, value in real[other].items()}
        real[name] = {key: value for key, value in real[name].items() if others.get(key) != value}
    minor = minor_version(version)
    pairs: dict[str, tuple[Mapping[str, Definition], Mapping[str, Definition]]]
    pairs = {owner.value: (known.definitions(minor, owner), _read(real, minor, owner)) for owner in Owner}
    for transform in TRANSFORMS:
        read = real[f"transforms.{transform}"].items()
        defined = {key: known._definition(key, entry, known.Origin.CONNECT) for key, entry in read}
        pairs[transform] = known.transform_definitions(minor).get(transform, {}), defined
    for ours, theirs in pairs.values():
        for key in ours.keys() | theirs.keys():
            if key not in ours:
                yield key, UNKNOWN
            elif key not in theirs:
                yield key, OTHERS
            elif any(getattr(ours[key], name) != getattr(theirs[key], name) for name in _COMPARED):
                yield key, "with another value"


def _read(real: Mapping[str, Any], minor: str, owner: Owner) -> Mapping[str, Definition]:
    with patch.object(known, "_read", lambda _: real):
        return known._data(minor, owner)


def proven(folder: Path) -> str:
    """Run the demo of the copy and stop its stack; returns what it came to."""
    env = os.environ | {"REPLICATE_LOCAL": str(folder / ".local")}
    program = [str(folder / ".venv" / "bin" / "python"), "-c", _MAIN, "local"]
    began = time.monotonic()
    try:
        ran = subprocess.run([*program, "demo"], cwd=folder, env=env, check=False)
    finally:
        subprocess.run([*program, "down", "--purge"], cwd=folder, env=env, check=False)
    took = f"{time.monotonic() - began:.0f} s"
    return f"{PROVEN}, in {took}" if ran.returncode == 0 else f"NOT proven: exit code {ran.returncode}, after {took}"


def row(version: str) -> tuple[str, ...]:
    """The row of one version."""
    with tempfile.TemporaryDirectory(prefix=f"kafka-{version}-") as name:
        folder = Path(name)
        copied(version, folder)
        jdk = find_jdk()
        jars = ensure_jars(JarSet("connect", folder / _POM, f"Kafka {version}"), jdk, Console())
        assert (jars / f"kafka-clients-{version}.jar").is_file(), jars
        return version, compared(version, read_config_defs(jdk, jars)), proven(folder)
