"""Write a report: the page, and each plot as a file beside it."""

from pathlib import Path
from typing import Final

from dorm.simulate.report.canvas import to_png
from dorm.simulate.report.groups import groups_of
from dorm.simulate.report.page import Picture, render
from dorm.simulate.report.sections import sections_of
from dorm.simulate.report.theme import DARK, LIGHT
from dorm.simulate.results import Results
from events.errors import Rejected

PAGE: Final = "report.html"
PLOTS: Final = "plots"


def write(results: Results, directory: Path) -> Path:
    """Write the report of `results` into a directory, which is made if need be; return its page.

    The page has all pictures inside of it, in light and dark, so it may be moved or sent alone.
    The light ones are also files in `plots/`, for other documents. Equal results give equal files.

    Raises:
        Rejected: The directory cannot be written.
    """
    sections = sections_of(results, groups_of(results))
    plots = [plot for section in sections for plot in section.plots]
    pictures = {
        plot.name: Picture(light=to_png(plot.draw(LIGHT)), dark=to_png(plot.draw(DARK)))
        for plot in plots
    }
    page = render(results, sections, pictures)
    try:
        (directory / PLOTS).mkdir(parents=True, exist_ok=True)
        for name, picture in pictures.items():
            (directory / PLOTS / f"{name}.png").write_bytes(picture.light)
        (directory / PAGE).write_text(page, encoding="utf-8")
    except OSError as error:
        raise Rejected(
            f"cannot be written: {error.strerror}",
            field="report",
            value=str(directory),
            hint="name another directory",
        ) from error
    return directory / PAGE
