"""Where metrics go: to whoever asks at a port of this machine, or into a file that another exporter reads.

    "9464", "127.0.0.1:9464"  ->  Port     "/var/lib/node_exporter/vprof.prom", "./9464"  ->  File

Who sees them sees names of functions, types and locks, so other machines do only if their address was asked for.
"""

from __future__ import annotations

import errno
import ipaddress
import os
import re
from dataclasses import dataclass
from pathlib import Path

from prometheus_client import CollectorRegistry, generate_latest, start_http_server
from prometheus_client.openmetrics.exposition import generate_latest as generate_openmetrics
from prometheus_client.registry import Collector

from vprof.errors import UsageError, VprofError

_FIRST_FREE_PORT = 1024
_WITH_ADDRESS = re.compile(r"(?:\[([0-9a-fA-F:.%]+)\]|(localhost|[0-9.]+)):(\d+)")


@dataclass(frozen=True)
class Port:
    """`number`: 0 is one that is free."""

    address: str
    number: int

    def open(self, collector: Collector) -> Served:
        """Raises VprofError when it cannot be had."""
        return Served(self, collector)


@dataclass(frozen=True)
class File:
    path: Path

    def open(self, collector: Collector) -> Written:
        """Writes it for the first time. Raises VprofError when it cannot be written."""
        return Written(self.path, collector)


def place(text: str, address: str | None) -> Port | File:
    """What a user asked for. `address`: to listen at, instead of loopback. Raises UsageError."""
    if found := _WITH_ADDRESS.fullmatch(text):
        told, port = found[1] or found[2], found[3]
        if address is None and not _address(told).is_loopback:
            raise UsageError(
                f"--openmetrics {text}: others could read names of functions and locks there: "
                f"if they may, give --openmetrics {port} --openmetrics-address {told}"
            )
        if address is not None and _address(address) != _address(told):
            raise UsageError(f"--openmetrics {text} and --openmetrics-address {address} are different addresses")
        return Port(str(_address(told)), _port(port))
    if text.isascii() and text.lstrip("-").isdigit():
        return Port(str(_address(address or "127.0.0.1")), _port(text))
    if address is not None:
        raise UsageError(f"--openmetrics-address is for a port, and {text} is a file")
    return File(Path(text))


def _port(text: str) -> int:
    if not 0 <= int(text) < 1 << 16:
        raise UsageError(f"--openmetrics {text}: ports are from 0 (one that is free) to 65535")
    return int(text)


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    try:
        return ipaddress.ip_address("127.0.0.1" if text == "localhost" else text)
    except ValueError:
        raise UsageError(f"'{text}' is no address: give one such as 127.0.0.1, 0.0.0.0 or ::1") from None


def _registry(collector: Collector) -> CollectorRegistry:
    registry = CollectorRegistry()
    registry.register(collector)
    return registry


class Served:
    """`at`: where it listens."""

    def __init__(self, port: Port, collector: Collector) -> None:
        try:
            self._server, self._thread = start_http_server(port.number, port.address, _registry(collector))
        except OSError as error:
            raise VprofError(_why(port, error)) from None
        number = self._server.server_port
        self.at = f"[{port.address}]:{number}" if ":" in port.address else f"{port.address}:{number}"

    def renew(self) -> str:
        """Nothing to do: they are made when somebody asks."""
        return ""

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _why(port: Port, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"--openmetrics: port {port.number} of {port.address} is taken: give another"
    if error.errno == errno.EADDRNOTAVAIL:
        return f"--openmetrics: {port.address} is no address of this machine"
    if error.errno == errno.EACCES and port.number < _FIRST_FREE_PORT:
        return f"--openmetrics: port {port.number} is for root alone: give one from {_FIRST_FREE_PORT} on"
    return f"--openmetrics: cannot listen at port {port.number} of {port.address}: {error.strerror or error}"


class Written:
    """Whole at every moment: a reader sees the old one or the new one. node_exporter reads files whose name ends in
    `.prom`, in Prometheus' own text format; all others are OpenMetrics."""

    def __init__(self, path: Path, collector: Collector) -> None:
        self.at, self._path, self._registry = str(path), path, _registry(collector)
        self._is_bad = False
        if not path.parent.is_dir():
            raise VprofError(f"--openmetrics {path}: there is no folder {path.parent}: make it")
        if said := self.renew():
            raise VprofError(f"--openmetrics: {said}")

    def renew(self) -> str:
        """Writes it again. Returns why that failed, once until it succeeds again, else ""."""
        fresh = self._path.with_name(f".{self._path.name}.{os.getpid()}")
        generate = generate_latest if self._path.suffix == ".prom" else generate_openmetrics
        try:
            fresh.write_bytes(generate(self._registry))
            fresh.replace(self._path)
        except OSError as error:
            fresh.unlink(missing_ok=True)
            was_bad, self._is_bad = self._is_bad, True
            return "" if was_bad else f"cannot write {self._path}: {error.strerror}"
        self._is_bad = False
        return ""

    def close(self) -> None:
        self.renew()
