"""The operator's client of the API server: it asks again only for what may have changed since the last round."""

from typing import Any

from infra.kubernetes.api import KubernetesApi, Object

_ANY_LIST = "/api/v1/events"
"""Every list carries the revision of the whole store. The API server reads Events from the store, not from a cache."""


class RememberedReads(KubernetesApi):
    """Answers a GET from memory until a write, or until a round begins after any object has changed.

    The answers are shared and must not be changed.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._revision = ""
        self._answers: dict[tuple[object, ...], Object] = {}

    def begin_round(self) -> None:
        """Forget the answers if anything has changed. Raises ApiError."""
        now = str(super()._call("GET", _ANY_LIST, params={"limit": "1"})["metadata"]["resourceVersion"])
        if now != self._revision:
            self._answers.clear()
            self._revision = now

    def _call(self, method: str, path: str, **request: Any) -> Object:
        if method != "GET":
            if not path.endswith("/subjectaccessreviews"):
                self._answers.clear()
            return super()._call(method, path, **request)
        question = path, *sorted((request.get("params") or {}).items())
        if question not in self._answers:
            self._answers[question] = super()._call(method, path, **request)
        return self._answers[question]
