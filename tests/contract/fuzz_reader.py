"""Damages traces and reads them: `make fuzz-reader` (SECONDS=600), or a few by pytest (test_fuzz_reader.py).

    random history (history.py) -> bytes of a trace -> some of them changed -> the reader and the analysis, in windows

Four times of five the checksums are made right again, so that what is damaged lies behind them. What must come is an
analysis, or one line that says why there is none; anything else, or more than a minute of CPU, is a fault. The seed
tells the damage: `fuzz_reader.py --seed N`.
"""

from __future__ import annotations

import argparse
import random
import signal
import struct
import sys
import tempfile
import time
import zlib
from collections import Counter
from pathlib import Path

from history import History
from test_windows import disturbed

from vprof.errors import InvariantError, VprofError
from vprof.stream import analyze_traces

HEADER, CHUNK = 64, 48
_LIMIT_SECONDS = 60


def damaged(seed: int) -> bytes:
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        history = History(seed, chance.randint(1, 4), chance.randint(40, 200))
        content = bytearray(disturbed(history.writer, seed).save(Path(folder) / "run.trace").read_bytes())
    for _ in range(chance.randint(1, 3)):
        _damage(content, chance)
    if chance.random() < 0.8:
        _mend(content)
    return bytes(content)


def _damage(content: bytearray, chance: random.Random) -> None:
    at = chance.randrange(len(content)) if content else 0
    what = chance.randrange(8)
    if what == 0:
        del content[at:]
    elif what == 1:
        del content[at : at + chance.choice((1, 8, 16, 48, 500))]
    elif what == 2:
        content[at:at] = content[chance.randrange(len(content) + 1) :][: chance.choice((1, 16, 64, 500))]
    elif what == 3:
        content[at : at + 8] = struct.pack("<Q", chance.choice((0, 1, 1 << 31, 1 << 48, (1 << 63) - 1, (1 << 64) - 1)))
    elif content:
        for _ in range(chance.choice((1, 1, 2, 16))):
            content[chance.randrange(len(content))] = chance.randrange(256)


def _mend(content: bytearray) -> None:
    """Makes the checksums of the header and of the chunks right, as far as chunks follow each other."""
    if len(content) < HEADER:
        return
    struct.pack_into("<I", content, HEADER - 4, zlib.crc32(content[: HEADER - 4]))
    at = HEADER
    while at + CHUNK <= len(content):
        length = struct.unpack_from("<Q", content, at + 8)[0]
        end = at + CHUNK + length
        if end > len(content):
            return
        struct.pack_into("<I", content, at + CHUNK - 8, zlib.crc32(content[at + CHUNK : end]))
        struct.pack_into("<I", content, at + CHUNK - 4, zlib.crc32(content[at : at + CHUNK - 4]))
        at = end + -length % 16


def outcome(seed: int, path: Path) -> str:
    """ "analyzed" or "refused"; raises what else comes."""
    path.write_bytes(damaged(seed))
    try:
        analyze_traces([path], window_records=1 + seed % 60)
    except InvariantError:
        raise
    except VprofError as error:
        assert "\n" not in str(error)
        return "refused"
    return "analyzed"


def _late(*_: object) -> None:
    raise TimeoutError(f"more than {_LIMIT_SECONDS} s of CPU")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, help="this one alone, with its traceback")
    parser.add_argument("--first", type=int, default=1)
    options = parser.parse_args()
    signal.signal(signal.SIGVTALRM, _late)
    counts: Counter[str] = Counter()
    end, seed = time.monotonic() + options.seconds, options.first
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.trace"
        if options.seed is not None:
            print(outcome(options.seed, path))
            return
        while time.monotonic() < end:
            signal.setitimer(signal.ITIMER_VIRTUAL, _LIMIT_SECONDS)
            try:
                counts[outcome(seed, path)] += 1
            except Exception as error:
                counts["faults"] += 1
                print(f"seed {seed}: {type(error).__name__}: {error}", flush=True)
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            seed += 1
    print(f"{seed - options.first} executions: {dict(counts)}")
    sys.exit(bool(counts["faults"]))


if __name__ == "__main__":
    main()
