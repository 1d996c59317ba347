"""No error of a model quotes what it was given, because a program may pass a password where a reference belongs."""

from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from tests.repository import ROOT

PASSWORD = "hunter2"
#: Keys that select a form, and the time of a verdict: their errors name what cannot be read, and none is a credential.
QUOTED = {"type", "kind", "time"}
#: A credential in every wrong form.
WRONG = (PASSWORD, [PASSWORD], {"value": PASSWORD}, {"config": [PASSWORD]}, {"secret": "ca", "key": [PASSWORD]})


def _models(of: type[BaseModel] = BaseModel) -> Iterator[type[BaseModel]]:
    for model in of.__subclasses__():
        if model.__module__.startswith("kafka_replication."):
            yield model
        yield from _models(model)


def _import_all() -> None:
    for package in ("components", "infra", "spark"):
        for file in sorted((ROOT / package).rglob("*.py")):
            if "(BaseModel)" in (text := file.read_text()) or "(Model)" in text or "(DocumentPart)" in text:
                import_module(".".join(("kafka_replication", *file.relative_to(ROOT).with_suffix("").parts)))


_import_all()
MODELS = sorted(set(_models()), key=lambda model: (model.__module__, model.__qualname__))


def _errors(model: type[BaseModel], given: dict[str, Any]) -> str:
    try:
        model.model_validate(given)
    except ValidationError as error:
        return f"{error} {error!r}"
    return ""


def test_every_model_is_looked_at() -> None:
    assert {"Cluster", "ScramAuthentication", "Topology", "PromotionPlan", "State", "CredentialReference"} <= {
        model.__name__ for model in MODELS
    }


@pytest.mark.parametrize("model", MODELS, ids=lambda model: f"{model.__module__}.{model.__qualname__}")
def test_an_error_does_not_print_a_credential_in_the_wrong_place(model: type[BaseModel]) -> None:
    fields = {field.alias or name for name, field in model.model_fields.items()} - QUOTED
    for key in sorted({*fields, "unknown"}):
        for value in WRONG:
            assert PASSWORD not in _errors(model, {key: value})


@pytest.mark.parametrize(
    "given",
    [
        pytest.param({"type": "scram-sha-512", "username": "mirror", "password": PASSWORD}, id="a password"),
        pytest.param({"type": "plain", "username": "mirror", "password": {"value": PASSWORD}}, id="a plain password"),
        pytest.param({"type": "oauth", "clientSecret": PASSWORD}, id="a client secret"),
        pytest.param({"type": "oauth", "accessToken": PASSWORD}, id="an access token"),
        pytest.param({"type": "oauth", "refreshToken": [PASSWORD]}, id="a refresh token"),
        pytest.param({"type": "custom", "config": {"sasl.jaas.config": [PASSWORD]}}, id="a login of one's own"),
        pytest.param({"type": "tls", "secret": "mirror", "key": [PASSWORD]}, id="a private key"),
    ],
)
def test_a_cluster_does_not_print_a_credential_of_its_login(given: dict[str, Any]) -> None:
    cluster = {"region": "us-east-1", "bootstrapServers": "kafka:9093", "authentication": given}
    model = next(model for model in MODELS if model.__name__ == "Cluster")
    message = _errors(model, cluster)
    assert "authentication" in message
    assert PASSWORD not in message
