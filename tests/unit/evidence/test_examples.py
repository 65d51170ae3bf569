"""The files in docs/examples are what they say: the bundle verifies, and the page is of the same run."""

from kpd.evidence.archive import read
from kpd.evidence.verify import verify
from tests.places import ROOT

EXAMPLES = ROOT / "docs" / "examples"


def test_the_bundle_of_a_recorded_run_on_a_gpu_verifies() -> None:
    lines = verify(read(EXAMPLES / "transpose-h100.kpd.tgz"))
    assert [line for line in lines if not line.holds] == []
    assert lines[-1].text == ("transpose_cuda on NVIDIA H100 80GB HBM3: 5.30× [5.13, 5.48], chained, over the baseline")
    assert sum(line.about.startswith("r1.") for line in lines) == 15


def test_page_short_form_and_readme_have_the_figure_that_the_bundle_gives() -> None:
    for name in ("transpose-h100.html", "transpose-h100-short.md", "README.md"):
        text = (EXAMPLES / name).read_text()
        assert "5.30×" in text and "NVIDIA H100 80GB HBM3" in text, name
