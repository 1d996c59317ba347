"""Which versions of Python are supported: `make matrix PYTHONS='python3.12 python3.14'` judges each.

Each gets an environment of the locked requirements and the wheel of the last commit. The quick tests of the components
run on what the wheel installed, and so do commands in a folder that knows nothing of this repository.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.release import build
from tests.repository import ROOT

HEAD = ("Python", "quick tests of the components", "commands of the wheel")
GOOD = re.compile(r"(?P<passed>\d+ passed)\b(?!.*(?:failed|error))")
_STACK = "prod-us-west-2"
_MIRROR = ROOT / "tests" / "infra" / "onboard" / "importing" / "cases" / "flow-of-three-connectors.yaml"
_ENDS = ("--source", "a", "--target", "b", "--topics", "c", "--groups", "d", "--yes")
#: Each with its exit code. This import leaves labels of another tool out.
COMMANDS = {
    ("check",): 0,
    ("render", _STACK, "--out", "rendered"): 0,
    ("import", str(_MIRROR), "--out", "imported"): 1,
    ("init", "begun", *_ENDS): 0,
}


def installed(interpreter: str, folder: Path, *other: str) -> Path:
    """Make an environment in a folder, with other versions of some requirements, and return its Python."""
    subprocess.run([interpreter, "-m", "venv", str(folder / "venv")], check=True)
    python = folder / "venv" / "bin" / "python"
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "--require-hashes", "-r", str(ROOT / "requirements.txt")], check=True)
    if other:
        subprocess.run([*pip, *other], check=True)
    built = build(folder / "build", 0x60000000)
    (wheel,) = (name for name in built if name.endswith(".whl"))
    (folder / wheel).write_bytes(built[wheel])
    subprocess.run([*pip, "--no-deps", str(folder / wheel)], check=True)
    return python


def outcome(python: Path, *paths: str, marked: str = "not process") -> str:
    """Run the tests of these paths that are marked so; returns how many passed, or what pytest says at its end."""
    words = ["-m", "pytest", "-q", "-n", "2", "-p", "no:cacheprovider", "-m", marked, *paths]
    ran = subprocess.run([str(python), *words], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    last = ran.stdout.strip().splitlines()[-1]
    passed = GOOD.match(last)
    return passed["passed"] if passed and not ran.returncode else f"FAILED: {last}"


def commanded(python: Path, folder: Path) -> str:
    """Run commands of the wheel in an example project; returns their names, and what went wrong."""
    shutil.copytree(ROOT / "stacks", folder / "stacks")
    shutil.copy(ROOT / "Pulumi.yaml", folder)
    said = []
    for words, code in COMMANDS.items():
        command = [str(python.with_name("replicate")), *words]
        ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        failed = ran.returncode != code or "Traceback" in ran.stderr
        said.append(f"`{words[0]}`" + (f" FAILED: {ran.stderr.strip()[-200:]}" if failed else ""))
    return ", ".join(said)


def row(interpreter: str) -> tuple[str, ...]:
    """The row of one interpreter."""
    ask = [interpreter, "-c", "import platform; print(platform.python_version())"]
    version = subprocess.run(ask, capture_output=True, text=True, check=True).stdout.strip()
    print(f"Python {version}", file=sys.stderr)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "project").mkdir()
        python = installed(interpreter, folder)
        return version, outcome(python, "tests/components"), commanded(python, folder / "project")
