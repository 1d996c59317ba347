"""Which operators are supported: what is rendered for each, by the definitions of each release: `make matrix`.

`STRIMZI` names a clone of strimzi-kafka-operator, whose tags have the definitions as each release installs them. Maven
has Strimzi's generator of definitions for two releases only, and the API of others not at all.
"""

import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import yaml
from jsonschema import Draft202012Validator

from kafka_replication.components.checks import check_topology
from kafka_replication.components.checks.versions import CONNECT_SINCE
from kafka_replication.components.contract.problems import Severity
from kafka_replication.components.flows.operators import OPERATORS, STRIMZI_GROUP, V1_SINCE
from kafka_replication.components.flows.resolved import resolve_flows
from kafka_replication.components.render.deployments import deployments
from kafka_replication.components.render.kafka_users import kafka_user_objects
from kafka_replication.components.render.planned_objects import Manifest
from kafka_replication.components.topology.model import Topology
from kafka_replication.components.topology.parsing import parse_topology
from kafka_replication.infra.stack.settings import read_settings, stack_names
from tests.bench import matrix_kafka, matrix_pulumi, matrix_python, matrix_spark
from tests.pages import put, section, table
from tests.repository import ROOT, STACKS

PAGE = ROOT / "infra" / "SUPPORT.md"
_DOCUMENTS = ROOT / "tests" / "components" / "render" / "documents"
_INSTALLED = "packaging/install/cluster-operator/"
_RELEASE = re.compile(r"(\d+)\.(\d+)\.\d+")
_ADDRESSES = {f"{alias}Bootstrap": f"{alias}:9092" for alias in ("useast", "uswest")}
#: Variable of `make matrix` -> the module that judges each of the values in it.
PARTS = {"KAFKA": matrix_kafka, "PYTHONS": matrix_python, "PULUMI": matrix_pulumi, "SPARK": matrix_spark}
Release = tuple[int, ...]
#: The schema of `spec` by kind and API version.
Definitions = Mapping[tuple[str, str], Mapping[str, Any]]


def _git(*arguments: str) -> str:
    command = ["git", "-C", os.environ["STRIMZI"], *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def releases() -> list[Release]:
    """The releases of the supported operators and of newer ones, oldest first."""
    tags = (tuple(map(int, tag.split("."))) for tag in _git("tag").split() if _RELEASE.fullmatch(tag))
    return sorted(tag for tag in tags if tag[:2] >= min(OPERATORS))


def definitions(release: Release) -> Definitions:
    """What a release installs for the kinds that are rendered."""
    tag, found = ".".join(map(str, release)), {}
    for file in _git("ls-tree", "--name-only", tag, _INSTALLED).split():
        if re.search(r"-Crd-kafka(connect|connector|mirrormaker2|user|topic)\.yaml$", file):
            spec = yaml.load(_git("show", f"{tag}:{file}"), yaml.CSafeLoader)["spec"]
            for version in spec["versions"]:
                schema = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
                found[spec["names"]["kind"], f"{STRIMZI_GROUP}/{version['name']}"] = schema
    return found


def closed(schema: Any) -> Any:
    """The schema without room for other fields, which an API server drops without a message."""
    if not isinstance(schema, dict):
        return schema
    below = {key: closed(value) for key, value in schema.items() if key not in ("properties", "nullable")}
    if "properties" in schema:
        below["properties"] = {key: closed(value) for key, value in schema["properties"].items()}
    kept = schema.get("x-kubernetes-preserve-unknown-fields") or schema.get("x-kubernetes-int-or-string")
    if schema.get("type") == "object" and not kept:
        below.setdefault("additionalProperties", False)
    return below


def complaints(known: Definitions, body: Manifest) -> Iterator[str]:
    """What a server with these definitions would refuse or drop of an object."""
    schema = known.get((body["kind"], body["apiVersion"]))
    if schema is None:
        yield f"{body['kind']}: {body['apiVersion']} is not served"
        return
    for error in Draft202012Validator(closed(schema)).iter_errors(body["spec"]):
        yield f"{body['kind']}: {'.'.join(map(str, ['spec', *error.absolute_path]))}: {error.message}"


def topologies() -> Iterator[tuple[Topology, str | None, Mapping[str, Any]]]:
    """The topologies of the example stacks, with region and values, and those of the operators' guides."""
    for stack in stack_names(STACKS):
        settings = read_settings(stack, STACKS)
        yield settings.topology, settings.region, {**settings.values, **_ADDRESSES}
    for document in sorted(_DOCUMENTS.glob("*.yaml")):
        yield parse_topology(yaml.safe_load(document.read_text())["topology"]), None, {}


def rendered(operator: str) -> Iterator[Manifest]:
    """What is rendered of Strimzi's kinds for an operator; a topology that `check` refuses for it is left out."""
    for given, region, values in topologies():
        topology = given.model_copy(update={"strimzi": operator})
        if any(problem.severity is Severity.ERROR for problem in check_topology(topology)):
            continue
        flows = resolve_flows(topology, region, values)
        objects = [planned for deployment in deployments(flows) for planned in deployment.objects]
        for planned in (*objects, *kafka_user_objects(topology, region)):
            if planned.manifest["apiVersion"].startswith(STRIMZI_GROUP):
                yield planned.manifest


def settings_of(release: Release, known: Definitions) -> Iterator[str]:
    """The values of `strimzi` that fit a release."""
    named = f"{release[0]}.{release[1]}"
    apis = sorted(version.rpartition("/")[2] for kind, version in known if kind == "KafkaConnect")
    yield named
    if release[:2] >= V1_SINCE and "v1beta2" in apis:
        yield f"{named}/v1beta2"
    yield from apis


def has(schema: Any, path: list[str]) -> bool:
    """Whether a schema has the field at a path, through lists and maps."""
    while "items" in schema or isinstance(schema.get("additionalProperties"), dict):
        schema = schema["items"] if "items" in schema else schema["additionalProperties"]
    return not path or (path[0] in schema.get("properties", {}) and has(schema["properties"][path[0]], path[1:]))


def rows() -> Iterator[tuple[str, str, str, str]]:
    """One row for each release; a field that `check` expects or refuses wrongly is a finding, too."""
    for release in releases():
        known = definitions(release)
        asked, kinds, found = list(settings_of(release, known)), Counter[str](), Counter[str]()
        for operator in asked:
            for body in rendered(operator):
                kinds[body["kind"]] += 1
                found.update(complaints(known, body))
        for path, since in CONNECT_SINCE.items():
            fields = [schema for (kind, _), schema in known.items() if kind == "KafkaConnect"]
            there, taken = any(has(schema, path.split(".")) for schema in fields), release[:2] >= since
            # A patch release may have a field of the next minor one; `strimzi` does not name patch releases.
            if taken > there or (there > taken and release[2] == 0):
                found[f"`check` takes `connect.{path}` from {'.'.join(map(str, since))} on"] += 1
        judged = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
        verdict = (
            "; ".join(f"{complaint} ({count})" for complaint, count in found.items()) or "accepted, nothing dropped"
        )
        if release[:2] not in OPERATORS:
            verdict = f"not supported: {verdict}"
        yield ".".join(map(str, release)), ", ".join(f"`{one}`" for one in asked), judged, verdict


def page_rows(name: str) -> dict[str, tuple[str, ...]]:
    """The rows of a table of the page by their first cell, in any order of the page."""
    lines = section(PAGE.read_text(), name).splitlines()[2:]
    cells = (tuple(re.split(r" *\| *", line.removeprefix("| ").removesuffix(" |"))) for line in lines)
    return {row[0]: row for row in cells}


def put_row(name: str, head: Sequence[str], row: Sequence[str]) -> None:
    """Write one row into a table of the page. The others stay, so that a part can be run again, or later."""
    known = page_rows(name) | {row[0]: tuple(row)}
    put(PAGE, name, table(head, sorted(known.values(), key=_numbers)))


def _numbers(row: Sequence[str]) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", row[0])]


def main() -> None:
    asked = {name: os.environ[name].split() for name in (*PARTS, "STRIMZI") if os.environ.get(name)}
    if not asked:
        sys.exit("Say what to judge: make matrix STRIMZI=CLONE KAFKA='4.2.0 4.3.1'")
    if "STRIMZI" in asked:
        put(PAGE, "strimzi", table(("release", "`strimzi`", "judged", "verdict"), list(rows())))
    for name, part in PARTS.items():
        for one in asked.get(name, ()):
            put_row(name.lower(), part.HEAD, part.row(one))


if __name__ == "__main__":
    main()
