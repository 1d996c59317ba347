"""Where the validation job runs, according to the key `replication:validation` of a stack file or the command line."""

from collections.abc import Iterator, Mapping

from components.contract.problems import Problem
from components.contract.spark_conf import SparkSettings, why_not_conf, why_not_master, why_not_memory
from components.properties.definitions import nearest
from components.properties.values import value_text

VALIDATION, IN_CLUSTER = "validation", "inCluster"
WHERE = f"config.replication:{VALIDATION}"
_FORM = "write `{spark: {master: …, driverMemory: …, conf: {KEY: VALUE}}}`; each of them may be left out."
_TOP_FORM = f"write `spark: {{…}}`, `{IN_CLUSTER}: {{image: NAME@sha256:DIGEST}}`, or both."
_NO_EFFECT = "The validation job would not start, or would run in the wrong place."


def spark_settings(value: object) -> SparkSettings:
    """The settings in a stack file's `replication:validation`, which must have no `spark_problems`."""
    spark = (value.get("spark") if isinstance(value, Mapping) else None) or {}
    return SparkSettings(
        spark.get("master"),
        spark.get("driverMemory"),
        {str(key): value_text(each) for key, each in (spark.get("conf") or {}).items()},
    )


def spark_problems(value: object) -> Iterator[Problem]:
    """What is wrong with the value of `replication:validation`; nothing if the stack file has none."""
    if value is None:
        return
    yield from _wrong_keys(value, "", {"spark", IN_CLUSTER}, _TOP_FORM)
    spark = value.get("spark") if isinstance(value, Mapping) else None
    if spark is None:
        return
    yield from _wrong_keys(spark, ".spark", {"master", "driverMemory", "conf"}, _FORM)
    if not isinstance(spark, Mapping):
        return
    for key, why_not in (("master", why_not_master), ("driverMemory", why_not_memory)):
        given = spark.get(key)
        if given is not None and (why := why_not(given) if isinstance(given, str) else "it must be text"):
            yield _problem(f".spark.{key}", f"`{given}` is not a value of `{key}`: {why}", f"correct `{key}`.")
    yield from _wrong_conf(spark.get("conf"))


def _wrong_keys(value: object, where: str, known: set[str], form: str) -> Iterator[Problem]:
    if not isinstance(value, Mapping):
        yield _problem(where, f"`{value}` is not a mapping", form)
        return
    for key in sorted(str(each) for each in value.keys() - known):
        near = nearest(key, known)
        yield _problem(f"{where}.{key}", f"`{key}` is not a key here", f"did you mean `{near}`?" if near else form)


def _wrong_conf(conf: object) -> Iterator[Problem]:
    if conf is None:
        return
    if not isinstance(conf, Mapping):
        yield _problem(".spark.conf", f"`{conf}` is not a mapping", "write it as `{spark.executor.memory: 4g}`.")
        return
    for key, value in conf.items():
        if refused := why_not_conf(str(key)):
            yield _problem(".spark.conf", f"`{key}` cannot be set: {refused[0]}", refused[1])
        elif not isinstance(value, str | int | float):
            yield _problem(".spark.conf", f"the value of `{key}` is neither text nor a number", "write one value.")


def _problem(where: str, what: str, remedy: str) -> Problem:
    return Problem(WHERE + where, "bad-spark-setting", what, _NO_EFFECT, remedy)
