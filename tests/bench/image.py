"""Validates a flow of the local stack here and inside the image, and compares the verdicts.

`make image`, then `make image-bench` as root, with buildah. Inside, the job has what its pod would have: the
image's root, read-only; the user 65532; the mounted parameters, trust and kubeconfig, and one folder to write into. The
flow is validated as it is, which needs no Spark, and once more with records on the target that the source never had. Of
that, only parity is compared: meanwhile the connectors translate offsets anew, past these records.
"""

import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

from rich.console import Console

from kafka_replication.components.contract.report import Depth
from kafka_replication.components.render.job_pods import COMMAND
from kafka_replication.infra.commands.local import DEMOS, Shape, run_demo
from kafka_replication.infra.local import paths, stack
from kafka_replication.infra.local.endpoints import load_endpoints
from kafka_replication.infra.local.traffic import produce
from kafka_replication.infra.stack.settings import read_settings
from kafka_replication.infra.validate import run
from tests.image import NAME
from tests.repository import STACKS

USER = 65532
STRAY = 5


def image_root() -> tuple[Path, dict[str, str]]:
    """The folder and the variables of a new container of the image."""
    container = _asked("buildah", "from", NAME)
    inspected = json.loads(_asked("buildah", "inspect", container))
    variables = dict(each.split("=", 1) for each in inspected["OCIv1"]["config"]["Env"])
    return Path(_asked("buildah", "mount", container)), variables


def _asked(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def inside(root: Path, image: Mapping[str, str], command: Sequence[str], variables: Mapping[str, str]) -> int:
    """Run the job of `command` in the image, as `run.run_job` runs it here."""
    own, out = (Path(command[command.index(option) + 1]).parent for option in ("--parameters", "--report"))
    configs = [
        str(shutil.copy(file, own / f"kubeconfig-{number}"))
        for number, file in enumerate(variables["KUBECONFIG"].split(os.pathsep))
    ]
    passwords = {name: value for name, value in variables.items() if name.endswith("_PASSWORD")}
    given = {**image, **passwords, "KUBECONFIG": os.pathsep.join(configs), "HOME": "/tmp"}
    subprocess.run(["chown", "--recursive", str(USER), own, out], check=True)
    certificates = paths.certificates().resolve()
    lines = [
        "set -e",
        f"mount --bind {root} {root}",
        f"mount -t tmpfs tmpfs {root}/tmp",
        f"mount -t proc proc {root}/proc",
    ]
    for folder in (own, out, certificates, Path("/dev"), Path("/etc/hosts")):
        place = root / folder.relative_to("/")
        if folder.is_dir():
            place.mkdir(parents=True, exist_ok=True)
        lines.append(f"mount --bind {shlex.quote(str(folder))} {shlex.quote(str(place))}")
    lines += [f"mount -o remount,ro,bind {root}", f"mount -o remount,ro,bind {root}{certificates}"]
    words = ["env", "-i", *(f"{name}={value}" for name, value in given.items()), *COMMAND, *command[2:]]
    lines += [f"exec chroot --userspec={USER}:{USER} {root} {shlex.join(words)}"]
    return subprocess.run(["unshare", "--mount", "sh", "-c", "\n".join(lines)], check=False).returncode


def verdict(report: Path, only: Sequence[str]) -> Any:
    """What two reports of the same flow have in common: verdicts, findings and what was counted of records."""
    (flow,) = json.loads(report.read_text())["flows"]
    return {
        check["name"]: (
            check["verdict"],
            sorted((each["code"], each["count"]) for each in check["findings"] if each["severity"] != "note"),
            check["rows"] if check["name"] == "parity" else None,
        )
        for check in flow["checks"]
        if not only or check["name"] in only
    }


def validated(report: Path, console: Console, only: Sequence[str]) -> tuple[Any, float]:
    """Validate the flow; return what the report says of `only` these checks or all, and the seconds that it took."""
    report.parent.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    settings = read_settings("local", STACKS)
    run.run_validation(run.ValidationRun(settings, report, depth=Depth.FULL), console)
    return verdict(report, only), time.monotonic() - began


def main() -> int:
    """Print both verdicts, and return 1 if they differ."""
    console, differ = Console(), False
    root, image = image_root()
    print(f"{NAME}: {_asked('du', '-sm', str(root)).split()[0]} MB in files")
    try:
        if run_demo(DEMOS[Shape.FLOW], STACKS, console):
            return 1
        reports = paths.validation().resolve() / "local"
        rounds = {"as deployed": (), f"with {STRAY} records too many on the target": ("parity",)}
        for what, only in rounds.items():
            here, seconds = validated(reports / "here" / "report.json", console, only)
            with patch.object(run, "run_job", lambda *job: inside(root, image, *job)):
                there, seconds_inside = validated(reports / "inside" / "report.json", console, only)
            differ = differ or here != there
            same = "the same verdict" if here == there else f"DIFFERENT VERDICTS: {here}, inside {there}"
            print(f"{what}: {same}; {seconds:.1f} s here, {seconds_inside:.1f} s in the image")
            produce(load_endpoints().regions["uswest"], "useast.orders", STRAY, seed=1)
    finally:
        stack.down(console, purge=True)
    return int(differ)


if __name__ == "__main__":
    sys.exit(main())
