// A lambda is a function of its own: its returns, its exceptions and its probe are not those of the function around it.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>

static int apply(const std::function<int(int)> &f, int x) { __VPROF_PROBE(0)  return std::puts("apply"), f(x); }

static int defaulted(int x = [] { __VPROF_PROBE(2)  return std::puts("default argument"), 5; }()) { __VPROF_PROBE(1)  return std::puts("defaulted"), x; }

struct Holder {
  int member = [] { __VPROF_PROBE(3)  return std::puts("member"), 3; }();
  auto adder() {
    return [this](int x) { __VPROF_PROBE(4)  return std::puts("adder"), member + x; };
  }
};

static auto counter() {
  return [n = 0]() mutable noexcept -> int { __VPROF_PROBE(5)  std::puts("counter"); return ++n; };
}

static constexpr auto square = [](int x) { return x * x; };
static_assert(square(3) == 9, "a lambda in a constant expression");

int main() { __VPROF_PROBE(6) 
  int values[] = {3, 1, 2};
  std::sort(values, values + 3, [](int a, int b) { __VPROF_PROBE(7) 
    std::puts("less");
    return a < b;
  });
  const auto generic = [](auto... x) { __VPROF_PROBE(8)  return std::puts("generic"), (0 + ... + static_cast<int>(x)); };
  int (*plain)(int) = [](int x) { __VPROF_PROBE(9)  return std::puts("plain"), x; };
  auto next = counter();
  next();
  auto owned = [p = std::make_unique<int>(4)] { __VPROF_PROBE(10)  return std::puts("owned"), *p; };
  auto outer = [&] { __VPROF_PROBE(11) 
    std::puts("outer");
    return [&] { __VPROF_PROBE(12)  return std::puts("inner"), values[0]; }();
  };
  const int sum = apply([&](int x) { __VPROF_PROBE(13)  return std::puts("applied"), x + values[2]; }, 1) + defaulted() +
                  Holder().adder()(1) + next() + generic(1, 2.5) + plain(1) + owned() + outer() + square(2);
  std::printf("%d\n", sum);
  return 0;
}
