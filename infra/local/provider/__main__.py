"""Entry of the provider: `python -m infra.local.provider …` prints its port, and serves until its input ends."""

import argparse
import sys
from pathlib import Path

from infra.local.provider.servicer import serve


def main() -> None:
    """Serve until our parent closes our standard input, or is killed."""
    parser = argparse.ArgumentParser(prog="python -m infra.local.provider", description=__doc__)
    parser.add_argument("--kubeconfig", type=Path, required=True)
    parser.add_argument("--patch-force", action="store_true", help="take over fields from other owners")
    options = parser.parse_args()
    with serve(options.kubeconfig, patch_force=options.patch_force) as port:
        print(port, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
