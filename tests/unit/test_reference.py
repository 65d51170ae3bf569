"""docs/reference.py: the pages of the site that are made of the code, and links that leave the documents."""

import importlib.util
from types import ModuleType

import pytest

from kpd.cli.main import VERBS
from kpd.model.metrics import METRICS
from kpd.profile.catalogue import rules
from tests.places import ROOT


@pytest.fixture(scope="module", name="made")
def _made() -> ModuleType:
    spec = importlib.util.spec_from_file_location("reference", ROOT / "docs" / "reference.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_verb_metric_and_rule_is_on_its_page(made: ModuleType) -> None:
    pages = made.pages()
    for page, names in {
        "commands": [f"### kpd {verb.name}\n" for _, group in VERBS for verb in group],
        "metrics": [f"| `{name}` |" for name in METRICS],
        "rules": [f"| `{rule.id}` |" for rule in rules()],
    }.items():
        assert [name for name in names if name not in pages[f"reference/{page}.md"]] == []
    assert "kpd task new" in pages["reference/commands.md"], "the words below a verb, too"
    assert "worst_roofline_pct" in pages["reference/metrics.md"]


@pytest.mark.parametrize("path", ["README.md", *(f"docs/{file.name}" for file in (ROOT / "docs").glob("*.md"))])
def test_every_link_leads_to_a_file(made: ModuleType, path: str) -> None:
    made.linked((ROOT / path).read_text(), path)


def test_a_link_that_leaves_the_site_is_words_and_one_that_leads_nowhere_is_an_error(made: ModuleType) -> None:
    text = "[a](docs/tasks.md#check) [b](CONTRIBUTING.md) [c](config.toml.example) ![d](docs/pictures/memo.svg) <e>"
    told = "[a](tasks.md#check) b [c](reference/config.md) ![d](pictures/memo.svg) <e>"
    assert made.linked(text, "README.md") == told
    assert (
        made.linked("[a](../README.md) [b](https://kpd.example)", "docs/x.md")
        == "[a](index.md) [b](https://kpd.example)"
    )
    with pytest.raises(ValueError, match=r"docs/tasks\.md links to docs/none\.md"):
        made.linked("[a](none.md)", "docs/tasks.md")
