"""Gives MkDocs the pages where they stand in the repository, and the files to which they link."""

import subprocess
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files, InclusionLevel

ROOT = Path(__file__).resolve().parent.parent
#: What Git must know. A template is a page of the projects that `replicate init` writes.
PATTERNS = ("*.md", "*.svg", "*.png", "LICENSE", "*/schema.json", ".github/*.yaml", "infra/*.yaml", ":!*/new_project/*")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add every page; a web server may hide what is in a folder whose name begins with a dot."""
    listed = subprocess.run(["git", "ls-files", *PATTERNS], cwd=ROOT, check=True, capture_output=True, text=True)
    for path in listed.stdout.splitlines():
        file = File.generated(config, path, abs_src_path=str(ROOT / path), inclusion=InclusionLevel.INCLUDED)
        file.dest_uri = file.dest_uri.removeprefix(".")
        files.append(file)
    return files
