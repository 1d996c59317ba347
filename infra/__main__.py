"""Entry of `pulumi preview` and `pulumi up`."""

import sys
from pathlib import Path

# The engine runs this folder as the program; the packages beside it are found from the repository's root.
sys.path[0] = str(Path(__file__).resolve().parent.parent)

from infra.program import deploy
from infra.stack.project import find_project

deploy(find_project(Path.cwd()).stacks)
