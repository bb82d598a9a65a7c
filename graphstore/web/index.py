"""The first page: the list of games."""

import re
from functools import lru_cache, partial
from typing import Any

from datasette.utils.asgi import Response
from markupsafe import Markup

from graphstore.rules import board
from graphstore.rules.game import move_text
from graphstore.rules.svg import svg
from graphstore.store.format import STRATEGY
from graphstore.store.probe import Probe
from graphstore.store.store import Store
from graphstore.store.words import in_words
from graphstore.web import addresses
from graphstore.web.naming import is_file, name_of
from graphstore.web.page.pictures import with_definitions

SIZE = 170  # pixels of a board
MANY = 10  # games from which on there is a filter
LONGEST = 12  # moves of best play among which a telling position is searched


async def page(datasette: Any, request: Any) -> Any:
    """Return the first page; unlike Datasette's own, it does not count the rows of all tables.

    ``?q=`` keeps the games whose names contain a text.
    """
    for file in datasette.files_served.values():
        file.store.path.stat()  # raises OSError if it was deleted; its connection would still work
    asked = (request.args.get("q") or "").strip()
    games = [_game(store) for store in datasette.stores.values()]
    kept = [each for each in games if asked.casefold() in _names(each).casefold()]
    context = {
        "metadata": datasette.metadata(),
        "games": kept,
        "asked": asked,
        "count": len(games),
        "many": len(games) > MANY,
    }
    html = await datasette.render_template("index.html", context, request=request)
    return Response.html(with_definitions(html))


def title(name: str) -> str:
    """Return the name that people say for the name of a game in a database.

    >>> [title(name) for name in ("connect(4,4,4)", "mnk(4,3,3,misere)", "nim(3,4,5)")]
    ['Connect Four, 4 by 4', '3 in a row, 4 by 3, misère', 'Nim 3, 4, 5']
    >>> [title(name) for name in ("dots_and_boxes(2,3)", "kalah(3,2,empty)", "kayles(12)")]
    ['Dots and boxes, 2 by 3', 'Kalah, 3 pits of 2, empty', 'Kayles, 12 pins']
    >>> title("my_rules.py:BigChomp"), title("go_fish")
    ('Big Chomp', 'Go fish')
    """
    if re.fullmatch(r"[\w.:/ -]+(\([\w., =-]*\))?", name) is None:
        return name
    family, _, given = name.removesuffix(")").partition("(")
    words = [each for each in given.split(",") if each]
    end = ", misère" * (words[-1:] == ["misere"])
    words = words[: len(words) - bool(end)]
    rest = ", ".join(words)
    match family, words:
        case "tictactoe", []:
            return "Tic-tac-toe"
        case "mnk", [wide, high, count]:
            return f"{count} in a row, {wide} by {high}{end}"
        case "connect", [wide, high, *count]:
            count = (count or ["4"])[0].replace("4", "Four")
            return f"Connect {count}, {wide} by {high}"
        case "vanishing", []:
            return "Vanishing tic-tac-toe"
        case "morris", _:
            return f"Three men's morris, {rest}"
        case "nim", _:
            return f"Nim {rest}{end}"
        case "wythoff", _:
            return f"Wythoff's game, {rest}"
        case "octal", [code, heap]:
            return f"Octal game {code}, {heap}"
        case "kayles", [heap]:
            return f"Kayles, {heap} pins"
        case "dawson", [heap]:
            return f"Dawson's Chess, {heap} files"
        case "subtraction", [heap, *takes]:
            return f"Take {', '.join(takes)} from {heap}{end}"
        case "hexapawn" | "chomp" | "domineering" | "othello" | "dots_and_boxes", [wide, high]:
            return f"{family.replace('_', ' ').capitalize()}, {wide} by {high}"
        case "kalah", [pits, seeds, *options]:
            return ", ".join((f"Kalah, {pits} pits of {seeds}", *options))
        case "ultimate", _:
            return f"Ultimate tic-tac-toe, {rest}"
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])|_+", " ", name.split(":")[-1].split("(")[0]).strip()
    return f"{spaced[:1].upper()}{spaced[1:]}{f', {rest}' if rest else ''}" or name


def _names(game: dict[str, Any]) -> str:
    return " ".join(game[name] for name in ("title", "name", "file"))


def _game(store: Store) -> dict[str, Any]:
    info, file = store.info, name_of(store)
    rules = store.game if store.has_rules else None
    telling = _telling(store)
    shown = ("name", "start", "states", "positions", "moves", "plies", "starts", "extent", "cyclic")
    return {name: info.get(name) for name in shown} | {
        "file": file,
        "tables": is_file(store),
        "title": title(info["name"]),
        "explore": addresses.write(file),
        "play": f"{addresses.write(file)}?against=mistakes%3D0.2&hide=1",
        "position": telling.position,
        "telling": addresses.write(file, telling.position),
        "board": _picture(store, telling),
        "words": in_words(rules, store.start(), bound=info["extent"] == STRATEGY)
        if info.get("states")
        else "searched position by position",
    }


@lru_cache(maxsize=256)
def _telling(store: Store) -> Probe:
    """Return a position of best play whose moves differ most in value; of those, a late one.

    In a game without cells or without a database it is the start.
    """
    rules = store.game if store.has_rules else None
    if "states" not in store.info or board.picture_if_any(store.info["start"], rules) is None:
        return store.start()
    probes = store.line(most=LONGEST).probes
    kinds = [len({move.value for move in each.moves}) for each in probes]
    return probes[max(range(len(probes)), key=lambda at: (kinds[at], at))]


def _picture(store: Store, probe: Probe) -> Markup:
    """Return the board of a position with what its moves are worth; empty without cells."""
    rules = store.game if store.has_rules else None
    drawn = board.picture_if_any(probe.position, rules)
    if drawn is None or drawn.image:
        return Markup()
    choices = board.choices(rules, probe.position, probe.moves, partial(move_text, store.namer))
    pixels = max(5, min(SIZE // 3, SIZE // max(drawn.columns, drawn.rows)))
    shown = svg(drawn, shown=choices, pixels=pixels, style=False)
    return Markup('<span aria-hidden="true">{}</span>').format(Markup(shown))  # noqa: S704  # ours
