"""Spark settings for the few records of tests, for which compiling costs more than it gains."""

from collections.abc import Mapping

#: Queries are interpreted.
INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
#: The same for a job that is submitted, and executors that start quickly. Its driver has SPARK_SUBMIT_OPTS.
WITHOUT_COMPILING = {**INTERPRETED, "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}


def conf_words(settings: Mapping[str, str]) -> list[str]:
    """The words of spark-submit's command line for these settings."""
    return [word for key, value in settings.items() for word in ("--conf", f"{key}={value}")]
