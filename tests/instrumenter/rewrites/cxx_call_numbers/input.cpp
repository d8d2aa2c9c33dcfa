// Numbered calls keep their values' categories, lifetimes and order.
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

struct Shape {
  virtual ~Shape() = default;
  virtual int area() const { return std::printf("shape\n"); }
};
struct Square : Shape {
  int area() const override { return std::printf("square\n"); }
};

struct Chain {
  Chain &add(int x) {
    sum += x;
    std::printf("add %d\n", x);
    return *this;
  }
  int sum = 0;
};

static int &place(int i) {
  static int places[4];
  std::printf("place %d\n", i);
  return places[i & 3];
}
static std::unique_ptr<int> only(int x) {
  std::printf("only\n");
  return std::unique_ptr<int>(new int(x));
}
static std::vector<std::string> list(const char *word) {
  std::printf("list\n");
  return {word, "end"};
}
static constexpr int twice(int x) { return 2 * x; }
static int argument() { return std::printf("argument\n"); }
static int defaulted(int x = argument()) { return x + std::printf("defaulted\n"); }

static int values() {
  place(0) = 5;
  int &same = place(0);
  same += place(1);
  auto first = only(1);
  std::unique_ptr<int> second{only(2)};
  decltype(auto) third = place(2);
  third = *first + *second;
  for (const std::string &word : list("one")) std::puts(word.c_str());

  static_assert(twice(2) + twice(3) == 10, "");
  static const int once = defaulted();
  return same + third + once + defaulted(1) + noexcept(place(3));
}

template <typename T>
static int dependent(T &shape) {
  auto inner = [&](int x) { return place(x) + place(x + 1); };
  return shape.area() + shape.area() + inner(0) + inner(1);
}

// Methods that override one another are one function here: none of their calls may carry the number of another's.
struct Big : Square {
  int area() const override { return Square::area() + std::printf("big\n"); }
};
static int family(const Shape &shape, const Big &big) {
  const Big own;
  return shape.area() + shape.area() + big.area() + own.area();
}

// So are a function and what may point to it. A call that cannot be numbered leaves all of its function without.
static int through(int *(*pointer)(int), int &(*other)(int)) {
  int first = place(0) + place(1) + other(2);
  return first + (pointer ? *pointer(1) : other(other(place(3))));
}
static int hidden(const std::string &word = std::to_string(place(1))) { return std::printf("%s\n", word.c_str()); }
static int implied() { return place(2) + place(3) + hidden(); }
template <typename T>
static int instances(T call) {
  int sum = only(1) ? place(0) : place(1);
  return sum + only(2).operator*() + *only(3) +
         call(2);
}
// Which function an overloaded name is, only an instantiation knows: not numbered, nor are other calls of it.
template <typename T>
static int resolved_late(T i) {
  return place(1) + place(i) + argument() + argument();
}
static int in_handler(int n) try { return place(n) ? throw n : n; } catch (int thrown) { return place(thrown); }

static int twice_inside() { return place(place(place(1)) + *only(argument()) + *only(2)) + place(2); }

int main() {
  Chain chain;
  chain.add(1).add(2).add(3);
  chain.add(4);
  Square square;
  const Shape &shape = square;
  std::printf("%d %d %d\n", chain.sum, shape.area() + shape.area(), values());
  std::printf("%d\n", dependent(square));
  std::printf("%d %d %d\n", family(square, Big()), through(nullptr, place), implied());
  std::printf("%d %d\n", instances([](int x) { return argument() - x; }), twice_inside());
  std::printf("%d %d\n", instances(place), resolved_late(2) + in_handler(3));
  return 0;
}
