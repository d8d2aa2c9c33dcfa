// A lambda is a function of its own: its returns, its exceptions and its probe are not those of the function around it.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>

static int apply(const std::function<int(int)> &f, int x) { return std::puts("apply"), f(x); }

static int defaulted(int x = [] { return std::puts("default argument"), 5; }()) { return std::puts("defaulted"), x; }

struct Holder {
  int member = [] { return std::puts("member"), 3; }();
  auto adder() {
    return [this](int x) { return std::puts("adder"), member + x; };
  }
};

static auto counter() {
  return [n = 0]() mutable noexcept -> int { std::puts("counter"); return ++n; };
}

static constexpr auto square = [](int x) { return x * x; };
static_assert(square(3) == 9, "a lambda in a constant expression");

int main() {
  int values[] = {3, 1, 2};
  std::sort(values, values + 3, [](int a, int b) {
    std::puts("less");
    return a < b;
  });
  const auto generic = [](auto... x) { return std::puts("generic"), (0 + ... + static_cast<int>(x)); };
  int (*plain)(int) = [](int x) { return std::puts("plain"), x; };
  auto next = counter();
  next();
  auto owned = [p = std::make_unique<int>(4)] { return std::puts("owned"), *p; };
  auto outer = [&] {
    std::puts("outer");
    return [&] { return std::puts("inner"), values[0]; }();
  };
  const int sum = apply([&](int x) { return std::puts("applied"), x + values[2]; }, 1) + defaulted() +
                  Holder().adder()(1) + next() + generic(1, 2.5) + plain(1) + owned() + outer() + square(2);
  std::printf("%d\n", sum);
  return 0;
}
