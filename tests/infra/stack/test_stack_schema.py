"""The JSON Schema of stack files: every key, no false error, and one error for one mistake, at its key."""

import json
from typing import Any

import jsonschema
import pytest
import yaml

from kafka_replication.infra.stack.settings import SETTINGS, stack_file, stack_names
from kafka_replication.infra.stack.stack_checks import stack_schema
from tests.repository import STACKS

DIGEST = "registry.example.com/validation@sha256:" + 64 * "0"
#: A value of each key that the program reads, and of each kind of other key.
EVERY_KEY = {
    "replication:topology": "prod",
    "replication:region": "us-west-2",
    "replication:local": True,
    "replication:deploy": "gitops",
    "replication:allowUnproven": "INC-17: the source region is down",
    "replication:sharesWith": "prod-us-east-1, staging",
    "replication:validation": {
        "spark": {"master": "k8s://https://spark:6443", "driverMemory": "2g", "conf": {"spark.task.maxFailures": 1}},
        "inCluster": {"image": DIGEST, "resources": {"limits": {"memory": "4Gi"}}},
    },
    "replication:useastServers": "kafka-0.useast:9093,kafka-1.useast:9093",
    "replication:useastPassword": {"secure": "AAABADQXFlU0mxbTgNyl39UfVg4DdFoL94Sbbzsf"},
    "kubernetes:context": "prod-us-west-2",
    "aws:region": "us-west-2",
}


def errors_of(file: Any) -> list[str]:
    """What any validator reports: the place of each error, and its words."""
    errors = jsonschema.Draft202012Validator(json.loads(stack_schema())).iter_errors(file)
    return sorted(f"{'.'.join(map(str, error.absolute_path))}: {error.message}" for error in errors)


def test_every_key_of_a_stack_file_is_in_its_schema() -> None:
    assert {key.removeprefix("replication:") for key in EVERY_KEY} >= SETTINGS.keys()
    assert errors_of({"encryptionsalt": "v1:x", "environment": ["prod"], "config": EVERY_KEY}) == []


@pytest.mark.parametrize("stack", stack_names(STACKS))
def test_every_stack_file_fits_its_schema_and_names_it(stack: str) -> None:
    text = stack_file(stack, STACKS).read_text()
    assert text.startswith("# yaml-language-server: $schema=stack.schema.json\n")
    assert errors_of(yaml.safe_load(text)) == []


def test_the_schema_for_editors_is_current() -> None:
    assert (STACKS / "stack.schema.json").read_text() == stack_schema(), "run `make schema`"


@pytest.mark.parametrize(
    ("config", "error"),
    [
        pytest.param(
            {"region": "us-west-2"},
            "config: 'region' does not match any of the regexes: '^(?!replication:|kubernetes:)[^:]+:', "
            "'^replication:(?!(topology|region|local|deploy|allowUnproven|sharesWith|validation)$)'",
            id="without a prefix, which would deploy every region",
        ),
        pytest.param(
            {"replication:regoin": "us-west-2"},
            "config.replication:regoin: 'us-west-2' does not match ':[0-9]+'",
            id="misspelt, which would deploy every region",
        ),
        pytest.param(
            {"replication:password": {"plain": "x"}},
            "config.replication:password: 'secure' is a required property",
            id="a value of the topology that Pulumi has not encrypted",
        ),
        pytest.param(
            {"replication:deploy": "argo"},
            "config.replication:deploy: 'argo' is not one of ['pulumi', 'gitops']",
            id="deploy",
        ),
        pytest.param(
            {"replication:validation": {"inCluster": {"image": DIGEST, "shedule": "@daily"}}},
            "config.replication:validation.inCluster: Additional properties are not allowed ('shedule' was unexpected)",
            id="a key of inCluster",
        ),
        pytest.param(
            {"replication:validation": {"spark": {"driverMemory": "2"}}},
            "config.replication:validation.spark.driverMemory: '2' does not match '^[1-9][0-9]*[kmgtKMGT][bB]?$'",
            id="a heap without a unit",
        ),
    ],
)
def test_one_mistake_is_one_error_at_its_key(config: dict[str, Any], error: str) -> None:
    assert errors_of({"config": {"replication:topology": "prod", **config}}) == [error]


def test_a_key_at_the_top_that_belongs_below_config_is_an_error() -> None:
    file = {"config": {"replication:topology": "prod"}, "replication:region": "us-west-2"}
    assert errors_of(file) == [": Additional properties are not allowed ('replication:region' was unexpected)"]
