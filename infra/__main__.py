"""Entry of `pulumi preview` and `pulumi up`."""

import sys
from pathlib import Path

# The engine runs this folder as the program; its packages must not be found as others of their names, as `kubernetes`.
del sys.path[0]

from kafka_replication.infra.program import deploy
from kafka_replication.infra.stack.project import find_project

deploy(find_project(Path.cwd()).stacks)
