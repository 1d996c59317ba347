"""The stand-in for Strimzi's operator, whose pods run inside the image: `python -m tests.bench.image_pods …`.

A pod sees the image's root, read-only, as the user 65532, and of this machine only what it mounts: its files, which it
may read, and its `/tmp`, which it may write. The environment variable IMAGE has the root and the image's variables.
"""

import json
import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

from kafka_replication.infra.local import kubelet
from kafka_replication.infra.local.operator.__main__ import main
from kafka_replication.infra.local.parts import processes

USER = 65532
#: The module of the operator itself, and this one.
OPERATOR, HERE = "kafka_replication.infra.local.operator", "tests.bench.image_pods"


def inside(root: Path, folder: Path, command: Sequence[str], environment: Mapping[str, str]) -> list[str]:
    """The command, run in a mount namespace of its own in which only `folder` is of this machine."""
    place = root / folder.relative_to("/")
    place.mkdir(parents=True, exist_ok=True)
    (root / "etc/hosts").touch()
    writable = folder / "tmp"
    writable.mkdir(exist_ok=True)
    lines = [
        "set -e",
        f"chown --recursive {USER} {folder}",
        f"mount --bind {root} {root}",
        f"mount --bind {writable} {root}/tmp",
        f"mount -t proc proc {root}/proc",
        f"mount --bind /dev {root}/dev",
        f"mount --bind /etc/hosts {root}/etc/hosts",
        f"mount --bind {folder} {place}",
        f"mount -o remount,ro,bind {place}",
        f"mount --bind {writable} {place}/tmp",
        f"mount -o remount,ro,bind {root}",
    ]
    words = ["env", "-i", *(f"{name}={value}" for name, value in environment.items()), *command]
    lines += [f"exec chroot --userspec={USER}:{USER} {root} {shlex.join(words)}"]
    return ["unshare", "--mount", "sh", "-c", "\n".join(lines)]


def run(arguments: Sequence[str]) -> int:
    """Run the operator with these arguments."""
    image = json.loads(os.environ["IMAGE"])
    start = processes.start

    def started(name: str, command: Sequence[Any], log: Path, env: Mapping[str, str], cwd: Path | None = None) -> Any:
        if log.parent.parent.parent.name != "pods":
            return start(name, command, log, env, cwd)
        words = ["python", *map(str, command[1:])]
        return start(name, inside(Path(image["root"]), log.parent, words, env), log, os.environ, cwd)

    with (
        patch.object(kubelet.Kubelet, "_image", lambda _: image["variables"]),
        patch.object(processes, "start", started),
    ):
        return main(arguments)


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
