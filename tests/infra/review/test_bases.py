"""What a stack is compared with: git refs, folders and earlier renders. Anything else is refused."""

import subprocess
from pathlib import Path

import pytest
import yaml

from kafka_replication.components.contract.problems import CannotRunError, ReplicationError
from kafka_replication.infra.review.bases import Base, changed_paths, open_base
from kafka_replication.infra.review.comparison import Comparison, compare_stacks
from kafka_replication.infra.review.render import rendered_files, write_files
from kafka_replication.infra.stack.settings import read_settings
from tests.builders import a_flow, a_topology
from tests.infra.review.changes import written
from tests.infra.stacks import write_stack

pytestmark = pytest.mark.process

LEDGER = {"replications": {"ledger": a_flow(topics=["ledger"])}}


def git(folder: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=test", "-c", "user.email=test@example.com", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", "-C", str(folder), *identity, *arguments], check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository whose branch `main` has stack `test`, and whose work tree is on the branch `change`."""
    root = tmp_path / "repository"
    root.mkdir()
    git(root, "init", "--initial-branch=main")
    written(root / "stacks", {})
    git(root, "add", ".")
    git(root, "commit", "--message=first")
    git(root, "checkout", "-b", "change")
    return root


def changed(stacks: Path, against: str | None, *names: str) -> list[Comparison]:
    with open_base(against, stacks) as base:
        return list(compare_stacks(names, stacks, base))


def codes(comparison: Comparison) -> list[str]:
    return [effect.code for effect in comparison.effects]


def test_commits_and_uncommitted_changes_are_compared_with_where_the_branch_began(repository: Path) -> None:
    write_stack(repository / "stacks", a_topology(a_flow(topics=["orders", "payments-.*", "ledger"])))
    git(repository, "commit", "--all", "--message=second")
    write_stack(repository / "stacks", a_topology(a_flow(topics=["orders", "payments-.*", "ledger", "bills"])))
    (comparison,) = changed(repository / "stacks", None)
    assert "where this branch began" in comparison.against
    assert [effect.what for effect in comparison.effects if effect.code == "topics-start"] == [
        "2 topics start replicating from earliest: `ledger`, `bills`"
    ]


def test_a_later_commit_on_main_is_not_a_change_of_this_branch(repository: Path) -> None:
    git(repository, "checkout", "main")
    write_stack(repository / "stacks", a_topology(a_flow(topics=["orders"])))
    git(repository, "commit", "--all", "--message=other")
    git(repository, "checkout", "change")
    (comparison,) = changed(repository / "stacks", None)
    assert (comparison.effects, comparison.objects) == ((), ())


def test_a_tag_and_a_commit_are_refs(repository: Path) -> None:
    git(repository, "tag", "v1")
    write_stack(repository / "stacks", a_topology(a_flow(topics=["orders"])))
    git(repository, "commit", "--all", "--message=second")
    for ref in ("v1", "HEAD~1", "main"):
        (comparison,) = changed(repository / "stacks", ref)
        assert codes(comparison) == ["topics-stop", "connector-restarts"]
        assert comparison.against.startswith(f"{ref} (")


def test_against_a_ref_without_the_stack_everything_is_added(repository: Path) -> None:
    git(repository, "checkout", "--orphan", "empty")
    git(repository, "rm", "-r", "--cached", ".")
    git(repository, "commit", "--allow-empty", "--message=nothing")
    (comparison,) = changed(repository / "stacks", "empty", "test")
    assert codes(comparison) == ["replication-added"]
    assert {each.change for each in comparison.objects} == {"added"}


def test_moved_stack_files_are_compared_with_those_in_their_old_folder(repository: Path) -> None:
    project = repository / "Pulumi.yaml"
    project.write_text("name: test\nstackConfigDir: ./stacks\n")
    git(repository, "add", ".")
    git(repository, "commit", "--message=project")
    git(repository, "mv", "stacks", "regions")
    project.write_text("name: test\nstackConfigDir: regions\n")
    write_stack(repository / "regions", a_topology(a_flow(topics=["orders"])))
    (comparison,) = changed(repository / "regions", "HEAD")
    assert "topics-stop" in codes(comparison)
    assert "topics-start" not in codes(comparison)


def test_deleting_a_stack_file_removes_everything(repository: Path) -> None:
    (repository / "stacks" / "Pulumi.test.yaml").unlink()
    (comparison,) = changed(repository / "stacks", "main")
    assert codes(comparison) == ["stack-removed", "namespace-deleted", "replication-removed"]
    assert "only `replicate destroy test` removes the objects" in comparison.effects[0].what
    assert {each.change for each in comparison.objects} == {"removed"}


def test_against_a_ref_without_the_topology_file_everything_is_added(repository: Path) -> None:
    topology = repository / "stacks" / "topologies" / "test.yaml"
    kept = topology.read_text()
    topology.unlink()
    git(repository, "commit", "--all", "--message=lost")
    topology.write_text(kept)
    (comparison,) = changed(repository / "stacks", "HEAD")
    assert codes(comparison) == ["replication-added"]


def test_a_topology_that_this_version_cannot_read_is_named_with_its_ref(repository: Path) -> None:
    write_stack(repository / "stacks", "strimzi: '1.2'\nclusters: {}\nmirrors: {}\n")
    git(repository, "commit", "--all", "--message=old")
    write_stack(repository / "stacks")
    with pytest.raises(CannotRunError) as caught:
        changed(repository / "stacks", "HEAD")
    assert caught.value.where == "stacks/topologies/test.yaml"
    assert "as it was at HEAD (" in caught.value.what
    assert "unknown-key: `mirrors`" in caught.value.why


def test_a_file_that_is_not_yaml_at_the_ref_is_named_with_the_ref(repository: Path) -> None:
    write_stack(repository / "stacks", "clusters: {")
    git(repository, "commit", "--all", "--message=broken")
    write_stack(repository / "stacks")
    with pytest.raises(CannotRunError, match=r"at HEAD \(.*at stacks/topologies/test.yaml:\d"):
        changed(repository / "stacks", "HEAD")


def test_a_base_with_mistakes_that_a_check_finds_is_still_compared(repository: Path) -> None:
    write_stack(repository / "stacks", a_topology(a_flow(groups=[])))
    git(repository, "commit", "--all", "--message=no groups")
    write_stack(repository / "stacks")
    (comparison,) = changed(repository / "stacks", "HEAD")
    assert codes(comparison) == ["connector-restarts", "groups-start"]


def test_mistakes_in_the_working_tree_are_reported_instead_of_effects(repository: Path) -> None:
    write_stack(repository / "stacks", a_topology(a_flow(groups=[])))
    with pytest.raises(ReplicationError, match="no-groups"):
        changed(repository / "stacks", "HEAD")


def test_an_unknown_ref_is_refused(repository: Path) -> None:
    with pytest.raises(CannotRunError, match="neither a folder nor a git ref"):
        changed(repository / "stacks", "nowhere")


def test_a_ref_that_looks_like_an_option_is_refused(repository: Path) -> None:
    with pytest.raises(CannotRunError, match="neither a folder nor a git ref"):
        changed(repository / "stacks", "--all")


def test_what_git_could_not_do_is_named_with_the_commit(repository: Path) -> None:
    """A shallow clone lacks the commit where the branch began; which one to fetch must be readable from the error."""
    with pytest.raises(CannotRunError, match=r"(?s)`git diff .* 0123456789`: .*0123456789.*fetch the missing commits"):
        changed_paths("0123456789", repository)


def test_a_stack_that_neither_side_has_is_refused(repository: Path) -> None:
    with pytest.raises(CannotRunError, match="stack `nowhere` has no file"):
        changed(repository / "stacks", "main", "nowhere")


def test_outside_a_git_repository_refs_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    stacks = written(tmp_path / "stacks", {})
    with pytest.raises(CannotRunError, match="not in a git repository"):
        changed(stacks, "main")
    with pytest.raises(CannotRunError, match="not in a git repository"):
        changed(stacks, None)


def test_a_checkout_and_its_stacks_are_the_same_base(tmp_path: Path) -> None:
    (tmp_path / "checkout").mkdir()
    base = written(tmp_path / "checkout" / "stacks", {})
    stacks = written(tmp_path / "stacks", LEDGER)
    for folder in (base, base.parent):
        (comparison,) = changed(stacks, str(folder))
        assert codes(comparison) == ["replication-added"]


def test_a_folder_with_neither_stacks_nor_objects_is_refused(tmp_path: Path) -> None:
    stacks = written(tmp_path / "stacks", {})
    (tmp_path / "other").mkdir()
    with pytest.raises(CannotRunError, match="no stack files, no earlier render and nothing that"):
        changed(stacks, str(tmp_path / "other"))


def rendered(stacks: Path, folder: Path) -> Path:
    settings = read_settings("test", stacks)
    write_files(rendered_files(settings, settings.values), folder)
    return folder


def test_an_earlier_render_leads_to_the_same_effects_as_its_topology(tmp_path: Path) -> None:
    """Effects are read from objects, whoever wrote them. Only the paths of removed keys are not in the objects."""
    before = written(tmp_path / "before", LEDGER)
    stacks = written(tmp_path / "stacks", {"replications": {"orders": {"topics": ["orders"], "policy": "identity"}}})
    against_render = changed(stacks, str(rendered(before, tmp_path / "rendered")), "test")
    effects, wanted = (
        [effect.what for effect in side.effects] for side in (against_render[0], changed(stacks, str(before))[0])
    )
    assert effects == wanted
    assert sorted(map(str, against_render[0].objects)) == sorted(map(str, changed(stacks, str(before))[0].objects))


def test_an_earlier_render_of_several_stacks_has_a_folder_for_each(tmp_path: Path) -> None:
    stacks = written(tmp_path / "stacks", LEDGER)
    rendered(written(tmp_path / "before", {}), tmp_path / "all" / "test")
    (comparison,) = changed(stacks, str(tmp_path / "all"))
    assert codes(comparison) == ["replication-added"]


def test_an_earlier_render_of_one_stack_is_refused_for_two_stacks(tmp_path: Path) -> None:
    stacks = written(tmp_path / "stacks", {})
    (stacks / "Pulumi.other.yaml").write_text((stacks / "Pulumi.test.yaml").read_text())
    folder = rendered(stacks, tmp_path / "rendered")
    with pytest.raises(CannotRunError, match="compared with one stack"):
        changed(stacks, str(folder))


def test_secrets_that_the_project_creates_are_compared_with_an_earlier_render(tmp_path: Path) -> None:
    trust = {"clusters": {"useast": {"tls": {"trust": {"secret": None, "key": None, "config": "useastCa"}}}}}
    secure = {"config": {"useastCa": {"secure": "v1:abc"}}}
    before, stacks = (written(tmp_path / name, {**trust, **secure}) for name in ("before", "stacks"))
    folder = rendered(before, tmp_path / "rendered")
    assert changed(stacks, str(folder), "test")[0].objects == ()
    path = folder / "orders" / "required-secrets.yaml"
    path.write_text(path.read_text().replace("useastCa", "oldCa"))
    (change,) = changed(stacks, str(folder), "test")[0].objects
    assert [(field.path, field.before, field.after) for field in change.fields] == [
        ("values.ca.crt", "oldCa", "useastCa")
    ]


def test_addresses_of_the_configuration_stay_placeholders(tmp_path: Path) -> None:
    """A local stack's addresses are known only while it runs, and a comparison must not need it."""
    of_config = {
        "clusters": {"useast": {"bootstrapServers": {"config": "useastBootstrap"}}},
        "config": {"local": "true"},
    }
    stacks = written(tmp_path / "stacks", of_config)
    before = written(tmp_path / "before", {})
    (comparison,) = compare_stacks((), stacks, Base("before", before))
    (effect,) = [each for each in comparison.effects if each.code == "source-cluster-changes"]
    assert "(configuration key useastBootstrap)" in effect.what


def test_two_stacks_of_one_topology_are_compared_separately(tmp_path: Path) -> None:
    before = written(tmp_path / "before", {})
    stacks = written(tmp_path / "stacks", LEDGER)
    for folder in (before, stacks):
        data = yaml.safe_load((folder / "Pulumi.test.yaml").read_text())
        data["config"]["replication:region"] = "us-east-1"
        (folder / "Pulumi.east.yaml").write_text(yaml.safe_dump(data))
    assert {each.stack: codes(each) for each in changed(stacks, str(before))} == {
        "east": [],
        "test": ["replication-added"],
    }
