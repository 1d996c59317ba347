"""Starts the validation job: `python spark/validate.py …` or `spark-submit spark/validate.py …`."""

import sys
from pathlib import Path

if __name__ == "__main__":
    # Python puts the folder of a script first on its path; the package is the folder above. Under --py-files the
    # packages are on the path already, and this file may lie anywhere.
    sys.path[0] = str(Path(__file__).resolve().parent.parent)
    from spark.command_line import entry

    sys.exit(entry())
