"""What the demo shows: sentences, and below them a live table; plain lines where it is piped."""

import contextlib
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import attrs
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

Rows = Sequence[Mapping[str, Any]]

LINE_EVERY_S: Final = 5.0
BAR: Final = 24


@attrs.define
class Screen:
    """Where the demo speaks."""

    console: Console = attrs.field(factory=Console)
    _live: Live | None = None
    _started_at: float = attrs.field(factory=time.monotonic)
    _last_line: str = ""
    _line_at: float = 0.0

    @contextlib.contextmanager
    def showing(self) -> Iterator[None]:
        """Show the live table until the end of the block."""
        if not self.console.is_terminal:
            yield
            return
        with Live(console=self.console, refresh_per_second=4, transient=True) as live:
            self._live = live
            try:
                yield
            finally:
                self._live = None

    def head(self, number: int, sentence: str) -> None:
        """Begin a step of the demo."""
        self.console.print()
        self.console.print(Text(f"{number}. {sentence}", style="bold"))

    def say(self, sentence: str) -> None:
        """Say what is happening."""
        self.console.print(Text(f"   [{self._clock}] {sentence}"), soft_wrap=True)

    def checked(self, sentence: str) -> None:
        """Say what was just found to be true."""
        line = Text(f"   [{self._clock}] ")
        self.console.print(line.append("checked: ", style="green").append(sentence), soft_wrap=True)

    def failed(self, sentence: str) -> None:
        """Say why the demo ends here."""
        self.console.print(Text(f"\nThe demo failed: {sentence}", style="red"), soft_wrap=True)

    def quote(self, text: str) -> None:
        """Show what a command printed."""
        for line in text.rstrip().splitlines():
            self.console.print(Text(f"   | {line}", style="dim"), soft_wrap=True)

    def show(self, apps: Rows, nodes: Rows) -> None:
        """Show the cluster as it is now."""
        if self._live:
            self._live.update(Group(Text(), _app_table(apps), _node_line(nodes)))
            return
        line, now = _sizes(apps), time.monotonic()
        if line != self._last_line or now >= self._line_at + LINE_EVERY_S:
            self._last_line, self._line_at = line, now
            self.console.print(Text(f"   [{self._clock}] {_plain_line(apps)}"), soft_wrap=True)

    @property
    def _clock(self) -> str:
        return f"{time.monotonic() - self._started_at:5.1f} s"


def _app_table(apps: Rows) -> RenderableType:
    table = Table("application", "phase", "containers", "generation", "step", "loss")
    for app in apps:
        size = f"{'#' * app['size']}{'.' * max(0, app['granted'] - app['size'])}"
        table.add_row(
            app["name"],
            app["phase"],
            f"{size} {app['size']}",
            str(app["generation"]),
            _bar(app["progress"]),
            _loss(app),
        )
    return table


def _node_line(nodes: Rows) -> RenderableType:
    return Text(
        "   ".join(
            f"{node['id']} {node['state']}: {node['used']['cpu_milli'] / 1000:g} of "
            f"{node['capacity']['cpu_milli'] / 1000:g} cpus"
            for node in nodes
        ),
        style="dim",
    )


def _bar(progress: Mapping[str, Any] | None) -> str:
    if not progress or not progress.get("total"):
        return ""
    done = round(BAR * progress["step"] / progress["total"])
    return f"{'=' * done}{' ' * (BAR - done)} {progress['step']}/{progress['total']}"


def _loss(app: Mapping[str, Any]) -> str:
    progress = app["progress"]
    return "" if not progress or progress.get("loss") is None else f"{progress['loss']:.4f}"


def _sizes(apps: Rows) -> str:
    return " ".join(f"{app['name']}:{app['phase']}:{app['size']}" for app in apps)


def _plain_line(apps: Rows) -> str:
    parts = []
    for app in apps:
        progress = app["progress"]
        step = f" step {progress['step']} loss {_loss(app)}" if progress else ""
        parts.append(f"{app['name']} {app['phase']} x{app['size']}{step}")
    return " | ".join(parts) or "nothing runs"
