"""The CycloneDX documents of a release: what our package needs with its extras, in the versions that we test, and what
the image holds that an archive has: `python -m tests.bill_of_materials image.tar`.

Sources: https://cyclonedx.org/docs/1.6/json/ and, of archives, https://github.com/opencontainers/image-spec
"""

import json
import re
import subprocess
import sys
import tarfile
import tomllib
from collections.abc import Iterator
from datetime import UTC, datetime
from email.parser import BytesParser
from pathlib import Path, PurePath
from typing import Any
from urllib.parse import quote, unquote
from xml.etree import ElementTree

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.job_image import JARS, needed
from tests.repository import ROOT

EXTRAS = ("prove", "operate", "all")
_POM = "{http://maven.apache.org/POM/4.0.0}"


def bill_of_materials(seconds: int) -> dict[str, Any]:
    """The document; `seconds` since 1970 is the time that it states."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    package = _component(f"pkg:pypi/{project['name']}@{project['version']}")
    licenses = [{"license": {"id": project["license"]}}]
    components = [*_distributions(project), *_jars()]
    return _document(seconds, {**package, "type": "application", "licenses": licenses}, components)


def image_bill_of_materials(archive: Path, seconds: int) -> dict[str, Any]:
    """The document of an image in an OCI archive: its Debian packages, Python distributions and jars."""
    with tarfile.open(archive) as files:
        (manifest,) = _blob(files, "index.json")["manifests"]
        layers = _blob(files, _path(manifest))["layers"]
        # What a later layer has replaces what an earlier one has.
        held = {each["purl"]: each for layer in layers for each in _of_layer(files, _path(layer))}
    image = _component(f"pkg:oci/kafka-replication@{quote(manifest['digest'])}")
    return _document(seconds, {**image, "type": "container"}, list(held.values()))


def _path(descriptor: dict[str, Any]) -> str:
    return f"blobs/{descriptor['digest'].replace(':', '/')}"


def _blob(files: tarfile.TarFile, name: str) -> dict[str, Any]:
    content = files.extractfile(name)
    assert content is not None
    document: dict[str, Any] = json.load(content)
    return document


def _of_layer(files: tarfile.TarFile, name: str) -> Iterator[dict[str, Any]]:
    jars = {f"{jar['name']}-{jar['version']}.jar": jar for jar in _jars()}
    with tarfile.open(fileobj=files.extractfile(name), mode="r|*") as layer:
        for member in layer:
            path = PurePath(member.name)
            if path.name in jars:
                yield jars[path.name]
            elif path.match("*.dist-info/METADATA"):
                fields = BytesParser().parsebytes(_content(layer, member))
                yield _component(f"pkg:pypi/{canonicalize_name(fields['Name'])}@{fields['Version']}")
            elif member.name == "var/lib/dpkg/status":
                for block in _content(layer, member).split(b"\n\n"):
                    if (fields := BytesParser().parsebytes(block))["Package"]:
                        yield _component(f"pkg:deb/debian/{fields['Package']}@{quote(fields['Version'])}")


def _content(layer: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    file = layer.extractfile(member)
    assert file is not None
    return file.read()


def _document(seconds: int, component: dict[str, Any], components: list[dict[str, Any]]) -> dict[str, Any]:
    stated = {"timestamp": datetime.fromtimestamp(seconds, UTC).isoformat(), "component": component}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": stated,
        "components": components,
    }


def _distributions(project: dict[str, Any]) -> list[dict[str, Any]]:
    """Python distributions, in the versions of requirements.txt."""
    stated = [*project["dependencies"], *(each for extra in EXTRAS for each in project["optional-dependencies"][extra])]
    names = {canonicalize_name(Requirement(each).name) for each in stated} - {project["name"]}
    locked = dict(re.findall(r"^([a-z0-9-]+)==([^\s;]+)", (ROOT / "requirements.txt").read_text(), re.MULTILINE))
    return [_component(f"pkg:pypi/{name}@{locked[name]}") for name in sorted(needed(tuple(names)))]


def _jars() -> list[dict[str, Any]]:
    """The jars that the validation adds to Spark, with the checksums that its image verifies."""
    sums = {name: digest for digest, name in map(str.split, JARS.read_text().splitlines())}
    found = []
    for each in ElementTree.parse(ROOT / "spark" / "pom.xml").iter(f"{_POM}dependency"):
        group, name, version = (each.findtext(f"{_POM}{tag}") for tag in ("groupId", "artifactId", "version"))
        digest = sums.pop(f"{name}-{version}.jar")
        hashes = [{"alg": "SHA-256", "content": digest}]
        found.append({**_component(f"pkg:maven/{group}/{name}@{version}"), "hashes": hashes})
    assert not sums, f"spark/pom.xml does not name {', '.join(sums)}"
    return found


def _component(purl: str) -> dict[str, Any]:
    name, _, version = purl.rpartition("/")[2].partition("@")
    return {"type": "library", "bom-ref": purl, "name": name, "version": unquote(version), "purl": purl}


if __name__ == "__main__":
    committed = subprocess.run(["git", "log", "-1", "--format=%ct"], cwd=ROOT, capture_output=True, check=True).stdout
    print(json.dumps(image_bill_of_materials(Path(sys.argv[1]), int(committed)), indent=2))
