"""Files of ours that are read again later: written whole, or not at all."""

import json
import os
from pathlib import Path
from typing import Any

from vprof.errors import VprofError


def save_json(path: Path, data: dict[str, Any]) -> None:
    """Makes the folder, too. Raises VprofError when it cannot be written; what was there stays then."""
    fresh = path.with_name(f"{path.name}.new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with fresh.open("w", encoding="utf-8") as file:
            json.dump(data, file, indent=1)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)
    except OSError as error:
        raise VprofError(f"cannot write {path}: {error.strerror}") from None
