// Constructors (the initialiser list is outside the probe), destructors, operators, conversions, virtual methods,
// friends, local classes; what has no text (= default, = delete, implicit) stays as it is.
#include <cstdio>

namespace shop {

class Counter {
 public:
  Counter() : Counter(1) { std::puts("Counter"); }
  explicit Counter(int start) : value_(check(start)) { std::puts("Counter int"); }
  Counter(const Counter &) = default;
  Counter &operator=(const Counter &) = delete;
  ~Counter() { std::puts("~Counter"); }

  Counter &operator+=(int more) {
    std::puts("+=");
    value_ += more;
    return *this;
  }
  int operator()(int x) const { return std::puts("()"), value_ + x; }
  int operator[](int i) const { return std::puts("[]"), value_ * i; }
  explicit operator bool() const { return std::puts("bool") >= 0 && value_; }
  operator const char *() const { return std::puts("text") >= 0 ? "counter" : nullptr; }
  friend Counter operator+(Counter a, int b) {
    std::puts("+");
    a += b;
    return a;
  }
  static void *operator new(unsigned long size) {
    std::puts("new");
    return ::operator new(size);
  }
  static void operator delete(void *p) {
    std::puts("delete");
    ::operator delete(p);
  }
  int value() const { return value_; }

 private:
  static int check(int x) { return std::puts("check"), x; }
  int value_;
};

struct Shape {
  virtual ~Shape() = default;
  virtual int area(int scale = 2) const = 0;
};

struct Square final : Shape {
  int side = 3;
  int area(int scale) const override { return std::puts("area"), side * side * scale; }
};

}  // namespace shop

namespace {
struct Global {
  Global() { std::puts("before main"); }
} global;
}  // namespace

int operator""_twice(unsigned long long x) { return std::puts("_twice"), static_cast<int>(x) * 2; }

extern "C++" {
inline int in_block(int x) { return std::puts("extern C++"), x; }
}

int main() {
  shop::Counter counter;
  counter += 4;
  int sum = counter(1) + counter[2] + (counter ? 1 : 0) + static_cast<const char *>(counter)[0];
  sum += (counter + 1).value() + 21_twice + in_block(1);
  delete new shop::Counter(7);
  const shop::Shape &shape = shop::Square();
  sum += shape.area();
  struct Local {
    int method(int x) { return std::puts("local"), x; }
  };
  std::printf("%d\n", sum + Local().method(1));
  return 0;
}
