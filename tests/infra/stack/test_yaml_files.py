"""YAML files: what is refused, and the line of a mistake."""

from pathlib import Path

import pytest

from kafka_replication.components.contract.problems import CannotRunError, Problem
from kafka_replication.infra.stack.yaml_files import load_yaml, parse_yaml, place, placed, places_of

#: Content of a file -> line and column of the mistake, and the words that describe it.
MISTAKES: dict[str, tuple[str, str]] = {
    "strimzi: '1.2'\nclusters:\n\tuseast: x": ("3:1", "the line is indented with a tab"),
    "strimzi: '1.2'\n\tclusters: x": ("2:1", "the line is indented with a tab"),
    "topics: [*]": ("1:10", "there is a `*` without quotation marks"),
    "topics: *": ("1:9", "there is a `*` without quotation marks"),
    "topics: [*.orders]": ("1:10", "there is a `*` without quotation marks"),
    "topics: [*orders]": ("1:10", "`*orders` refers to an anchor that is not defined"),
    "topics: [*-orders]": ("1:10", "`*-orders` refers to an anchor that is not defined"),
    "east: &\nwest: 1": ("1:7", "there is a `&` without a name"),
    "region: @east": ("1:9", "a value begins with `@`"),
    "region: `east`": ("1:9", "a value begins with a backquote"),
    "address: kafka: 9093": ("1:15", "a value contains `: `"),
    "region: east\n  tls: {}": ("2:6", "this line is indented further than the line above allows"),
    "strimzi 1.2\nclusters: {}": ("1:1", "a line has no `: `"),
    "strimzi:1.2\nclusters: {}": ("1:1", "a line has no `: `"),
    "strimzi: '1.2'\nclusters": ("2:1", "a line has no colon"),
    "a:\n  b: 1\n c: 2": ("3:2", "the indentation of this line does not match any line above"),
    "- a\nb: 1": ("2:1", "a key follows the entries of a list"),
    "a: - b": ("1:4", "there is a `-` where no list can begin"),
    "topics: [a\ngroups: []": ("1:9", "a list in `[` is not closed"),
    "tls: {trust: {secret: ca}": ("1:6", "a mapping in `{` is not closed"),
    "topics: [a,,b]": ("1:12", "a value is missing"),
    "region: 'east\nb: 1": ("1:9", "a quotation mark is not closed"),
    "region: 'it's'": ("1:13", "text follows a value in quotation marks"),
    'topics: ["orders\\..*"]': ("1:17", "a backslash in double quotation marks"),
    "<<: base\nregion: east": ("1:5", "`<<` does not name a mapping"),
    "region: {{ region }}": ("1:10", "a value begins with `{{`"),
    "[region]: east": ("1:1", "a key is a list or a mapping"),
    "a: 1\n---\nb: 1": ("2:1", "a second document begins"),
    "password: !vault abc": ("1:11", "a value begins with `!`"),
    "a: &x 1\nb: &x 2": ("2:4", "an anchor is defined twice"),
    "strimzi: '1.2'\nstrimzi: '1.1'": ("2:1", "`strimzi` is given twice"),
    "since: 2026-99-99": ("1:1", "a value cannot be read"),
}


@pytest.mark.parametrize(("content", "place", "what"), [(text, *said) for text, said in MISTAKES.items()])
def test_a_mistake_in_yaml_is_reported_with_its_place_and_a_plain_explanation(
    content: str, place: str, what: str
) -> None:
    with pytest.raises(CannotRunError) as caught:
        parse_yaml(content.encode(), "test.yaml")
    assert (str(caught.value.place), caught.value.what) == (f"test.yaml:{place}", what)
    assert caught.value.why.endswith(".")
    assert caught.value.remedy.endswith(".")


def test_the_line_is_shown_with_a_mark_below_the_column() -> None:
    with pytest.raises(CannotRunError) as caught:
        parse_yaml(b"strimzi: '1.2'\ntopics: [*]", "test.yaml")
    assert str(caught.value).splitlines() == [
        "test.yaml:2:10: invalid-yaml: there is a `*` without quotation marks, at test.yaml. In YAML `*` without "
        "quotation marks refers to an anchor, `&NAME`, further up in the file. Remedy: put the pattern in quotation "
        "marks; every topic or group is `['.*']`.",
        "    2 | topics: [*]",
        "      |          ^",
    ]


def test_a_file_that_is_not_utf_8_is_refused(tmp_path: Path) -> None:
    (tmp_path / "test.yaml").write_bytes("# Zürich".encode("latin-1"))
    with pytest.raises(CannotRunError, match=r"test\.yaml:1:1: invalid-yaml: the file is not UTF-8 text"):
        load_yaml(tmp_path / "test.yaml")


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
    assert str(next(places_of([where], tmp_path / "test.yaml"))).endswith(f"test.yaml:{wanted}")


def test_a_path_in_an_empty_file_leads_to_its_first_line(tmp_path: Path) -> None:
    (tmp_path / "test.yaml").touch()
    assert str(next(places_of(["strimzi"], tmp_path / "test.yaml"))).endswith("test.yaml:1:1")


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
        ("  url: https://me:hunter2@example.com/a.jar", 3, "url: https://…@example.com/a.jar"),
        ("  {url: 'https://example.com/a.jar?sig=hunter2', b: 1}", 3, "{url: 'https://example.com/a.jar?…', b: 1}"),
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
