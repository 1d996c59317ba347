"""Entry of `pulumi preview` and `pulumi up`."""

import sys
from pathlib import Path

# The engine runs this folder as the program. If it stayed on the path, its `kubernetes` would hide the client.
del sys.path[0]

from kafka_replication.infra.program import deploy
from kafka_replication.infra.stack.project import find_project

deploy(find_project(Path.cwd()).stacks)
