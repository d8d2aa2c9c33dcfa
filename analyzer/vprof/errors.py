"""The errors a user sees: one line with the cause and the mend."""

from __future__ import annotations


class VprofError(Exception):
    """A failure to report to the user in one line; `exit_code` is 1 (failed) or 2 (usage)."""

    exit_code = 1


class UsageError(VprofError):
    """The command line or a file the user wrote is wrong."""

    exit_code = 2


class TraceError(VprofError):
    """A trace cannot be read at all (foreign, empty, a newer version)."""


class NoIntervalError(VprofError):
    """A trace holds no interval that can be analyzed; `began`: some were there, but cannot be used; `lost`: because
    records were lost."""

    def __init__(self, why: str, began: bool, exit_code: int = 1, lost: bool = False) -> None:
        super().__init__(why)
        self.began, self.exit_code, self.lost = began, exit_code, lost

    def __reduce__(self) -> tuple[type[NoIntervalError], tuple[str, bool, int, bool]]:
        return NoIntervalError, (str(self), self.began, self.exit_code, self.lost)


class InvariantError(VprofError):
    """A result contradicts what the analysis guarantees: a bug of vprof, never of the user."""
