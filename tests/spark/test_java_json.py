"""Java objects are read as JSON, in answers that fit into one buffer of the connection."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark.java_json import JavaJson

BUFFER_BYTES = 8192


def read(spark: SparkSession, texts: list[str]) -> Any:
    assert spark._jvm is not None
    listed = spark._jvm.java.util.ArrayList()
    for each in texts:
        listed.add(each)
    return JavaJson(lambda name: getattr(spark._jvm, name)).read(listed)


@pytest.mark.parametrize(
    "texts",
    [
        pytest.param([], id="nothing"),
        pytest.param(["short"], id="short"),
        pytest.param(["x" * 7_996], id="one-piece"),
        pytest.param(["x" * 7_997], id="two-pieces"),
        pytest.param(["x" * 50_000, "\\\n\"'"], id="pieces"),
        pytest.param(["x" * 300_000, "ü😀\\\n\"'"], id="through-the-pipe"),
    ],
)
def test_a_text_of_any_length_arrives_whole(spark: SparkSession, texts: list[str]) -> None:
    assert read(spark, texts) == texts


@pytest.mark.parametrize("before", ["", "x"])
def test_no_character_is_split_between_two_answers(spark: SparkSession, before: str) -> None:
    """Java counts the emoji as two characters."""
    texts = [before + "ü😀" * 10_000]
    assert read(spark, texts) == texts


def test_an_answer_that_the_jvm_cannot_write_raises_an_error_instead_of_waiting(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a writer, the reading end of the pipe would wait forever."""

    def no_pipe(*_: object) -> None:
        raise OSError("no room")

    monkeypatch.setattr("spark.java_json.JavaJson._writer", no_pipe)
    with pytest.raises(OSError, match="no room"):
        read(spark, ["x" * 300_000])


def test_two_threads_get_their_own_answers(spark: SparkSession) -> None:
    """Heartbeats are observed while the checks run, on the same cluster."""
    assert spark._jvm is not None
    shared = JavaJson(lambda name: getattr(spark._jvm, name))
    lists = [spark._jvm.java.util.ArrayList() for _ in range(2)]
    for number, listed in enumerate(lists):
        for _ in range(50):
            listed.add(str(number) * 1_000)
    with ThreadPoolExecutor(2) as threads:
        found = list(threads.map(shared.read, lists * 20))
    assert [each[0][0] for each in found] == ["0", "1"] * 20


def test_no_answer_is_longer_than_the_buffer(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Anything beyond the end of the buffer is delayed by about 40 ms."""
    assert spark._jvm is not None
    client: Any = type(spark._jvm._gateway_client)
    sends, sizes = client.send_command, []

    def measured(*args: Any, **kwargs: Any) -> Any:
        answer = sends(*args, **kwargs)
        if isinstance(answer, str):
            sizes.append(len(answer.encode()) + 1)
        return answer

    monkeypatch.setattr(client, "send_command", measured)
    read(spark, ["x" * 100] * 200)
    assert 0 < max(sizes) <= BUFFER_BYTES
