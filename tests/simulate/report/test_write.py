"""The report as files: what is in it, and that it survives odd runs and hostile names."""

import base64
from html.parser import HTMLParser
from pathlib import Path

import attrs
import pytest

from dorm.simulate.report import PAGE, PLOTS, write
from dorm.simulate.report.canvas import to_png
from dorm.simulate.report.disturbance import overhead
from dorm.simulate.report.groups import end_of, groups_of
from dorm.simulate.report.page import Picture, render
from dorm.simulate.report.sections import sections_of
from dorm.simulate.report.sizes import STACKED_APPS_MAX, sizes
from dorm.simulate.report.theme import DARK, LIGHT
from dorm.simulate.results import PolicyRun, Results
from events.errors import Rejected
from tests.simulate.report.samples import a_run, results

HOSTILE = '_名 $\\frac{$ <script>alert(1)</script>" onload="x \x1b[2J'
PNG = b"\x89PNG\r\n\x1a\n"


class Page(HTMLParser):
    """What a browser would make of a page: its tags, its pictures, its text."""

    def __init__(self, html: str) -> None:
        """Read the page."""
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.words: list[str] = []
        self.best = 0
        self.attributes: list[str] = []
        self.feed(html)

    @property
    def text(self) -> str:
        """Return all text."""
        return " ".join(self.words)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a tag, and what it refers to."""
        self.tags.append(tag)
        found = dict(attrs)
        self.attributes += found
        self.ids += [value for name, value in attrs if name == "id" and value]
        self.links += [found[name] or "" for name in ("src", "srcset", "href") if name in found]
        self.best += found.get("class") == "best"
        if tag not in ("meta", "img", "source"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        """Fail if tags do not nest."""
        assert tag == self.open.pop()

    def handle_data(self, data: str) -> None:
        """Note text."""
        self.words.append(data.strip())


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of an ordinary report."""
    return write(results(("static", "goodput"), apps=12), tmp_path_factory.mktemp("report"))


def with_hostile_names(found: Results) -> Results:
    """Return results in which everything that users name has a name that means harm."""

    def renamed(run: PolicyRun) -> PolicyRun:
        apps = tuple(attrs.evolve(app, name=HOSTILE, kind=HOSTILE) for app in run.apps)
        label = run.label if run.label == found.baseline else HOSTILE
        return attrs.evolve(run, apps=apps, label=label)

    return attrs.evolve(
        found, trace=HOSTILE, notes=(HOSTILE,), runs=tuple(renamed(run) for run in found.runs)
    )


def test_the_page_needs_nothing_else(usual: Path) -> None:
    """It is opened from a disk, without network, or sent by mail."""
    page = Page(usual.read_text(encoding="utf-8"))

    outside = [link for link in page.links if not link.startswith(("data:image/png;base64,", "#"))]
    assert [] == outside
    assert [] == page.open
    assert {"script", "link", "iframe"}.isdisjoint(page.tags)


def test_each_plot_is_in_the_page_in_light_and_dark_and_beside_it(usual: Path) -> None:
    """Pages are for readers, files for papers."""
    page = Page(usual.read_text(encoding="utf-8"))
    inside = [
        base64.b64decode(link.partition(",")[2]) for link in page.links if link.startswith("data:")
    ]
    beside = {path.read_bytes() for path in (usual.parent / PLOTS).glob("*.png")}

    assert all(picture.startswith(PNG) for picture in inside)
    assert len(inside) == 2 * len(beside)
    assert beside <= set(inside)
    assert {
        "utilization",
        "utilization-by-resource",
        "fairness",
        "completion",
        "slowdown",
        "speedup",
        "queue",
        "sizes-1",
        "sizes-2",
        "restarts",
        "overhead",
        "decisions",
    } == {path.stem for path in (usual.parent / PLOTS).glob("*.png")}


def test_the_page_tells_what_was_run_and_who_is_best(usual: Path) -> None:
    """A report that cannot be repeated is an anecdote."""
    page = Page(usual.read_text(encoding="utf-8"))

    assert {
        "summary", "utilization", "fairness", "completion", "sizes", "disturbance", "decisions",
        "facts",
    } == set(page.ids)  # fmt: skip
    assert "Applications end soonest under goodput: on average" in page.text
    assert "20x12cpu: 20 nodes, 240 cpus, 2,560 GiB of memory, 5 gpus" in page.text
    assert "dorm simulate paper --nodes 20x12cpu" in page.text
    assert "Who gained most and least under goodput" in page.text
    assert page.best > 5
    assert page.tags.count("figcaption") == page.tags.count("figure") > 0


def test_equal_results_give_equal_plots(usual: Path) -> None:
    """A report in a repository should only change when its results do."""
    again = results(("static", "goodput"), apps=12)

    for section in sections_of(again, groups_of(again)):
        for plot in section.plots:
            assert (usual.parent / PLOTS / f"{plot.name}.png").read_bytes() == to_png(
                plot.draw(LIGHT)
            )


def test_hostile_names_are_text() -> None:
    """Names come from traces, and a report is passed around."""
    hostile = with_hostile_names(results(("static", "goodput"), apps=10))
    sections = sections_of(hostile, groups_of(hostile))
    pictures = {
        plot.name: Picture(light=PNG, dark=PNG) for section in sections for plot in section.plots
    }

    html = render(hostile, sections, pictures)

    page = Page(html)
    assert "script" not in page.tags
    assert {"onload", "onerror"}.isdisjoint(page.attributes)
    assert "<script>alert(1)</script>" in page.text
    assert "\x1b" not in html


def test_hostile_names_are_drawn_as_they_are() -> None:
    """A dollar sign is no mathematics, and a letter that the font lacks is no warning."""
    hostile = with_hostile_names(results(("static", "goodput"), apps=2))
    groups = groups_of(hostile)
    plots = (overhead(groups), sizes(groups[1], number=2, span_s=end_of(groups[1].first)))

    assert all(plot and to_png(plot.draw(LIGHT)).startswith(PNG) for plot in plots)


@pytest.mark.parametrize(
    ("apps", "reading"),
    [(3, "Each band is one application"), (STACKED_APPS_MAX + 1, "Each row is an application")],
)
def test_many_applications_are_a_heat_map(apps: int, reading: str) -> None:
    """Bands of a pixel say nothing."""
    (group,) = groups_of(results(("drf",), apps=apps, baseline=""))

    plot = sizes(group, number=1, span_s=end_of(group.first))

    assert plot is not None
    assert plot.reading.startswith(reading)
    assert to_png(plot.draw(DARK)).startswith(PNG)


def empty_run() -> PolicyRun:
    """Return the run of a trace without applications."""
    return attrs.evolve(a_run("drf", apps=1), apps=(), moments=(), decisions=())


def unfinished_run() -> PolicyRun:
    """Return a run whose only application never got a container."""
    run = a_run("drf", apps=1)
    waiting = attrs.evolve(run.apps[0], started_s=None, finished_s=None, sizes=(), run_s=0.0)
    return attrs.evolve(run, apps=(waiting,))


@pytest.mark.parametrize(
    "runs",
    [(), (empty_run(),), (a_run("drf", apps=1),), (unfinished_run(),)],
    ids=["no run", "no application", "one application", "nothing finished"],
)
def test_there_is_always_a_page(runs: tuple[PolicyRun, ...], tmp_path: Path) -> None:
    """The simulation took its time; its report must not fail over a corner."""
    found: Results = attrs.evolve(results((), apps=1), runs=runs)

    page = Page(write(found, tmp_path / "deep" / "down").read_text(encoding="utf-8"))

    assert [] == page.open
    assert "Facts of the run" in page.text


def test_a_directory_that_cannot_be_is_refused_in_words(tmp_path: Path) -> None:
    """An hour of simulation should not end in a traceback."""
    (tmp_path / "file").write_text("")

    with pytest.raises(Rejected, match="name another directory"):
        write(results((), apps=1), tmp_path / "file")

    assert PAGE not in {path.name for path in tmp_path.iterdir()}
