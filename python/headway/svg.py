# SPDX-License-Identifier: Apache-2.0
"""Writes pictures as SVG: shapes in the order in which they are added."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

Point = tuple[float, float]

# Distinct in print and for most colour-blind readers; lines beyond that also differ in dashes.
PALETTE = ("#1f77b4", "#d95f02", "#1b9e77", "#c2185b", "#7b5ea7", "#8c6d31", "#4d4d4d", "#00838f")
DASHES = ("", "7 4", "2 3")
FONT = "Helvetica, Arial, sans-serif"


def number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


class Picture:
    """A white sheet of so many points; (0, 0) is its upper left corner."""

    def __init__(self, width: float, height: float, title: str) -> None:
        self.width = width
        self.height = height
        self._parts = [f"<title>{escape(title)}</title>"]
        self._colors: list[str] = []

    def _add(self, tag: str, title: str | None = None, text: str | None = None,
             **attributes: str | float) -> None:
        words = [
            f'{name.rstrip("_").replace("_", "-")}="'
            f'{escape(value if isinstance(value, str) else number(value))}"'
            for name, value in attributes.items() if value != ""
        ]
        inside = f"<title>{escape(title)}</title>" if title else ""
        inside += escape(text) if text is not None else ""
        start = " ".join([tag, *words])
        self._parts.append(f"<{start}>{inside}</{tag}>" if inside else f"<{start}/>")

    def box(self, x: float, y: float, width: float, height: float, *, fill: str,
            stroke: str = "none", title: str | None = None, radius: float = 3) -> None:
        self._add("rect", title, x=x, y=y, width=width, height=height, rx=radius, fill=fill,
                  stroke=stroke)

    def text(self, x: float, y: float, words: str, *, size: float = 11, anchor: str = "start",
             fill: str = "#222222", weight: str = "normal") -> None:
        self._add("text", None, words, x=x, y=y, font_size=size, text_anchor=anchor, fill=fill,
                  font_weight=weight)

    def line(self, points: Sequence[Point], *, stroke: str, width: float = 1, dash: str = "",
             opacity: float = 1, title: str | None = None) -> None:
        self._add("polyline", title, points=" ".join(f"{number(x)},{number(y)}" for x, y in points),
                  fill="none", stroke=stroke, stroke_width=width, stroke_dasharray=dash,
                  stroke_opacity=opacity)

    def curve(self, start: Point, first: Point, second: Point, end: Point, *, stroke: str,
              width: float = 1, opacity: float = 1, has_head: bool = True, kind: str = "",
              title: str | None = None) -> None:
        """A Bezier curve; with a head it is an arrow."""
        places = [f"{number(x)} {number(y)}" for x, y in (start, first, second, end)]
        marker = ""
        if has_head:
            if stroke not in self._colors:
                self._colors.append(stroke)
            marker = f"url(#head{self._colors.index(stroke)})"
        self._add("path", title, d=f"M {places[0]} C {', '.join(places[1:])}", fill="none",
                  stroke=stroke, stroke_width=width, stroke_opacity=opacity, marker_end=marker,
                  class_=kind)

    def dot(self, x: float, y: float, radius: float, *, fill: str,
            title: str | None = None) -> None:
        self._add("circle", title, cx=x, cy=y, r=radius, fill=fill)

    def lines(self) -> Iterable[str]:
        size = f'width="{number(self.width)}" height="{number(self.height)}"'
        yield (f'<svg xmlns="http://www.w3.org/2000/svg" {size} viewBox="0 0 '
               f'{number(self.width)} {number(self.height)}" font-family="{FONT}">')
        for index, color in enumerate(self._colors):
            yield (f'<marker id="head{index}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="6" '
                   f'markerHeight="6" orient="auto-start-reverse"><path d="M 0 0 L 8 4 L 0 8 z" '
                   f'fill="{color}"/></marker>')
        yield '<rect width="100%" height="100%" fill="#ffffff"/>'
        yield from self._parts
        yield "</svg>"

    def write(self, path: Path) -> None:
        path.write_text("\n".join(self.lines()) + "\n", encoding="utf-8")
