"""SVG of `graphstore.rules.svg` as PNG, painted by matplotlib, so that both look the same."""

import re
from io import BytesIO
from typing import Any, Final
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from matplotlib import patches
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.path import Path
from matplotlib.patheffects import withStroke
from matplotlib.text import Text
from matplotlib.transforms import Affine2D, IdentityTransform

from graphstore.errors import DrawingError
from graphstore.rules.svg import LIGHT, LOOKS

DENSITY: Final = 2  # pixels of the PNG for a pixel of the SVG
POINTS: Final = 72  # in an inch
_STEP = re.compile(r"([MLHVCZ])([^MLHVCZ]*)")


def painted(svg: str) -> bytes:
    """Return the PNG of an SVG of `graphstore.rules.svg`, in its light colours.

    Raises:
        DrawingError: the SVG has an image of a user's rules.
    """
    if "<image " in svg:
        raise DrawingError(
            "the rules draw this position with images, which a PNG cannot hold; write SVG"
        )
    root = ElementTree.fromstring(svg)  # noqa: S314  # it is ours
    pixels = [float(root.attrib[each]) for each in ("width", "height")]
    left, top, width, height = map(float, root.attrib["viewBox"].split())
    figure = Figure(figsize=(pixels[0] / POINTS, pixels[1] / POINTS), dpi=POINTS * DENSITY)
    figure.patch.set_facecolor(LIGHT["paper"])
    FigureCanvasAgg(figure)
    scale = pixels[0] / width
    to_points = Affine2D().translate(-left, -top - height).scale(scale, -scale)
    _paint(figure, root, to_points.scale(DENSITY), 1.0, scale)
    written = BytesIO()
    figure.savefig(written, format="png", dpi=POINTS * DENSITY)
    return written.getvalue()


def _paint(figure: Any, element: Element, place: Any, opacity: float, scale: float) -> None:
    """Paint an element and those in it; `place` maps its units to pixels of the figure."""
    for kind, *numbers in re.findall(
        r"(translate|scale)\(([\d.-]+)(?: ([\d.-]+))?\)", element.get("transform", "")
    ):
        x, y = float(numbers[0]), float(numbers[1] or (numbers[0] if kind == "scale" else 0))
        step = Affine2D().scale(x, y) if kind == "scale" else Affine2D().translate(x, y)
        place = step + place
        scale *= x if kind == "scale" else 1
    look = {
        what: LIGHT.get(how, how)
        for name in element.get("class", "").split()
        for what, how in LOOKS.get(name.removeprefix("gs-"), {}).items()
    } | dict(element.items())
    opacity *= float(look.get("opacity", 1))
    tag = element.tag.rpartition("}")[2]
    shape: Any = None
    if tag == "rect" and "%" not in look["width"]:  # else it is the paper of a text
        x, y, width, height, corner = (
            float(look.get(each, 0)) for each in ("x", "y", "width", "height", "rx")
        )
        if 2 * corner == width == height:
            shape = patches.Circle((x + corner, y + corner), corner)
        else:
            style = f"round,pad=0,rounding_size={corner or 1e-9}"
            shape = patches.FancyBboxPatch((x, y), width, height, boxstyle=style)
    elif tag == "circle":
        shape = patches.Circle((float(look["cx"]), float(look["cy"])), float(look["r"]))
    elif tag == "path":
        shape = patches.PathPatch(Path(*_steps(look["d"])))
    if shape is not None:
        shape.set_facecolor(look.get("fill", "#000"))
        shape.set_edgecolor(look.get("stroke", "none"))
        shape.set_linewidth(float(look.get("stroke-width", 1)) * scale)
        shape.set_capstyle(
            {"round": "round", "square": "projecting"}.get(look.get("stroke-linecap", ""), "butt")
        )
        shape.set_alpha(opacity * float(look.get("fill-opacity", 1)))
        shape.set_transform(place)
        figure.add_artist(shape)
    elif tag == "text":
        _write(figure, element, look, place, opacity, scale)
        return
    for inner in element:
        _paint(figure, inner, place, opacity, scale)


def _write(
    figure: Any, element: Element, look: dict[str, str], place: Any, opacity: float, scale: float
) -> None:
    """Paint a text, or its parts that have places of their own."""
    mono = "gs-text" in element.get("class", "")
    x, y = look.get("x", "0"), look.get("y", "0")
    for part in [element, *element]:
        x, y = part.get("x", x), part.get("y", y)
        if not part.text:
            continue
        left, base = place.transform((float(x), float(y)))
        text = Text(
            left,
            base,
            part.text,
            color=look.get("fill", "#000"),
            alpha=opacity,
            fontsize=float(look["font-size"]) * scale * (0.98 if mono else 0.9),
            weight="bold" if "font-weight" in look else "normal",
            ha="center" if look.get("text-anchor") == "middle" else "left",
            va="baseline",
            transform=IdentityTransform(),
            family="DejaVu Sans Mono" if mono else "DejaVu Sans",
            parse_math=False,
        )
        if "paint-order" in look:
            text.set_path_effects([withStroke(linewidth=4 * scale, foreground=look["stroke"])])
        figure.add_artist(text)


def _steps(path: str) -> tuple[list[tuple[float, float]], list[Any]]:
    """Return the points and codes of matplotlib for a path of M, L, H, V, C and Z in SVG."""
    points: list[tuple[float, float]] = []
    codes: list[Any] = []
    for command, given in _STEP.findall(path):
        numbers = [float(each) for each in re.findall(r"-?[\d.]+", given)]
        if command == "H":
            numbers.append(points[-1][1])
        elif command == "V":
            numbers.insert(0, points[-1][0])
        pairs = list(zip(numbers[::2], numbers[1::2], strict=True)) or points[-1:]
        points += pairs
        code = {"C": Path.CURVE4, "Z": Path.CLOSEPOLY}.get(command, Path.LINETO)
        codes += [code] * len(pairs)
        if command == "M":
            codes[-len(pairs)] = Path.MOVETO
    return points, codes
