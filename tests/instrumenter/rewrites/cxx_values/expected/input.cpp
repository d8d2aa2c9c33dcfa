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
  explicit OnlyMoves(int x) : value(std::make_unique<int>(x)) { __VPROF_PROBE(0)  std::puts("OnlyMoves"); }
  OnlyMoves plus(int x) && { __VPROF_PROBE(1) 
    std::puts("plus");
    *value += x;
    return std::move(*this);
  }
};

static OnlyMoves pass(OnlyMoves &&in) { __VPROF_PROBE(2)  return std::puts("pass"), std::move(in); }
static OnlyMoves take(OnlyMoves in) { __VPROF_PROBE(3) 
  std::puts("take");
  return in;
}

static auto deduced() { __VPROF_PROBE(4)  return std::puts("deduced"), std::string("deduced"); }
static decltype(auto) exact(int &x) { __VPROF_PROBE(5) 
  std::puts("exact");
  return (x);
}
static auto trailing(int x) -> const std::pair<int, long> { __VPROF_PROBE(6) 
  std::puts("trailing");
  return {x, 2};
}
static int &counter() { __VPROF_PROBE(7) 
  static int count = [] { __VPROF_PROBE(8)  return std::puts("static"), 10; }();
  return ++count;
}
static int initialise() { __VPROF_PROBE(9)  return std::puts("initialise"), 5; }
static int global = initialise();
static thread_local int local = initialise();

[[nodiscard, gnu::noinline]] static auto attributes [[gnu::cold]] (int x [[maybe_unused]]) noexcept(true) -> int { __VPROF_PROBE(10) 
  return std::puts("attributes");
}

static int unnamed(int, const char * = "default") { __VPROF_PROBE(11)  return std::puts("unnamed"), __LINE__; }
static const char *function_name() { __VPROF_PROBE(12)  return std::puts(__func__) ? __PRETTY_FUNCTION__ : ""; }

inline namespace v1 {
namespace inner = ::v1;
enum class Colour { red, green };
Colour next(Colour c) { __VPROF_PROBE(13)  return std::puts("next"), c == Colour::red ? Colour::green : Colour::red; }
}  // namespace v1

int main() { __VPROF_PROBE_CALLS(14) 
  OnlyMoves moved = take(pass(OnlyMoves(1).plus(2)));
  int x = 1;
  exact(x) = *moved.value;
  auto [a, b] = trailing(x);
  for (const auto &[key, value] : {std::pair{1, 2}, std::pair{3, 4}}) x += key * value;
  (__VPROF_CALL_NUMBER(1), counter()) += (__VPROF_CALL_NUMBER(2), counter());
  std::thread([] { __VPROF_PROBE(15)  std::printf("%d\n", local + global); }).join();
  if (auto text = deduced(); !text.empty()) x += static_cast<int>(text.size());
  std::printf("%d %d %ld %d %s %d\n", x, a, b, (__VPROF_CALL_NUMBER(3), counter()) + unnamed(1), function_name(),
              static_cast<int>(next(inner::Colour::red)) + (attributes(1) > 0));
  return 0;
}
