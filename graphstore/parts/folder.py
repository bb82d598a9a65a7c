"""A folder of parts: where its files are, and what it is about."""

import json
import os
from pathlib import Path
from typing import Any, Final

from graphstore.errors import NotAStoreError, StoreError, StoreMissingError

ROW_GROUP: Final = 65_536


class Folder:
    """A game in parts (a stand-in)."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.info: dict[str, Any] = {}
        self.digests: dict[str, str] = {}

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> "Folder":
        """Open a folder that is finished."""
        folder = cls(path)
        if not folder.path.is_dir():
            raise StoreMissingError(f"there is no folder {folder.path}")
        try:
            known = json.loads((folder.path / "game.json").read_text())
        except FileNotFoundError as error:
            raise StoreError(
                f"{folder.path} is not finished; run the same build again to go on"
            ) from error
        except ValueError as error:
            raise NotAStoreError(f"{folder.path} is damaged: game.json") from error
        folder.info, folder.digests = known["game"], known["digests"]
        return folder

    def state_file(self, part: int, wave: int) -> Path:
        """Return the file of a block's states."""
        return self.path / "state" / f"wave-{wave:04}" / f"part-{part:04}.parquet"

    def edge_file(self, part: int, wave: int) -> Path:
        """Return the file of a block's moves."""
        return self.path / "edge" / f"wave-{wave:04}" / f"part-{part:04}.parquet"

    def files(self, table: str) -> list[Path]:
        """Return the files of a table."""
        return sorted((self.path / table).glob("*/*.parquet"))


def write_table(path: Path, columns: dict[str, Any]) -> None:
    """Write columns as one file."""
    import pyarrow
    import pyarrow.parquet

    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(".draft")
    table = pyarrow.table(
        {
            name: pyarrow.array(cells)
            if isinstance(cells, list)
            else pyarrow.array(
                cells.data if hasattr(cells, "mask") else cells,
                mask=None
                if not hasattr(cells, "mask")
                else __import__("numpy").ma.getmaskarray(cells),
            )
            for name, cells in columns.items()
        }
    )
    pyarrow.parquet.write_table(table, draft, row_group_size=ROW_GROUP, compression="zstd")
    os.replace(draft, path)
