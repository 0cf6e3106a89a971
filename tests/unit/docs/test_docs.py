"""The documentation: generated pages are up to date, links lead somewhere, and every reason is explained."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from pathlib import Path

import pytest

import docs as generator
from stackwright.core.conditions import DONE, ENDED_BY_USER, needs_user
from stackwright.core.openstack.errors import Reason
from support.paths import ROOT
from tests.unit.docs.condition_reasons import Reasons

PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("charts/*.md")])
GUIDES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *ROOT.glob("docs/howto/*.md")]
LINK = re.compile(r"\]\((?!https?://|#)([^)#]+)(#[^)]*)?\)")


def links(page: Path) -> list[str]:
    """Relative targets of a page, without text in code."""
    return [target for target, _ in LINK.findall(re.sub(r"`[^`]*`", "", page.read_text()))]


def test_the_generated_pages_are_up_to_date() -> None:
    wanted = generator.pages()
    there = {str(path.relative_to(generator.REFERENCE)) for path in (generator.REFERENCE / "api").glob("*.md")}
    assert there == {name for name in wanted if name.startswith("api/")}, "call `make docs`"
    for name, text in wanted.items():
        assert (generator.REFERENCE / name).read_text() == text, f"docs/reference/{name} is old: call `make docs`"


def test_the_pages_do_not_depend_on_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    before = generator.cli_page()
    monkeypatch.setenv("COLUMNS", "40")
    assert generator.cli_page() == before


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_have_targets(page: Path) -> None:
    broken = [target for target in links(page) if not (page.parent / target).exists()]
    assert not broken


@pytest.mark.parametrize("page", GUIDES, ids=lambda page: str(page.relative_to(ROOT)))
def test_guides_call_the_python_of_the_checkout(page: Path) -> None:
    """Debian has no `python`, and the packages of its python3 are others."""
    assert not re.findall(r"(?m)(?:^|[` ])python3? (?:-m|tools/).*", page.read_text())


def test_the_help_of_commands_has_the_options_that_they_inherit() -> None:
    _, *commands = generator.cli_page().split("\n## ")
    assert [page.splitlines()[0] for page in commands if "-h, --help" not in page] == []


def test_every_page_can_be_reached() -> None:
    """From the README, over links alone."""
    seen: set[Path] = set()
    todo = [ROOT / "README.md"]
    while todo:
        page = todo.pop().resolve()
        if page in seen or page.suffix != ".md" or not page.exists():
            continue
        seen.add(page)
        todo += [page.parent / target for target in links(page)]
    assert not sorted(str(page.relative_to(ROOT)) for page in PAGES if page.resolve() not in seen)


def test_every_reason_is_explained_and_no_other() -> None:
    reasons = Reasons()
    assert not reasons.unknown, "condition_reasons.py cannot tell which reasons these have"
    told = set(re.findall(r"^\| `(\w+)` \|", (ROOT / "docs/reference/conditions.md").read_text(), re.MULTILINE))
    assert sorted(reasons.found - told) == []
    assert [each for each in Reason if not {each, f"Blocked{each}"} & told] == []
    watch = (ROOT / "charts/ceph/bin/watch.py").read_text()
    assert [each for each in sorted(told - reasons.found - {DONE}) if f'"{each}"' not in watch] == []


def test_the_tables_of_charts_and_images_have_a_row_for_each() -> None:
    def rows(page: str) -> set[str]:
        return set(re.findall(r"^\| `([\w-]+)` \|", (ROOT / page).read_text(), re.MULTILINE))

    charts = {path.parent.name for path in ROOT.glob("charts/*/Chart.yaml")} - {"lib"}
    assert sorted(charts - rows("charts/README.md")) == []
    images = {path.parent.name for path in ROOT.glob("images/*/recipe.yaml")}
    assert sorted(images - rows("docs/reference/images.md")) == []


def test_no_threat_is_listed_twice() -> None:
    lines = (ROOT / "docs/explanation/security.md").read_text().splitlines()
    threats = [line.split(" | ")[0] for line in lines if line.startswith("| ")]
    assert len(threats) > 50
    assert [threat for threat, count in Counter(threats).items() if count > 1] == []


def test_every_direct_dependency_has_its_reason() -> None:
    from stackwright.local.steps.packages import PACKAGES

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wanted = [*project["project"]["dependencies"], *project["dependency-groups"]["dev"]]
    wanted += project["build-system"]["requires"]
    names = {re.split(r"[<>=]", requirement)[0] for requirement in wanted} | set(PACKAGES)
    for module in ROOT.glob("tools/*/go.mod"):
        text = module.read_text()
        names |= set(re.findall(r"^(?:require )?\s*([\w./-]+) v[\w.+-]+$", text, re.MULTILINE))
        programs = re.findall(r"^(?:tool |\t)([\w./-]+)$", text, re.MULTILINE)
        names |= {re.sub(r"/cmd/.*", "", program) for program in programs}
    told = set(re.findall(r"^\| `([^`]+)` \|", (ROOT / "docs/explanation/dependencies.md").read_text(), re.MULTILINE))
    assert not sorted(names ^ told)


def test_the_table_of_reasons_that_need_a_user_has_those_that_stall_an_object() -> None:
    _, alone, user = re.split(
        "^## Reasons that .*$", (ROOT / "docs/reference/conditions.md").read_text(), flags=re.MULTILINE
    )
    user = user.partition("\n## ")[0]
    row = re.compile(r"^\| `(\w+)` \|", re.MULTILINE)
    assert [reason for reason in row.findall(alone) if needs_user(reason)] == []
    assert [reason for reason in row.findall(user) if not needs_user(reason)] == []
    assert {*row.findall(user)} >= ENDED_BY_USER


# A path that begins at the root, in a home or where a checkout may be; /root/.ssh and alike would be of any machine.
OWN = re.compile(r"(?<![\w.~/}-])/(?:root|home/\w+|work|workspace)/\w")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_page_names_a_folder_of_our_own_machines(page: Path) -> None:
    text = page.read_text()
    assert str(ROOT) not in text
    assert OWN.findall(text) == []


@pytest.mark.parametrize(
    ("text", "own"),
    [
        ("in /root/checkout", True),
        ("`/work/checkout/docs`", True),
        ("/home/me/x", True),
        ("/root/.ssh", False),
        ("a/work/b", False),
    ],
)
def test_a_folder_of_a_machine_of_ours_is_known_by_its_path(text: str, own: bool) -> None:
    assert bool(OWN.search(text)) is own
