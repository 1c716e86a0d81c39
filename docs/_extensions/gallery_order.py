"""The order of the gallery: that in which its first page names the examples."""

from __future__ import annotations

import re
from pathlib import Path


class AsInHeader:
    """A key to sort the files of `src_dir` by; what ``GALLERY_HEADER.rst`` does not name is last.

    Parameters
    ----------
    src_dir : str or Path
        The folder of the examples.
    """

    def __init__(self, src_dir: str | Path) -> None:
        header = Path(src_dir, "GALLERY_HEADER.rst")
        text = header.read_text(encoding="utf-8") if header.exists() else ""
        self.names = re.findall(r"<(plot_\w+)>", text)

    def __repr__(self) -> str:
        return "<AsInHeader>"  # part of the configuration, which says when to build anew

    def __call__(self, filename: str | Path) -> tuple[int, str]:
        name = Path(filename).stem
        place = self.names.index(name) if name in self.names else len(self.names)
        return place, name
