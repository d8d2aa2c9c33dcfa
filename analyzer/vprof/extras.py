"""Packages that only some verbs need, and what brings them: `pip install 'vprof[EXTRA]'`."""

from __future__ import annotations

from vprof.errors import VprofError

_EXTRAS = {"pandas": "tables", "psycopg": "reorder", "pymysql": "reorder", "sqlglot": "reorder"}


def missing(error: ModuleNotFoundError) -> VprofError:
    """What to say of an import that failed since an extra is not installed. Raises other errors again."""
    package = (error.name or "").split(".")[0]
    if package not in _EXTRAS:
        raise error
    return VprofError(f"this needs {package}: pip install 'vprof[{_EXTRAS[package]}]'")
