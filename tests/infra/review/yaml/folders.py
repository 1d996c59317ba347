"""Folders of YAML before and after a change, without git."""

from collections.abc import Mapping

from kafka_replication.infra.review.yaml.folder import Files
from kafka_replication.infra.review.yaml.review import FolderReview, review_files
from tests.infra.onboard.importing.resources import FLOW, MIRROR

FOLDER = {"flow.yaml": FLOW, "mm2.yaml": MIRROR.replace("topicsPattern: orders", "topicsPattern: stock")}


def files(texts: Mapping[str, str]) -> Files:
    return Files({name: text.encode() for name, text in texts.items()}, {})


def reviewed(before: Mapping[str, str], after: Mapping[str, str], namespace: str | None = None) -> FolderReview:
    """The review of a change to a folder `kafka`."""
    return review_files("kafka", "main", files(before), files(after), namespace)


def changed(*edits: tuple[str, str], before: Mapping[str, str] = FOLDER) -> FolderReview:
    """The review of edits, each of which changes one place in one file."""
    return reviewed(before, edited_files(*edits, before=before))


def edited_files(*edits: tuple[str, str], before: Mapping[str, str] = FOLDER) -> dict[str, str]:
    after = dict(before)
    for old, new in edits:
        (file,) = (name for name, text in after.items() if old in text)
        assert after[file].count(old) == 1, old
        after[file] = after[file].replace(old, new)
    return after


def codes(review: FolderReview) -> set[tuple[str, str]]:
    """Severity and code of each effect."""
    return {(effect.severity.value, effect.code) for effect in review.effects}


def not_judged(review: FolderReview) -> list[str]:
    """The changes that were not judged: file, object, fields and reason, on one line each."""
    return [f"{each.file}: {each.obj}: {' '.join(each.fields)}: {each.why}" for each in review.unjudged]
