"""The cold parts of probes call in assembly (PROBE_ABI.md "Calls"): compilers see no call, nothing is missing then."""

from __future__ import annotations

import pytest
from workshop import EVERY_COMPILER, HERE, IN_BODIES, Workshop

LIVE = """\
#include <math.h>
#include <stdio.h>
#define KEPT __attribute__((noinline))
KEPT double leaf(double x, long a, long b, long c, long d, long e, long f, long double y, int n) {
  long kept[6] = {a, b, c, d, e, f};
  while (n--) x = x * 1.5 + (double)(kept[n % 6] += n) + (double)y;
  return x + (double)(kept[0] ^ kept[1] ^ kept[2] ^ kept[3] ^ kept[4] ^ kept[5]);
}
KEPT float vectors(const float *x, int n) {
  float sums[8] = {0};
  for (int i = 0; i < n; i++) sums[i % 8] += x[i];
  return sums[0] + sums[3] * sums[7];
}
KEPT long double extended(long double x, int n) { while (n--) x = x / 3 + 1; return x; }
KEPT _Complex double pair(double x, int n) { while (n--) x += n; return x + 2.0i; }
int main(void) {
  float numbers[64];
  for (int i = 0; i < 64; i++) numbers[i] = (float)i;
  printf("%a %a\\n", leaf(0.5, 1, 2, 3, 4, 5, 6, 0.25L, 7), vectors(numbers, 64));
  printf("%La %a\\n", extended(10, 5), __imag__ pair(3, 4));
  return 0;
}
"""


@IN_BODIES
@EVERY_COMPILER
@pytest.mark.parametrize(
    "options",
    [
        "-O0",
        "-O2",
        "-O3 -march=native",
        "-O2 -fno-omit-frame-pointer -fPIC -fcf-protection=full",
        "-O1 -fstack-protector-all",
        "-Os -pg",
        "-O2 -flto -masm=intel -mno-red-zone",
    ],
)
def test_what_is_live_around_a_call_survives(shop: Workshop, options: str) -> None:
    """The runtime prints at every entry and exit: that changes whatever a call may change. Leaves keep values below the
    stack pointer."""
    shop.write(live_c=LIVE)
    words = options.split()
    shop.plain(*words, "live.c", "-o", "plain")
    shop.cc(*words, "-c", "live.c")
    assert set(shop.calls("live.o", options=words).split()) == {"main", "leaf", "vectors", "extended", "pair"}
    assert shop.run("./traced").stdout == shop.run("./plain").stdout


UNWINDS = """\
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <unwind.h>
#include "entries.h"
static _Unwind_Reason_Code show(struct _Unwind_Context *context, void *unused) {
  Dl_info info;
  void *place = (char *)_Unwind_GetIP(context) - 1;
  if (dladdr(place, &info) && info.dli_sname) puts(info.dli_sname);
  return _URC_NO_REASON;
}
static void walk(void) { _Unwind_Backtrace(show, NULL); puts("."); }
void __vprof_register(unsigned char *start, unsigned char *stop) { while (start + 64 < stop) *--stop = 1; }
unsigned short *__vprof_enter(uint32_t site, void *frame) { walk(); return frame; }
void __vprof_leave(void *frame) { walk(); }
"""


@IN_BODIES
@EVERY_COMPILER
@pytest.mark.parametrize("options", ["-O2", "-O2 -fno-omit-frame-pointer"])
def test_the_stack_can_be_walked_from_a_call(shop: Workshop, options: str) -> None:
    shop.write(
        leaf_c="int leaf(int n) { volatile int kept[20]; for (int i = 0; i < 20; i++) kept[i] = n; return kept[n]; }\n",
        main_c="int leaf(int n);\n__attribute__((no_instrument_function)) int main(void) { return leaf(3) - 3; }\n",
        runtime_c=UNWINDS,
    )
    shop.run("clang-19", "-O1", f"-I{HERE}", "-c", "runtime.c")
    shop.cc(*options.split(), "-c", "main.c", "leaf.c")
    shop.cc("-rdynamic", "main.o", "leaf.o", "runtime.o", "-o", "program")
    walks = shop.run("./program").stdout.split(".\n")[:2]
    for walk in walks:
        names = walk.split()
        assert names[names.index("leaf") :][:2] == ["leaf", "main"], walks
