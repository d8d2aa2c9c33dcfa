// Numbered calls keep their values' categories, lifetimes and order.
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

struct Shape {
  virtual ~Shape() = default;
  virtual int area() const { __VPROF_PROBE(0)  return std::printf("shape\n"); }
};
struct Square : Shape {
  int area() const override { __VPROF_PROBE(1)  return std::printf("square\n"); }
};

struct Chain {
  Chain &add(int x) { __VPROF_PROBE(2) 
    sum += x;
    std::printf("add %d\n", x);
    return *this;
  }
  int sum = 0;
};

static int &place(int i) { __VPROF_PROBE(3) 
  static int places[4];
  std::printf("place %d\n", i);
  return places[i & 3];
}
static std::unique_ptr<int> only(int x) { __VPROF_PROBE(4) 
  std::printf("only\n");
  return std::unique_ptr<int>(new int(x));
}
static std::vector<std::string> list(const char *word) { __VPROF_PROBE(5) 
  std::printf("list\n");
  return {word, "end"};
}
static constexpr int twice(int x) { return 2 * x; }
static int argument() { __VPROF_PROBE(6)  return std::printf("argument\n"); }
static int defaulted(int x = argument()) { __VPROF_PROBE(7)  return x + std::printf("defaulted\n"); }

static int values() { __VPROF_PROBE_CALLS(8) 
  (__VPROF_CALL_NUMBER(1), place(0)) = 5;
  int &same = (__VPROF_CALL_NUMBER(2), place(0));
  same += (__VPROF_CALL_NUMBER(3), place(1));
  auto first = (__VPROF_CALL_NUMBER(4), only(1));
  std::unique_ptr<int> second{(__VPROF_CALL_NUMBER(5), only(2))};
  decltype(auto) third = (__VPROF_CALL_NUMBER(6), place(2));
  third = *first + *second;
  for (const std::string &word : list("one")) std::puts(word.c_str());

  static_assert(twice(2) + twice(3) == 10, "");
  static const int once = (__VPROF_CALL_NUMBER(7), defaulted());
  return same + third + once + (__VPROF_CALL_NUMBER(8), defaulted(1)) + noexcept(place(3));
}

template <typename T>
static int dependent(T &shape) { __VPROF_PROBE(9) 
  auto inner = [&](int x) { __VPROF_PROBE_CALLS(10)  return (__VPROF_CALL_NUMBER(1), place(x)) + (__VPROF_CALL_NUMBER(2), place(x + 1)); };
  return shape.area() + shape.area() + inner(0) + inner(1);
}

// Methods that override one another are one function here: none of their calls may carry the number of another's.
struct Big : Square {
  int area() const override { __VPROF_PROBE(11)  return Square::area() + std::printf("big\n"); }
};
static int family(const Shape &shape, const Big &big) { __VPROF_PROBE_CALLS(12) 
  const Big own;
  return (__VPROF_CALL_NUMBER(1), shape.area()) + (__VPROF_CALL_NUMBER(2), shape.area()) + (__VPROF_CALL_NUMBER(3), big.area()) + (__VPROF_CALL_NUMBER(4), own.area());
}

// So are a function and what may point to it. A call that cannot be numbered leaves all of its function without.
static int through(int *(*pointer)(int), int &(*other)(int)) { __VPROF_PROBE_CALLS(13) 
  int first = (__VPROF_CALL_NUMBER(1), place(0)) + (__VPROF_CALL_NUMBER(2), place(1)) + (__VPROF_CALL_NUMBER(0), other(2));
  return first + (pointer ? *pointer(1) : (__VPROF_CALL_NUMBER(0), other(other(place(3)))));
}
static int hidden(const std::string &word = std::to_string(place(1))) { __VPROF_PROBE(14)  return std::printf("%s\n", word.c_str()); }
static int implied() { __VPROF_PROBE(15)  return place(2) + place(3) + hidden(); }
template <typename T>
static int instances(T call) { __VPROF_PROBE_CALLS(16) 
  int sum = (__VPROF_CALL_NUMBER(1), only(1)) ? place(0) : place(1);
  return sum + (__VPROF_CALL_NUMBER(2), only(2)).operator*() + *(__VPROF_CALL_NUMBER(3), only(3)) +
         call(2);
}
// Which function an overloaded name is, only an instantiation knows: not numbered, nor are other calls of it.
template <typename T>
static int resolved_late(T i) { __VPROF_PROBE_CALLS(17) 
  return place(1) + place(i) + (__VPROF_CALL_NUMBER(1), argument()) + (__VPROF_CALL_NUMBER(2), argument());
}
static int in_handler(int n) { __VPROF_PROBE_CALLS(18) try { return (__VPROF_CALL_NUMBER(1), place(n)) ? throw n : n; } catch (int thrown) { return (__VPROF_CALL_NUMBER(2), place(thrown)); } }

static int twice_inside() { __VPROF_PROBE_CALLS(19)  return (__VPROF_CALL_NUMBER(1), place(place(place(1)) + *(__VPROF_CALL_NUMBER(2), only(argument())) + *(__VPROF_CALL_NUMBER(3), only(2)))) + (__VPROF_CALL_NUMBER(4), place(2)); }

int main() { __VPROF_PROBE_CALLS(20) 
  Chain chain;
  (__VPROF_CALL_NUMBER(1), chain.add(1).add(2).add(3));
  (__VPROF_CALL_NUMBER(2), chain.add(4));
  Square square;
  const Shape &shape = square;
  std::printf("%d %d %d\n", chain.sum, (__VPROF_CALL_NUMBER(3), shape.area()) + (__VPROF_CALL_NUMBER(4), shape.area()), values());
  std::printf("%d\n", dependent(square));
  std::printf("%d %d %d\n", family(square, Big()), through(nullptr, place), implied());
  std::printf("%d %d\n", (__VPROF_CALL_NUMBER(5), instances([](int x) { __VPROF_PROBE(21)  return argument() - x; })), twice_inside());
  std::printf("%d %d\n", (__VPROF_CALL_NUMBER(6), instances(place)), resolved_late(2) + in_handler(3));
  return 0;
}
