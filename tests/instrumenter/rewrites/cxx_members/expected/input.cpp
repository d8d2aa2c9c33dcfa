// Constructors (the initialiser list is outside the probe), destructors, operators, conversions, virtual methods,
// friends, local classes; what has no text (= default, = delete, implicit) stays as it is.
#include <cstdio>

namespace shop {

class Counter {
 public:
  Counter() : Counter(1) { __VPROF_PROBE(0)  std::puts("Counter"); }
  explicit Counter(int start) : value_(check(start)) { __VPROF_PROBE(1)  std::puts("Counter int"); }
  Counter(const Counter &) = default;
  Counter &operator=(const Counter &) = delete;
  ~Counter() { __VPROF_PROBE(2)  std::puts("~Counter"); }

  Counter &operator+=(int more) { __VPROF_PROBE(3) 
    std::puts("+=");
    value_ += more;
    return *this;
  }
  int operator()(int x) const { __VPROF_PROBE(4)  return std::puts("()"), value_ + x; }
  int operator[](int i) const { __VPROF_PROBE(5)  return std::puts("[]"), value_ * i; }
  explicit operator bool() const { __VPROF_PROBE(6)  return std::puts("bool") >= 0 && value_; }
  operator const char *() const { __VPROF_PROBE(7)  return std::puts("text") >= 0 ? "counter" : nullptr; }
  friend Counter operator+(Counter a, int b) { __VPROF_PROBE(8) 
    std::puts("+");
    a += b;
    return a;
  }
  static void *operator new(unsigned long size) { __VPROF_PROBE(9) 
    std::puts("new");
    return ::operator new(size);
  }
  static void operator delete(void *p) { __VPROF_PROBE(10) 
    std::puts("delete");
    ::operator delete(p);
  }
  int value() const { return value_; }

 private:
  static int check(int x) { __VPROF_PROBE(11)  return std::puts("check"), x; }
  int value_;
};

struct Shape {
  virtual ~Shape() = default;
  virtual int area(int scale = 2) const = 0;
};

struct Square final : Shape {
  int side = 3;
  int area(int scale) const override { __VPROF_PROBE(12)  return std::puts("area"), side * side * scale; }
};

}  // namespace shop

namespace {
struct Global {
  Global() { __VPROF_PROBE(13)  std::puts("before main"); }
} global;
}  // namespace

int operator""_twice(unsigned long long x) { __VPROF_PROBE(14)  return std::puts("_twice"), static_cast<int>(x) * 2; }

extern "C++" {
inline int in_block(int x) { __VPROF_PROBE(15)  return std::puts("extern C++"), x; }
}

int main() { __VPROF_PROBE(16) 
  shop::Counter counter;
  counter += 4;
  int sum = counter(1) + counter[2] + (counter ? 1 : 0) + static_cast<const char *>(counter)[0];
  sum += (counter + 1).value() + 21_twice + in_block(1);
  delete new shop::Counter(7);
  const shop::Shape &shape = shop::Square();
  sum += shape.area();
  struct Local {
    int method(int x) { __VPROF_PROBE(17)  return std::puts("local"), x; }
  };
  std::printf("%d\n", sum + Local().method(1));
  return 0;
}
