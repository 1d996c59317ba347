"""Where this repository is: tests read its example stacks, workflows and READMEs."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
STACKS = ROOT / "stacks"
