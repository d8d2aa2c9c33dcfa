// The oldest dialect, every warning on.
#include <stdio.h>

namespace {
template <class T>
struct Less {
  bool operator()(const T &a, const T &b) const { __VPROF_PROBE(0) 
    puts("less");
    return a < b;
  }
};
}  // namespace

class Base {
 public:
  virtual ~Base() { __VPROF_PROBE(1)  puts("~Base"); }
  virtual int run() throw() { __VPROF_PROBE(2)  return puts("Base"); }
};
class Derived : public Base {
 public:
  Derived() : Base(), value_(1) { __VPROF_PROBE(3)  puts("Derived"); }
  int run() throw() { __VPROF_PROBE(4) 
    puts("run");
    return value_;
  }

 private:
  int value_;
};

int main() { __VPROF_PROBE(5) 
  Base *base = new Derived;
  Less<int> less;
  printf("%d\n", base->run() + less(1, 2));
  delete base;
  return 0;
}
