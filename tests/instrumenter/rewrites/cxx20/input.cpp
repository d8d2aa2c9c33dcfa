// C++20: concepts, abbreviated templates, requires, <=>, consteval, constinit, template lambdas.
#include <compare>
#include <concepts>
#include <cstdio>
#include <vector>

template <typename T>
concept Number = std::integral<T> || requires(T x) { { x.number() } -> std::same_as<int>; };

struct Wrapped {
  int value;
  int number() const { return std::puts("number"), value; }
  auto operator<=>(const Wrapped &other) const {
    std::puts("<=>");
    return value <=> other.value;
  }
  bool operator==(const Wrapped &) const = default;
};

int first(Number auto x) { return std::puts("integral"), static_cast<int>(x); }
int first(Number auto x) requires requires { x.number(); } { return std::puts("wrapped"), x.number(); }

template <Number... T>
int sum(T... x) requires(sizeof...(T) > 0) {
  std::puts("sum");
  return (first(x) + ...);
}

consteval int at_compile_time(int n) {
  int total = 0;
  for (int i = 0; i < n; ++i) total += i;
  return total;
}
constexpr int either(int n) {
  std::vector<int> values(static_cast<unsigned>(n), 1);
  int total = 0;
  for (int v : values) total += v;
  return total;
}
constinit int constant = at_compile_time(4);
static_assert(either(3) == 3);

int main() {
  const auto typed = []<typename T>(const std::vector<T> &values) {
    std::puts("typed");
    return static_cast<int>(values.size());
  };
  int result = sum(1, Wrapped{2}, 3L) + typed(std::vector{1, 2}) + either(2) + constant;
  result += Wrapped{1} < Wrapped{2};
  for (std::vector<int> values{1, 2}; int v : values) result += v;
  switch ([[maybe_unused]] auto w = Wrapped{.value = 3}; w.number()) {
    case 3: std::printf("%d\n", result);
  }
  return 0;
}
