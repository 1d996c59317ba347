"""The CycloneDX document of a release: all that our package needs with its extras, in the versions that we test.

Source: https://cyclonedx.org/docs/1.6/json/
"""

import re
import tomllib
from datetime import UTC, datetime
from typing import Any
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
    name, version = project["name"], project["version"]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "timestamp": datetime.fromtimestamp(seconds, UTC).isoformat(),
            "component": {
                "type": "application",
                "bom-ref": f"pkg:pypi/{name}@{version}",
                "name": name,
                "version": version,
                "purl": f"pkg:pypi/{name}@{version}",
                "licenses": [{"license": {"id": project["license"]}}],
            },
        },
        "components": [*_distributions(project), *_jars()],
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
    return {"type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl}
