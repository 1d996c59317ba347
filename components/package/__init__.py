"""Kafka replication on Kubernetes. Components for any Pulumi program: `from kafka_replication import ReplicationFlow`.

`components/public.py` lists what may be imported from here. It is loaded when one of its names is first used, so that
commands without Pulumi (`check`, `render`) do not wait for it.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kafka_replication.components.public import *  # noqa: F403
else:

    def __getattr__(name: str) -> object:
        from importlib import import_module

        try:
            return getattr(import_module("kafka_replication.components.public"), name)
        except AttributeError:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
