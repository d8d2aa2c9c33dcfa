// What C++23 and C++26 brought to functions and to what stands in them.
#include <cstddef>
#include <cstdio>
#include <utility>

struct Shape {
  int side = 3;

  template <typename Self>
  int area(this Self &&self, int n) {
    for (int i = 0; i < n; ++i) n ^= self.side;
    return n;
  }

  int by_value(this Shape self, int n) {
    for (int i = 0; i < n; ++i) self.side ^= i;
    return self.side;
  }

  static int operator()(int n) {
    for (int i = 0; i < n; ++i) n ^= i;
    return n;
  }

  int operator[](int a, int b) const {
    for (int i = 0; i < b; ++i) a ^= side;
    return a;
  }
};

static int choose(int n) {
  if consteval {
    return 1;
  } else {
    for (int i = 0; i < n; ++i) n ^= i;
    return n;
  }
}

static int copied(Shape &shape) {
  for (std::size_t i = 0uz; i < 9uz; ++i) shape.side ^= 1;
  return auto(shape).by_value(4);
}

template <typename... T>
static auto second(int n, T... values) {
  for (int i = 0; i < n; ++i) n ^= i;
  return n + values...[1];
}

static int placeholders(int n) {
  auto _ = choose(n);
  auto _ = choose(n + 1);
  for (int i = 0; i < n; ++i) n ^= i;
  return n;
}

static int assumed(int n) {
  [[assume(n > 0)]];
  for (int i = 0; i < n; ++i) n ^= i;
  return n;
}

static int labelled(int n) {
  for (int i = 0; i < n; ++i) {
    if (n > 3) goto end;
    n ^= i;
  end:
  }
  return n;
}

void gone(int) = delete("of no use");

static constexpr int computed(int n) {
  int sum = 0;
  for (int i = 0; i < n; ++i) sum += i;
  return sum;
}

int main() {
  Shape shape;
  const auto recursive = [](this auto self, int n) -> int { return n > 0 ? n + self(n - 1) : 0; };
  const auto fixed = [] [[nodiscard]] (int n) static {
    for (int i = 0; i < n; ++i) n ^= i;
    return n;
  };
  std::printf("%d %d %d %d\n", shape.area(4), shape.by_value(5), shape(6), shape[7, 8]);
  std::printf("%d %d %d %d\n", choose(4), copied(shape), second(3, 4, 5, 6), placeholders(7));
  std::printf("%d %d %d\n", assumed(4), labelled(5), computed(6));
  std::printf("%d %d\n", recursive(5), fixed(6));
}
