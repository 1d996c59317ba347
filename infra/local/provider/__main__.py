"""Entry of the provider. It prints its port, and serves until its input ends."""

import argparse
import sys
from pathlib import Path

from kafka_replication.infra.local.provider.servicer import serve


def main() -> None:
    """Serve until our parent closes our standard input, or is killed."""
    parser = argparse.ArgumentParser(prog="python -m kafka_replication.infra.local.provider", description=__doc__)
    parser.add_argument("--kubeconfig", type=Path, required=True)
    parser.add_argument("--patch-force", action="store_true", help="take over fields from other owners")
    options = parser.parse_args()
    with serve(options.kubeconfig, patch_force=options.patch_force) as port:
        print(port, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
