"""The site has every page. The workflow builds it, and finds every link that leads nowhere."""

import re

from tests.repository import ROOT

FOLDERS = (".github", "components", "infra", "spark", "stacks", "tests")
#: A template of the projects that `replicate init` writes.
TEMPLATES = ROOT / "infra" / "onboard" / "new_project"


def test_the_navigation_has_every_page_once() -> None:
    configuration = (ROOT / ".github" / "mkdocs.yml").read_text()
    pages = re.findall(r"^ +- .+\?: (\S+\.md)$", configuration, re.MULTILINE)
    found = [page for folder in FOLDERS for page in (ROOT / folder).rglob("*.md") if page.stem.isupper()]
    there = {str(page.relative_to(ROOT)) for page in found if not page.is_relative_to(TEMPLATES)}
    assert sorted(pages) == sorted({"README.md", *there})
