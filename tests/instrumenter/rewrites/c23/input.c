// What C23 brought to functions and to what stands in them.
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct {
  int x, y;
} Point;

enum Size : unsigned char { kSmall = 1, kLarge = 200 };

constexpr int kLimit = 1'000;
static_assert(kLimit > 0b11);

static const unsigned char text[] = {
#embed "options" limit(5)
};

[[nodiscard]] static int attributed(int n) {
  for (int i = 0; i < n; ++i) n ^= i;
  return n;
}

static int unnamed(int n, int) {
  for (int i = 0; i < n; ++i) n ^= i;
  return n;
}

static bool is_even(int n) {
  bool even = true;
  for (int i = 0; i < n; ++i) even = !even;
  return even;
}

static typeof(int) of_type(typeof_unqual(const long) n) {
  auto sum = 0L;
  for (auto i = 0L; i < n; ++i) sum += i;
  return (int)sum;
}

static int bits(_BitInt(17) n) {
  int sum = 0;
  for (int i = 0; i < n; ++i) sum += i;
  return sum;
}

static enum Size sized(int n) {
  for (int i = 0; i < 9; ++i) n ^= i;
  return n > 3 ? kLarge : kSmall;
}

static int labels(int n) {
again:
  int left = n - 1;
  if (left > 3) {
    n = left;
    goto again;
  }
  switch (n) {
    case 1:
      int one = attributed(n);
      return one;
    default:
  }
  return attributed(n);
}

static int variadic(...) {
  va_list list;
  va_start(list);
  int sum = 0;
  for (int next; (next = va_arg(list, int)) != 0;) sum += next;
  va_end(list);
  return sum;
}

static int without() {
  Point point = {};
  for (int i = 0; i < 9; ++i) point.x += i;
  return point.x + point.y;
}

static int *nothing(int n) {
  static int kept;
  for (int i = 0; i < n; ++i) kept ^= i;
  return n > 3 ? &kept : nullptr;
}

static void ends(int n) {
  for (int i = 0; i < n; ++i) n ^= i;
  if (n > 3) goto done;
  printf("%d\n", attributed(n));
done:
}

[[noreturn]] static void stops(int n) {
  for (int i = 0; i < n; ++i) n ^= i;
  exit(n & 0);
}

int main() {
  printf("%d %d %d %d %d %d\n", attributed(5), unnamed(5, 6), is_even(6), of_type(7), bits(8), sized(9));
  printf("%d %d %d %d %.5s\n", labels(9), variadic(1, 2, 0), without(), nothing(2) == nullptr, text);
  ends(9);
  ends(2);
  stops(3);
}
