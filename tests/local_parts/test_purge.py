"""What `down --purge` leaves: nothing that speaks of the stack that was, and all that was built."""

from rich.console import Console

from infra.local import paths, stack


def test_a_purge_takes_pulumis_state_with_the_objects_that_it_tells_of() -> None:
    """A state that outlives its API server makes the next deployment update objects that are not there."""
    owned = (
        paths.DATA,
        paths.LOGS,
        paths.CERTIFICATES,
        paths.CONTROL_PLANE,
        paths.OPERATOR,
        paths.PULUMI,
        paths.VALIDATION,
    )
    for folder in (*owned, paths.BIN, paths.LIB):
        folder.mkdir(parents=True)
        (folder / "something").touch()
    stack.down(Console(quiet=True), purge=True)
    assert [folder.name for folder in owned if folder.exists()] == []
    assert (paths.BIN / "something").exists()
    assert (paths.LIB / "something").exists()


def test_without_it_everything_stays() -> None:
    paths.PULUMI.mkdir(parents=True)
    stack.down(Console(quiet=True))
    assert paths.PULUMI.exists()
