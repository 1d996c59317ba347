"""The validation job's own logins, which no running resource contains: a file -> `validation` of the clusters."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from components.contract.problems import CannotRunError
from components.topology.clusters import ValidationAccess
from infra.onboard.importing.topologies import ImportedTopology
from infra.stack.files.loading import load_yaml
from infra.stack.files.positions import shown

_FORM = (
    "for each cluster, write `ALIAS: {authentication: {type: scram-sha-512, username: NAME, password: {secret: NAME, "
    "key: KEY}}}`, with Secrets of the workers' namespace."
)


def read_logins(file: Path) -> dict[str, Any]:
    """Return `validation` by the alias of each cluster, in the form of a topology.

    Raises CannotRunError for a file that cannot be read or has another form. No error quotes a value: it may be a
    password.
    """
    if not file.is_file():
        raise _refused("no-such-file", "there is no such file", shown(file), "name a file that exists.")
    found = load_yaml(file)
    if not isinstance(found, Mapping) or not found:
        raise _refused("validation-login-form", "it is not a mapping of aliases to logins", shown(file), _FORM)
    wrong = [each for alias, given in found.items() for each in _wrong(str(alias), given)]
    if wrong:
        raise _refused("validation-login-form", "; ".join(wrong), shown(file), _FORM)
    return {str(alias): given for alias, given in found.items()}


def add_logins(topologies: Sequence[ImportedTopology], logins: Mapping[str, Any], file: Path) -> None:
    """Give the clusters their logins. Raises CannotRunError for an alias that no cluster has."""
    known = sorted({alias for topology in topologies for alias in topology.clusters})
    if unknown := sorted(logins.keys() - set(known)):
        what = f"no cluster has the alias {', '.join(f'`{each}`' for each in unknown)}"
        remedy = f"name one of {', '.join(f'`{each}`' for each in known)}."
        raise _refused("unknown-alias", what, shown(file), remedy)
    for topology in topologies:
        for alias, login in logins.items():
            if alias in topology.clusters:
                topology.clusters[alias]["validation"] = login


def _wrong(alias: str, given: object) -> Iterator[str]:
    try:
        ValidationAccess.model_validate(given)
    except ValidationError as error:
        for each in error.errors(include_input=False, include_url=False):
            path = ".".join(str(step) for step in (alias, *each["loc"]))
            yield f"`{path}`: {each['type'].replace('_', ' ')}"


def _refused(code: str, what: str, where: str, remedy: str) -> CannotRunError:
    why = "`--validation-login` names the logins with which the validation reads both clusters."
    return CannotRunError(code, what, where, why, remedy)
