"""What looking again and again leaves behind."""

import gc
import weakref

from infra.operations.looking import rounds


class Client:
    """Refers to itself, as the clients of Kafka do by their callbacks."""

    def __init__(self) -> None:
        self.callback = self


def test_clients_of_one_look_do_not_live_until_python_happens_to_collect_them() -> None:
    """An exporter looks for weeks; 300 looks that were not collected held 400 open files."""
    looks = rounds(list, every_seconds=0)
    gc.disable()
    try:
        next(looks)
        left = weakref.ref(Client())
        assert left() is not None
        next(looks)
        assert left() is None
    finally:
        gc.enable()
