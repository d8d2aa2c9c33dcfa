// What cannot be probed safely in C++ stays as it is; the metadata gives the reason.
#include <cstdio>

#define BEGIN {
#define END }
#define METHOD(name) int name() { return std::puts(#name); }

constexpr int power(int base, int exponent) {
  int result = 1;
  while (exponent-- > 0) result *= base;
  return result;
}
static_assert(power(2, 3) == 8, "constexpr");

struct Made {
  METHOD(by_macro)
  Made() = default;
  constexpr explicit Made(int x) : x_(power(x, 2)) {}
  int braces() BEGIN return std::puts("braces"); END
  int x_ = 0;
};

static int target(int x) { __VPROF_PROBE(0)  return std::puts("tail") + x; }
static int tail(int x) { [[clang::musttail]] return target(x); }

__attribute__((naked, used)) static void naked() { __asm__("ret"); }
[[gnu::no_instrument_function]] static void hands_off() { std::puts("hands off"); }

namespace deep {
static int fast(int x) { __VPROF_PROBE(1)  return std::puts("ifunc") + x; }
int (*resolve())(int) { return fast; }
int chosen(int) __attribute__((ifunc("_ZN4deep7resolveEv")));
}  // namespace deep

#define CALL(f) f()

int main() { __VPROF_PROBE(2) 
  constexpr auto cube = [](int x) constexpr { int r = 1; for (int i = 0; i < 3; ++i) r *= x; return r; };
  static_assert(cube(2) == 8, "constexpr lambda");
  Made made(2);
  made.by_macro();
  made.braces();
  tail(1);
  hands_off();
  deep::chosen(1);
  CALL([] { return std::puts("in a macro's argument"); });
  std::printf("%d %d\n", made.x_, power(2, 2));
  return 0;
}
