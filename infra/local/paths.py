"""Where everything of the local stack lies on disk. Imports nothing of ours.

What is built once (binaries, jars, CRDs) lies in the repository's own `.local`; what a running stack owns lies in
`LOCAL`, which REPLICATE_LOCAL moves, so that a second stack runs apart from the first and builds nothing again.
"""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCES = Path(__file__).resolve().parent

BUILT = ROOT / ".local"
BIN = BUILT / "bin"
LIB = BUILT / "lib"
CRDS = BUILT / "crds"
STAMPS = BUILT / "stamps"

LOCAL = Path(os.environ.get("REPLICATE_LOCAL") or BUILT).resolve()
STATE_FILE = LOCAL / "state.json"
LOCK_FILE = LOCAL / "lock"
LOGS = LOCAL / "logs"
DATA = LOCAL / "data"
CERTIFICATES = LOCAL / "certificates"
CONTROL_PLANE = LOCAL / "control-plane"
KUBECONFIG = CONTROL_PLANE / "admin.kubeconfig"
OPERATOR = LOCAL / "operator"
PULUMI = LOCAL / "pulumi"
VALIDATION = LOCAL / "validation"
