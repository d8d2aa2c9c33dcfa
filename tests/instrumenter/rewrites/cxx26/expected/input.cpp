// What C++23 and C++26 brought to functions and to what stands in them.
#include <cstddef>
#include <cstdio>
#include <utility>

struct Shape {
  int side = 3;

  template <typename Self>
  int area(this Self &&self, int n) { __VPROF_PROBE(0) 
    for (int i = 0; i < n; ++i) n ^= self.side;
    return n;
  }

  int by_value(this Shape self, int n) { __VPROF_PROBE(1) 
    for (int i = 0; i < n; ++i) self.side ^= i;
    return self.side;
  }

  static int operator()(int n) { __VPROF_PROBE(2) 
    for (int i = 0; i < n; ++i) n ^= i;
    return n;
  }

  int operator[](int a, int b) const { __VPROF_PROBE(3) 
    for (int i = 0; i < b; ++i) a ^= side;
    return a;
  }
};

static int choose(int n) { __VPROF_PROBE(4) 
  if consteval {
    return 1;
  } else {
    for (int i = 0; i < n; ++i) n ^= i;
    return n;
  }
}

static int copied(Shape &shape) { __VPROF_PROBE(5) 
  for (std::size_t i = 0uz; i < 9uz; ++i) shape.side ^= 1;
  return auto(shape).by_value(4);
}

template <typename... T>
static auto second(int n, T... values) { __VPROF_PROBE(6) 
  for (int i = 0; i < n; ++i) n ^= i;
  return n + values...[1];
}

static int placeholders(int n) { __VPROF_PROBE_CALLS(7) 
  auto _ = (__VPROF_CALL_NUMBER(1), choose(n));
  auto _ = (__VPROF_CALL_NUMBER(2), choose(n + 1));
  for (int i = 0; i < n; ++i) n ^= i;
  return n;
}

static int assumed(int n) { __VPROF_PROBE(8) 
  [[assume(n > 0)]];
  for (int i = 0; i < n; ++i) n ^= i;
  return n;
}

static int labelled(int n) { __VPROF_PROBE(9) 
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

int main() { __VPROF_PROBE(10) 
  Shape shape;
  const auto recursive = [](this auto self, int n) -> int { return n > 0 ? n + self(n - 1) : 0; };
  const auto fixed = [] [[nodiscard]] (int n) static { __VPROF_PROBE(11) 
    for (int i = 0; i < n; ++i) n ^= i;
    return n;
  };
  std::printf("%d %d %d %d\n", shape.area(4), shape.by_value(5), shape(6), shape[7, 8]);
  std::printf("%d %d %d %d\n", choose(4), copied(shape), second(3, 4, 5, 6), placeholders(7));
  std::printf("%d %d %d\n", assumed(4), labelled(5), computed(6));
  std::printf("%d %d\n", recursive(5), fixed(6));
}
