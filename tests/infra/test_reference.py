"""The reference pages are what the code says, and have every key of topologies, stack files and plans."""

import json
import re
from pathlib import Path

import pytest
from pydantic import BaseModel

from kafka_replication.components.topology.in_cluster import InCluster
from kafka_replication.components.topology.model import Topology
from kafka_replication.infra.deploy.promotion.rule.plan import PromotionPlan
from kafka_replication.infra.stack.settings import SETTINGS
from tests.problem_catalogue import PAGE as PROBLEMS_PAGE
from tests.reference import ALERTS_PAGE, KEYS_PAGE, PAGES, alerts
from tests.repository import ROOT, STACKS

SCHEMAS: dict[str, type[BaseModel]] = {"topology": Topology, "plan": PromotionPlan, "inCluster": InCluster}
#: Strimzi's and Kubernetes' own objects, whose fields the project passes through.
_PASSED_THROUGH = ("Template", "PodTemplate", "ContainerTemplate", "Resources")


#: The catalogue of problems has messages that tests make in a process of their own.
_PAGES = [
    pytest.param(page, id=str(page.relative_to(ROOT)), marks=pytest.mark.process if page == PROBLEMS_PAGE else ())
    for page in PAGES
]


@pytest.mark.parametrize("page", _PAGES)
def test_a_reference_page_is_what_the_code_says(page: Path) -> None:
    assert page.read_text() == PAGES[page](), "run `make reference`"


@pytest.mark.parametrize("model", SCHEMAS.values(), ids=SCHEMAS)
def test_the_reference_has_every_key(model: type[BaseModel]) -> None:
    schema, text = model.model_json_schema(), KEYS_PAGE.read_text()
    parts = [schema, *(part for name, part in schema.get("$defs", {}).items() if name not in _PASSED_THROUGH)]
    keys = {key for part in parts for key in part.get("properties", {})} - {"kind"}
    assert [key for key in sorted(keys) if not re.search(rf"\b{re.escape(key)}\b", text)] == []


def test_the_reference_shows_the_default_of_a_key_as_yaml_writes_it() -> None:
    text = KEYS_PAGE.read_text()
    for key, value in {"offsetSyncs.lagMax": 100, "loopGuard": False, "policy": "default", "tasksMax": 3}.items():
        shown = value if isinstance(value, str) else json.dumps(value)
        assert re.search(rf"^\| `{re.escape(key)}` \|(.*\|)? `{shown}` \|", text, re.MULTILINE), key


def test_the_page_has_every_key_of_a_stack_file() -> None:
    rows = re.findall(r"^\| ((?:`[a-z]+:\w+`(?:, )?)+) \|", (STACKS / "README.md").read_text(), re.MULTILINE)
    assert {key for row in rows for key in re.findall(r"`([^`]+)`", row)} == {
        *(f"replication:{key}" for key in SETTINGS),
        "kubernetes:context",
        "kubernetes:kubeconfig",
    }


def test_every_alert_has_a_section_of_its_own_name() -> None:
    """Alerts link to these sections."""
    assert re.findall(r"^### (Mirror\w+)$", ALERTS_PAGE.read_text(), re.MULTILINE) == sorted(alerts())
