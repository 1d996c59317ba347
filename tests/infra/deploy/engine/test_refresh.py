"""Only `--refresh` overwrites fields that someone else has edited, and its preview calls the engine in the same way."""

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_replication.infra.deploy.engine import deployment
from kafka_replication.infra.stack.environment import stack_environment
from kafka_replication.infra.stack.settings import read_settings
from tests.repository import STACKS


@pytest.mark.parametrize("verb", ["up", "preview"])
@pytest.mark.parametrize("refresh", [True, False])
def test_only_a_refresh_takes_fields_back_from_other_managers(
    monkeypatch: pytest.MonkeyPatch, verb: str, refresh: bool
) -> None:
    seen: list[tuple[bool, bool]] = []

    @contextmanager
    def open_stack(_: Any, *, overwrite: bool, **_more: Any) -> Iterator[Any]:
        def run(*, refresh: bool, **_: Any) -> Any:
            seen.append((refresh, overwrite))
            return SimpleNamespace(summary=SimpleNamespace(resource_changes={}), change_summary={})

        yield SimpleNamespace(up=run, preview=run)

    monkeypatch.setattr(deployment, "open_stack", open_stack)
    for name in (
        "unproven",
        "require_no_unfinished_move",
        "require_secrets",
        "forget_pending_creates",
        "api_client",
        "restart_readers",
    ):
        monkeypatch.setattr(deployment, name, lambda *_: ())
    getattr(deployment, verb)(read_settings("prod-us-west-2", STACKS), lambda _: None, refresh=refresh)
    assert seen == [(refresh, refresh)]


@pytest.mark.parametrize(("overwrite", "more"), [(True, {"PULUMI_K8S_ENABLE_PATCH_FORCE": "true"}), (False, {})])
def test_the_providers_options_are_set_for_its_own_process(overwrite: bool, more: dict[str, str]) -> None:
    environment = stack_environment(read_settings("prod-us-west-2", STACKS))
    with environment.workspace(overwrite=overwrite) as place:
        assert place.variables == {"PULUMI_K8S_ENABLE_SECRET_MUTABLE": "true", **more}
