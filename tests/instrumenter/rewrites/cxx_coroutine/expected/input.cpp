// A coroutine suspends and resumes elsewhere: left alone. Its lambdas and the functions of its promise are functions.
#include <coroutine>
#include <cstdio>

struct Generator {
  struct promise_type {
    int current = 0;
    Generator get_return_object() { __VPROF_PROBE(0) 
      std::puts("get_return_object");
      return {std::coroutine_handle<promise_type>::from_promise(*this)};
    }
    std::suspend_always initial_suspend() { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    std::suspend_always yield_value(int value) { __VPROF_PROBE(1) 
      std::puts("yield_value");
      current = value;
      return {};
    }
    void return_void() {}
    void unhandled_exception() {}
  };
  std::coroutine_handle<promise_type> handle;
  int next() {
    handle.resume();
    return handle.promise().current;
  }
};

static Generator count(int n) {
  const auto twice = [](int x) { __VPROF_PROBE(2)  return std::puts("twice"), 2 * x; };
  for (int i = 1; i <= n; ++i) co_yield twice(i);
}

int main() { __VPROF_PROBE(3) 
  Generator generator = count(3);
  const int a = generator.next();
  std::printf("%d %d\n", a, generator.next());
  generator.handle.destroy();
  return 0;
}
