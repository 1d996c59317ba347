"""A mistake is placed at its key, and no shown line contains a credential."""

from pathlib import Path

import pytest

from components.contract.problems import Problem
from infra.stack.yaml_files import place, place_of, placed

TEXT = """\
# A topology.
base: &base
  region: east
clusters:
  useast: {<<: *base, tls: {trust: {secret: ca}}}
  uswest:
    <<: [*base]
    authentication:
      password: hunter2
replications:
  orders:
    topics:
      - orders
      - 'payments-.*'
    config: {a.b: 1, a: {b.c: 2}}
"""


@pytest.mark.parametrize(
    ("where", "wanted"),
    [
        pytest.param("replications.orders.topics", "12:5", id="a key"),
        pytest.param("replications.orders.topics.1", "14:9", id="an entry of a list"),
        pytest.param("replications.orders.config.a.b", "15:14", id="a key with a dot"),
        pytest.param("replications.orders.config.a.b.c", "15:26", id="a key with a dot below one that looks like it"),
        pytest.param("replications.orders.connect.replicas", "11:3", id="a missing key, at its parent"),
        pytest.param("clusters.uswest.region", "3:3", id="a key from an anchor, where it is written"),
        pytest.param("clusters.useast.tls.trust.secret", "5:37", id="a key in a flow mapping"),
        pytest.param("nowhere", "2:1", id="a missing key at the top, at the first key"),
        pytest.param("clusters.useast (configuration key x)", "5:3", id="a path with a remark"),
    ],
)
def test_a_path_leads_to_its_line_and_column(where: str, wanted: str, tmp_path: Path) -> None:
    (tmp_path / "test.yaml").write_text(TEXT)
    assert str(place_of(where, tmp_path / "test.yaml")).endswith(f"test.yaml:{wanted}")


def test_a_path_in_an_empty_file_leads_to_its_first_line(tmp_path: Path) -> None:
    (tmp_path / "test.yaml").touch()
    assert str(place_of("strimzi", tmp_path / "test.yaml")).endswith("test.yaml:1:1")


@pytest.mark.parametrize(
    ("line", "column", "shown"),
    [
        ("    password: hunter2", 5, "password: …"),
        ("    pasword: hunter2, 3", 5, "pasword: …"),
        ("    'sasl.jaas.config': x required password=\"hunter2\";", 5, "'sasl.jaas.config': …"),
        ("  a: {password: 'hun,ter2', username: mirror}", 31, "a: {password: …, username: mirror}"),
        ("  a: {clientSecret: hunter2, scope: x}", 30, "a: {clientSecret: …, scope: x}"),
        ("  passwords: [hunter2]", 3, "passwords: …"),
        ("  a: {password: {secret: mirror, key: password}}", 6, "a: {password: {secret: mirror, key: password}}"),
        ("  encryption.key: hunter2", 3, "encryption.key: …"),
        ("MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwhunter", 1, "…"),
    ],
)
def test_a_credential_in_a_line_is_not_shown(line: str, column: int, shown: str) -> None:
    found = place("test.yaml", [line], 1, column).excerpt.splitlines()
    assert found[0].removeprefix("    1 | ").strip() == shown
    assert "hunter" not in found[0]
    at = found[1].index("^")
    assert found[0][at] in (line[column - 1], "…")


@pytest.mark.parametrize("code", ["unknown-key", "plain-text-secret"])
def test_the_value_of_a_key_that_may_be_a_credential_is_not_shown(code: str, tmp_path: Path) -> None:
    (tmp_path / "test.yaml").write_text("config: {replication:east: hunter2, b: 1}")
    (problem,) = placed([Problem("config.replication:east", code, "a", "b", "c")], tmp_path / "test.yaml")
    assert problem.place is not None
    assert problem.place.excerpt.splitlines()[0] == "    1 | config: {replication:east…"


def test_a_long_line_is_shown_around_its_column() -> None:
    line = f"{'x ' * 150}wrong{' y' * 150}"
    shown, mark = place("test.yaml", [line], 1, 301).excerpt.splitlines()
    assert shown[mark.index("^") :].startswith("wrong")
    assert len(shown) < 140
