"""Builds the image of the validation job: `make image`.

`IMAGE_BASE` names its base by digest. Without it, one is made of Debian's packages, which takes debootstrap and root.
`FLAGS` are passed to the builder, such as a volume with the configuration that pip needs to reach an index.
"""

import io
import os
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from rich.console import Console

from kafka_replication.infra.machine.jdk import find_jdk
from kafka_replication.infra.machine.toolchain import SPARK, ensure_jars
from tests.job_image import sums
from tests.release import DIST, build, git

#: In this order. docker needs its daemon, so the first whose `info` succeeds is taken.
BUILDERS = ("docker", "podman", "buildah")
NAME = "localhost/kafka-replication"
BASE_NAME = "localhost/kafka-replication-base"
#: Of Debian 12. Its Python is 3.11.
_PACKAGES = "ca-certificates,default-jre-headless,python-is-python3,python3,python3-pip"
_BASE = "FROM scratch\nCOPY root/ /\nENV JAVA_HOME=/usr/lib/jvm/default-java\n"


class NoImageError(Exception):
    """Why no image can be built, and what to do."""


def main(environment: Mapping[str, str] = os.environ) -> int:
    """Build the image of the last commit and write its id into dist/, or print what is wrong and return 1."""
    began = time.monotonic()
    try:
        tool = builder(environment.get("BUILDER", ""))
        base = environment.get("IMAGE_BASE") or debian(tool)
        image = built(tool, base, shlex.split(environment.get("FLAGS", "")))
    except (NoImageError, subprocess.CalledProcessError) as error:
        print(error, file=sys.stderr)
        return 1
    DIST.mkdir(exist_ok=True)
    (DIST / "image.txt").write_text(f"{image}\n")
    print(f"{NAME} {image}, built by {tool} on {base} in {time.monotonic() - began:.0f} s")
    return 0


def builder(wanted: str = "") -> str:
    """The program that builds images here; raises NoImageError."""
    for tool in (wanted,) if wanted else BUILDERS:
        if shutil.which(tool) and subprocess.run([tool, "info"], capture_output=True, check=False).returncode == 0:
            return tool
    tried = wanted or ", ".join(BUILDERS)
    raise NoImageError(
        f"No image can be built: none of {tried} is on PATH and answers `info`. Remedy: install one, start docker's "
        "daemon, or name another program in BUILDER. In a container, buildah needs BUILDAH_ISOLATION=chroot and "
        "STORAGE_DRIVER=vfs."
    )


def debian(tool: str) -> str:
    """The base made of Debian's packages, by digest; it is made once. Raises NoImageError."""
    if not (digest := _digest(tool)):
        if tool == "docker" or not shutil.which("debootstrap") or os.geteuid():
            raise NoImageError(
                "No base image: IMAGE_BASE is not set, and making one takes buildah or podman, debootstrap and root. "
                "Remedy: set IMAGE_BASE=NAME@sha256:… to an image with Python 3.11 or later, pip, and a JDK of version "
                "17 or later."
            )
        print("making a base of Debian's packages (two minutes)")
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder, "root")
            command = ["debootstrap", "--variant=minbase", f"--include={_PACKAGES}", "bookworm", str(root)]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            for left in (*root.glob("var/cache/apt/archives/*.deb"), *root.glob("var/lib/apt/lists/*_*")):
                left.unlink()
            Path(folder, "Dockerfile").write_text(_BASE)
            _run(tool, "build", "--tag", BASE_NAME, folder)
        digest = _digest(tool)
    return f"{BASE_NAME}@{digest}"


def _digest(tool: str) -> str:
    """The digest of the base that was made before, if any."""
    name = "{{.Name}}" if tool == "buildah" else "{{.Repository}}"
    listed = [tool, "images", "--digests", "--format", f"{name} {{{{.Digest}}}}"]
    output = subprocess.run(listed, check=True, capture_output=True, text=True).stdout
    return dict(line.split() for line in output.splitlines()).get(BASE_NAME, "")


def built(tool: str, base: str, flags: list[str]) -> str:
    """Build the image of the last commit, and return its id: a hash of all that it holds."""
    seconds = int(git("log", "-1", "--format=%ct"))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with tarfile.open(fileobj=io.BytesIO(git("archive", "HEAD", "spark"))) as files:
            files.extractall(folder, filter="data")
        jars = ensure_jars(SPARK, find_jdk(), Console(quiet=True))
        shutil.copytree(jars, folder / "dist" / "jars", ignore=lambda _, names: {n for n in names if n[-4:] != ".jar"})
        packages = build(folder / "build", seconds)
        (wheel,) = (file for file in packages if file.endswith(".whl"))
        (folder / "dist" / wheel).write_bytes(packages[wheel])
        shutil.rmtree(folder / "build")
        digest = next(sums([folder / "dist" / wheel])).split()[0]
        given = {"BASE": base, "WHEEL_SHA256": digest, "SOURCE_DATE_EPOCH": str(seconds)}
        arguments = [word for key, value in given.items() for word in ("--build-arg", f"{key}={value}")]
        # Otherwise the times of the files differ from build to build.
        arguments += [] if tool == "docker" else ["--timestamp", str(seconds)]
        iid = folder / "iid"
        _run(
            tool, "build", "--no-cache", *arguments, *flags, "--tag", NAME, "--iidfile", str(iid),
            "--file", str(folder / "spark" / "Dockerfile"), name,
        )  # fmt: skip
        return iid.read_text().strip()


def _run(*command: str) -> None:
    """Run a builder; what it prints is only shown if it fails."""
    answer = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if answer.returncode:
        raise NoImageError(f"{answer.stdout}`{command[0]} {command[1]}` exited with {answer.returncode}.")


if __name__ == "__main__":
    sys.exit(main())
