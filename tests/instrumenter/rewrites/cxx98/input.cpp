// The oldest dialect, every warning on.
#include <stdio.h>

namespace {
template <class T>
struct Less {
  bool operator()(const T &a, const T &b) const {
    puts("less");
    return a < b;
  }
};
}  // namespace

class Base {
 public:
  virtual ~Base() { puts("~Base"); }
  virtual int run() throw() { return puts("Base"); }
};
class Derived : public Base {
 public:
  Derived() : Base(), value_(1) { puts("Derived"); }
  int run() throw() {
    puts("run");
    return value_;
  }

 private:
  int value_;
};

int main() {
  Base *base = new Derived;
  Less<int> less;
  printf("%d\n", base->run() + less(1, 2));
  delete base;
  return 0;
}
