"""Reading of the table `move`."""

from graphstore.store.reader import Reader


def read_names(reader: Reader) -> dict[int, str]:
    """Return the names of moves by number, ascending."""
    rows = reader.rows("SELECT move, name FROM move ORDER BY move")
    return {number: str(name) for number, name in rows if isinstance(number, int)}  # else damage
