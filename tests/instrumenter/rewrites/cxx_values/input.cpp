// Deduced and move-only results, rvalue parameters, statics, thread_local, structured bindings, shadowed names.
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <tuple>
#include <utility>

struct OnlyMoves {
  std::unique_ptr<int> value;
  OnlyMoves(OnlyMoves &&) = default;
  explicit OnlyMoves(int x) : value(std::make_unique<int>(x)) { std::puts("OnlyMoves"); }
  OnlyMoves plus(int x) && {
    std::puts("plus");
    *value += x;
    return std::move(*this);
  }
};

static OnlyMoves pass(OnlyMoves &&in) { return std::puts("pass"), std::move(in); }
static OnlyMoves take(OnlyMoves in) {
  std::puts("take");
  return in;
}

static auto deduced() { return std::puts("deduced"), std::string("deduced"); }
static decltype(auto) exact(int &x) {
  std::puts("exact");
  return (x);
}
static auto trailing(int x) -> const std::pair<int, long> {
  std::puts("trailing");
  return {x, 2};
}
static int &counter() {
  static int count = [] { return std::puts("static"), 10; }();
  return ++count;
}
static int initialise() { return std::puts("initialise"), 5; }
static int global = initialise();
static thread_local int local = initialise();

[[nodiscard, gnu::noinline]] static auto attributes [[gnu::cold]] (int x [[maybe_unused]]) noexcept(true) -> int {
  return std::puts("attributes");
}

static int unnamed(int, const char * = "default") { return std::puts("unnamed"), __LINE__; }
static const char *function_name() { return std::puts(__func__) ? __PRETTY_FUNCTION__ : ""; }

inline namespace v1 {
namespace inner = ::v1;
enum class Colour { red, green };
Colour next(Colour c) { return std::puts("next"), c == Colour::red ? Colour::green : Colour::red; }
}  // namespace v1

int main() {
  OnlyMoves moved = take(pass(OnlyMoves(1).plus(2)));
  int x = 1;
  exact(x) = *moved.value;
  auto [a, b] = trailing(x);
  for (const auto &[key, value] : {std::pair{1, 2}, std::pair{3, 4}}) x += key * value;
  counter() += counter();
  std::thread([] { std::printf("%d\n", local + global); }).join();
  if (auto text = deduced(); !text.empty()) x += static_cast<int>(text.size());
  std::printf("%d %d %ld %d %s %d\n", x, a, b, counter() + unnamed(1), function_name(),
              static_cast<int>(next(inner::Colour::red)) + (attributes(1) > 0));
  return 0;
}
