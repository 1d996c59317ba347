"""What restarts while a flow is adopted, seen in Connect's logs and on the target, compared with what was announced."""

import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from threading import Event, Lock, Thread
from typing import Any, TextIO

from confluent_kafka import KafkaException

from kafka_replication.infra.local.parts import operator as operator_part

_STARTED = re.compile(r" INFO Creating (task|connector) (\S+?)(?: of type .*)? \(")
_LOOK_SECONDS = 0.25
_NAMED = re.compile(r"`([^`]+)`")
#: Effects that move every connector of the flow to new workers; several of them together roll the workers once.
_ROLLS = frozenset({"connect-rolls", "labels-roll"})
_RESTARTS = frozenset({"connector-restarts", "credentials-are-read-anew"})


@dataclass(frozen=True)
class Phase:
    """One command: how often each worker, connector and task started while it ran, and the longest time in which no
    record arrived on the target."""

    name: str
    seconds: float
    started: Counter[str]
    pause_seconds: float


class Watcher:
    """Follows the logs of all workers, and the ends of the target's topics, while the body of `running` runs."""

    def __init__(self, arrived: Callable[[], int]) -> None:
        self._arrived = arrived
        self._open: dict[int, TextIO] = {}
        self._torn: dict[int, str] = {}
        self._started: Counter[str] = Counter()
        self._lock = Lock()
        self._over = Event()
        self._grown = (0, time.monotonic())
        self._pause = 0.0

    @contextmanager
    def running(self) -> Iterator["Watcher"]:
        self._look()
        follower = Thread(target=self._follow)
        follower.start()
        try:
            yield self
        finally:
            self._over.set()
            follower.join()
            for log in self._open.values():
                log.close()

    @contextmanager
    def phase(self, name: str) -> Iterator[list[Phase]]:
        """Record what starts while the body runs; afterwards the list has this phase."""
        self._look()
        before, began, found = self._started.copy(), time.monotonic(), list[Phase]()
        self._pause, self._grown = 0.0, (self._grown[0], began)
        yield found
        seconds = time.monotonic() - began
        self._look()
        found.append(Phase(name, seconds, self._started - before, self._pause))

    def _follow(self) -> None:
        while not self._over.wait(_LOOK_SECONDS):
            self._look()

    def _look(self) -> None:
        with self._lock:
            for worker in operator_part.workers():
                if worker.pid not in self._open and worker.log is not None and worker.log.exists():
                    self._open[worker.pid] = worker.log.open(errors="replace")
                    self._started[f"worker {worker.name}"] += 1
            for pid, log in self._open.items():
                whole, _, self._torn[pid] = (self._torn.get(pid, "") + log.read()).rpartition("\n")
                self._started.update(f"{kind} {name}" for kind, name in _STARTED.findall(whole))
            now, arrived = time.monotonic(), self._grown[0]
            with suppress(KafkaException):
                arrived = self._arrived()
            self._pause = max(self._pause, now - self._grown[1])
            if arrived != self._grown[0]:
                self._grown = arrived, now


def announced(plan: Mapping[str, Any], running: Sequence[str]) -> Counter[str]:
    """How often each running connector may start according to the plan of `replicate adopt --json`."""
    rolls = any(effect["code"] in _ROLLS for effect in plan["effects"])
    found = Counter(running if rolls else ())
    for effect in plan["effects"]:
        if effect["code"] in _RESTARTS:
            found.update(set(_NAMED.findall(effect["what"])) & set(running))
    return found
