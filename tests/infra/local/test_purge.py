"""What `down --purge` leaves: nothing that speaks of the stack that was, and all that was built."""

from rich.console import Console

from infra.local import paths, stack
from infra.machine import paths as machine_paths


def test_a_purge_takes_pulumis_state_with_the_objects_that_it_tells_of() -> None:
    """A state that outlives its API server makes the next deployment update objects that are not there."""
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


def test_without_it_everything_stays() -> None:
    paths.pulumi().mkdir(parents=True)
    stack.down(Console(quiet=True))
    assert paths.pulumi().exists()
