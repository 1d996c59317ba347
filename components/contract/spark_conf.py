"""Which Spark settings the validation job accepts from its user, and in which form. Pure; anything may import it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

#: A size as Spark's launcher reads it, such as `512m` or `4g`.
MEMORY = re.compile(r"[1-9][0-9]*[kmgt]b?", re.IGNORECASE)
#: The heap of the job's driver without a setting.
DRIVER_HEAP = "1g"
MASTER = re.compile(r"local(\[.+\])?|local-cluster\[.+\]|(spark|k8s)://.+|yarn")
#: A key that the job sets itself -> what to do instead. Without its own values, digests and reads could be wrong, and
#: logins could leak.
_OF_THE_JOB: Mapping[str, str] = {
    "spark.master": "use `--master`, or `master` in the stack file.",
    "spark.driver.memory": "use `--driver-memory`, or `driverMemory` in the stack file.",
    "spark.redaction.regex": "remove it.",
    "spark.sql.session.timeZone": "remove it.",
    "spark.sql.sources.useV1SourceList": "remove it.",
}


@dataclass(frozen=True)
class SparkSettings:
    """The settings that were given for Spark; None lets the job choose."""

    master: str | None = None
    driver_memory: str | None = None
    conf: Mapping[str, str] = field(default_factory=dict)

    def over(self, other: "SparkSettings") -> "SparkSettings":
        """Return these settings, completed with those of `other`."""
        return SparkSettings(
            self.master or other.master, self.driver_memory or other.driver_memory, {**other.conf, **self.conf}
        )

    @property
    def arguments(self) -> list[str]:
        """The settings as arguments of the job."""
        given = {"--master": self.master, "--driver-memory": self.driver_memory}
        options = [f"{option}={value}" for option, value in given.items() if value is not None]
        return options + [f"--spark-conf={key}={value}" for key, value in self.conf.items()]


NO_SETTINGS = SparkSettings()


def why_not_conf(key: str) -> tuple[str, str] | None:
    """Return why the job refuses this key, and what to do instead; None if it accepts the key."""
    if key in _OF_THE_JOB:
        return "the job sets it itself", _OF_THE_JOB[key]
    if not re.fullmatch(r"spark\.[\w.-]*\w", key):
        return "Spark ignores a key that does not begin with `spark.`", "give a key such as `spark.executor.memory`."
    return None


def why_not_master(master: str) -> str | None:
    """Return why Spark cannot know this master; None if it may know it."""
    if MASTER.fullmatch(master):
        return None
    return "Spark knows `local[N]`, `spark://HOST:PORT`, `k8s://HOST:PORT` and `yarn`"


def why_not_memory(memory: str) -> str | None:
    """Return why this is not a heap size; None if it is one."""
    return None if MEMORY.fullmatch(memory) else "it is a number with its unit, such as `512m` or `4g`"
