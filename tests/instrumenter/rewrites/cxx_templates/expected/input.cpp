// A template is one site, its text, however many instantiations; an explicit specialisation is another.
#include <cstdio>
#include <utility>

template <typename T>
T largest(T a, T b) { __VPROF_PROBE(0) 
  std::puts("largest");
  return a < b ? b : a;
}
template <>
char largest<char>(char a, char) { __VPROF_PROBE(1) 
  std::puts("largest char");
  return a;
}

template <typename... Parts>
int total(Parts &&...parts) { __VPROF_PROBE(2) 
  std::puts("total");
  return (0 + ... + static_cast<int>(std::forward<Parts>(parts)));
}

template <typename T, int N>
class Stack {
 public:
  Stack() { __VPROF_PROBE(3)  std::puts("Stack"); }
  ~Stack() { __VPROF_PROBE(4)  std::puts("~Stack"); }
  void push(T value);
  template <typename U>
  U top_as() const;
  friend int depth(const Stack &stack) { __VPROF_PROBE(5)  return std::puts("depth"), stack.depth_; }
  template <typename U>
  explicit operator U() const { __VPROF_PROBE(6) 
    std::puts("converted");
    return static_cast<U>(depth_);
  }

 private:
  T values_[N];
  int depth_ = 0;
};

template <typename T, int N>
void Stack<T, N>::push(T value) { __VPROF_PROBE(7) 
  std::puts("push");
  values_[depth_++] = largest(value, value);
}

template <typename T, int N>
template <typename U>
U Stack<T, N>::top_as() const { __VPROF_PROBE(8) 
  std::puts("top_as");
  return static_cast<U>(values_[depth_ - 1]);
}

template <typename T>
struct Name {
  static const char *get() { __VPROF_PROBE(9)  return std::puts("any"), "any"; }
};
template <typename T>
struct Name<T *> {
  static const char *get() { __VPROF_PROBE(10)  return std::puts("pointer"), "pointer"; }
};
template <>
struct Name<int> {
  static const char *get() { __VPROF_PROBE(11)  return std::puts("int"), "int"; }
};

template <typename T>
auto describe(T value) { __VPROF_PROBE(12) 
  if constexpr (sizeof(T) == 1) {
    std::puts("small");
    return 's';
  } else {
    std::puts("large");
    return static_cast<long>(value);
  }
}

template <template <typename> class N, typename T>
const char *through() { __VPROF_PROBE(13) 
  std::puts("through");
  return N<T>::get();
}

template class Stack<long, 1>;

int main() { __VPROF_PROBE_CALLS(14) 
  Stack<int, 4> stack;
  (__VPROF_CALL_NUMBER(1), stack.push(largest(1, 2)));
  Stack<double, 2> other;
  (__VPROF_CALL_NUMBER(2), other.push(1.5));
  std::printf("%d %ld %d\n", depth(stack), (__VPROF_CALL_NUMBER(3), stack.top_as<long>()), (__VPROF_CALL_NUMBER(4), other.top_as<int>()));
  std::printf("%c %d\n", largest('a', 'b'), total(1, 2L, 3.0));
  std::printf("%s %s %s\n", Name<int>::get(), Name<int *>::get(), through<Name, long>());
  std::printf("%c %ld %d\n", (__VPROF_CALL_NUMBER(5), describe('x')), (__VPROF_CALL_NUMBER(6), describe(5)), static_cast<bool>(stack));
  return 0;
}
