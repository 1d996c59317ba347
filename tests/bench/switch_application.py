"""What a pod of tests/bench/switch.py runs. It imports hardly anything, because ten of them start at once.

As a program it is a command of a switch file: it stops or starts a consumer, or says whether that runs on the target.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from threading import Event
from typing import Any

import psutil
from confluent_kafka import Consumer, Producer

TOPIC, REMOTE, PARTITIONS = "plain-orders", "useast.plain-orders", 3


def run(role: str, group: str, log: str) -> None:
    """Produce numbered records, or consume and note each record, until the process is ended."""
    config = json.loads(os.environ["CLIENT"])
    ended = Event()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    with Path(log).open("a", buffering=1) as notes:
        if role == "producer":
            _produce(config, notes, ended)
        else:
            _consume(config, group, notes, ended)


def _produce(config: dict[str, Any], notes: Any, ended: Event) -> None:
    producer = Producer({**config, "linger.ms": 5})

    def delivered(error: object, message: Any) -> None:
        if error is None:
            notes.write(f"{(message.value() or b'').decode()} {message.partition()}\n")

    while not ended.is_set():
        number = time.time_ns()
        producer.produce(TOPIC, str(number), partition=number // 1000 % PARTITIONS, on_delivery=delivered)
        producer.poll(0.02)
    producer.flush(5)


def _consume(config: dict[str, Any], group: str, notes: Any, ended: Event) -> None:
    own = {"group.id": group, "auto.offset.reset": "earliest", "auto.commit.interval.ms": 200}
    consumer = Consumer({**config, **own, "session.timeout.ms": 10_000})
    consumer.subscribe([TOPIC, REMOTE])
    while not ended.is_set():
        message = consumer.poll(0.2)
        if message is not None and message.error() is None:
            place = f"{message.topic()} {message.partition()} {(message.value() or b'').decode()}"
            notes.write(f"{time.time()} {place}\n")
            ended.wait(0.02)
    consumer.close()


def hook() -> int:
    """Do what a switch asks for; the file `running` in its folder has the consumer's process and address."""
    step, address, place = os.environ["REPLICATE_STEP"], os.environ["REPLICATE_BOOTSTRAP"], Path("running")
    process, _, where = place.read_text().partition(" ") if place.exists() else ("", "", "")
    if step == "moved":
        return int(where != address)
    if step == "stop" and process:
        _end(int(process))
        place.unlink()
    if step == "start" and not process:
        own = json.loads(os.environ["HOOK"])
        code = f"from tests.bench.switch_application import run; run('consumer', {own['group']!r}, {own['log']!r})"
        started = subprocess.Popen(
            [sys.executable, "-c", code],
            env={**os.environ, "CLIENT": json.dumps(own["clients"][address])},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        place.write_text(f"{started.pid} {address}")
    print(f"{step} {address}")
    return 0


def _end(process: int) -> None:
    ended = psutil.Process(process)
    ended.terminate()
    ended.wait()


if __name__ == "__main__":
    sys.exit(hook())
