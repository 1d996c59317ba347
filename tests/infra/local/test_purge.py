"""`down --purge` removes everything that belongs to the stack, and keeps everything that was built."""

from rich.console import Console

from kafka_replication.infra.local import paths, stack
from kafka_replication.infra.machine import paths as machine_paths


def test_a_purge_removes_pulumis_state_with_the_cluster_and_keeps_the_cache() -> None:
    """If the state outlived its API server, the next deployment would update objects that do not exist."""
    owned = (
        paths.data(),
        paths.logs(),
        paths.certificates(),
        paths.control_plane(),
        paths.operator(),
        paths.pulumi(),
        paths.validation(),
    )
    for folder in (*owned, machine_paths.cache()):
        folder.mkdir(parents=True)
        (folder / "something").touch()
    stack.down(Console(quiet=True), purge=True)
    assert [folder.name for folder in owned if folder.exists()] == []
    assert (machine_paths.cache() / "something").exists()


def test_without_a_purge_pulumis_state_stays() -> None:
    paths.pulumi().mkdir(parents=True)
    stack.down(Console(quiet=True))
    assert paths.pulumi().exists()
