"""Reviews a folder against the commit where its branch began, and writes the result for people and machines."""

import json
from dataclasses import replace
from pathlib import Path

from components.contract.problems import CannotRunError
from infra.review.bases import branch_point, changed_paths
from infra.review.pull_request import require_own_folder
from infra.review.yaml.folder import files_at, files_now, is_kept, repository_of
from infra.review.yaml.report import comment_of, document_of
from infra.review.yaml.review import FolderReview, review_files
from infra.stack.yaml_files import shown

#: Files that people read and from which no tool generates objects.
_TEXTS = (".md", ".txt", "LICENSE", "CODEOWNERS", ".gitignore")


def review_folder(folder: Path, against: str | None, namespace: str | None) -> FolderReview:
    """Review a folder. Raises CannotRunError if neither side has it, or if git cannot be asked."""
    home = repository_of(folder)
    commit = branch_point(against, home)
    before, after = files_at(commit, folder), files_now(folder)
    if not folder.is_dir() and not before.read:
        raise CannotRunError(
            "no-such-folder",
            "the folder exists neither now nor at the base",
            str(folder),
            "A review compares what the folder holds.",
            "name the folder of your YAML with `--yaml`.",
        )
    label = f"{against or 'the main branch'} ({commit[:10]})"
    changed = changed_paths(commit, folder) if folder.is_dir() else ()
    unread = tuple(path for path in changed if not is_kept(path) and not path.endswith(_TEXTS))
    return replace(review_files(shown(folder), label, before, after, namespace), unread=unread)


def write_folder_review(review: FolderReview, out: Path) -> None:
    """Write `comment.md`, `effects.json` and `review.json`, replacing an earlier review."""
    require_own_folder(out)
    out.mkdir(parents=True, exist_ok=True)
    comment = comment_of(review)
    (out / "comment.md").write_text(comment, encoding="utf-8")
    text = json.dumps(document_of(review), ensure_ascii=False, indent=2, default=str)
    (out / "effects.json").write_text(text + "\n", encoding="utf-8")
    # The same keys as for stacks, so that one workflow can post both. There is no stack to preview.
    result = {"stacks": [], "deployable": [], "comment": comment}
    (out / "review.json").write_text(json.dumps(result, ensure_ascii=False) + "\n", encoding="utf-8")
