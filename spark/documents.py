"""Reads the parameter document and chooses the flows to check."""

import json
from pathlib import Path

from pydantic import ValidationError

from components.contract.parameters import FlowParameters, Parameters, UnsupportedAuthentication
from components.contract.problems import CannotRunError
from components.kafka.patterns import pattern_error


def read_document(path: Path) -> Parameters:
    """Return the document in the file; raises CannotRunError."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        what = error.strerror if isinstance(error, OSError) else "the file is not UTF-8 text"
        raise CannotRunError(
            "parameters-unreadable",
            f"{what}",
            str(path),
            "The document says what to check on which clusters.",
            "give --parameters the path of the document.",
        ) from None
    return parse_document(text, str(path))


def parse_document(text: str, where: str) -> Parameters:
    """Return the document in `text`. Raises CannotRunError, which names every wrong key but repeats no value."""
    try:
        document = Parameters.model_validate(json.loads(text))
    except json.JSONDecodeError as error:
        raise CannotRunError(
            "parameters-not-json",
            f"line {error.lineno} is not JSON: {error.msg}",
            where,
            "The parameter document is JSON.",
            "write the document with `replicate`, or take it from the stack's outputs.",
        ) from None
    except ValidationError as error:
        wrong = [f"{'.'.join(map(str, problem['loc'])) or 'document'}: {problem['msg']}" for problem in error.errors()]
        raise _invalid(wrong, where) from None
    if unusable := _unusable(document):
        raise _invalid(unusable, where)
    return document


def chosen_flows(document: Parameters, name: str | None) -> tuple[FlowParameters, ...]:
    """Return the flow, or the flows of the replication, of that name; all flows without one. Raises CannotRunError."""
    if name is None:
        return document.flows
    chosen = tuple(flow for flow in document.flows if name in (flow.name, flow.replication))
    if not chosen:
        known = ", ".join(flow.name for flow in document.flows)
        why = "The document holds neither a flow nor a replication of that name."
        raise CannotRunError("unknown-flow", f"no flow is named {name!r}", "--flow", why, f"name one of: {known}.")
    return chosen


def _unusable(document: Parameters) -> list[str]:
    """Parts of the document that the program may write but the job cannot check."""
    if not document.flows:
        return ["flows: the stack deploys no flow"]
    logins = [
        f"flows.{index}.{side}.authentication: the job cannot log in by {cluster.authentication.type}; give cluster "
        f"{cluster.alias} another login for the job under validation.authentication"
        for index, flow in enumerate(document.flows)
        for side, cluster in (("source", flow.source), ("target", flow.target))
        if isinstance(cluster.authentication, UnsupportedAuthentication)
    ]
    patterns = [
        f"flows.{index}: the job cannot evaluate the pattern {pattern!r}: {error.reason}"
        for index, flow in enumerate(document.flows)
        for pattern in flow.patterns
        if (error := pattern_error(pattern)) is not None
    ]
    return logins + patterns


def _invalid(wrong: list[str], where: str) -> CannotRunError:
    why = "The job reads version 1 of the document."
    return CannotRunError("parameters-invalid", "; ".join(wrong), where, why, "correct these keys.")
