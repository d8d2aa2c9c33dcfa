// Events at calls keep values' categories, the lifetime of temporaries and what exceptions do.
#include <cstdio>
#include <memory>
#include <string>
#include <type_traits>

namespace server {

struct Request {
  unsigned long id = 7;
  Request &start() { return *this; }
  Request &start(const std::string &name) { __VPROF_PROBE(0) 
    std::printf("start %s\n", name.c_str());
    return *this;
  }
  const char *text(std::string &&held) const { __VPROF_PROBE(1) 
    std::printf("text\n");
    return held.c_str();
  }
};

static std::unique_ptr<Request> make(bool fails) { __VPROF_PROBE(2) 
  if (fails) throw 3;
  return std::unique_ptr<Request>(new Request);
}

struct Latch {
  virtual ~Latch() = default;
  virtual void wait(int) { __VPROF_PROBE(3)  std::puts("wait"); }
};
struct Special : Latch {
  void wait(int fails) override { __VPROF_PROBE(4) 
    std::puts("special");
    if (fails) throw fails;
  }
};

enum class Flag : unsigned char { kNone, kSome = 5 };
struct Queue {
  Request request;
  Queue &self() { return *this; }
  Request *pop(int n) { return n ? &request : nullptr; }
  Flag flag() const { return Flag::kSome; }
};

template <typename T>
const char *category(T &&) {
  return std::is_lvalue_reference<T>::value ? "lvalue" : "value";
}

struct Worker {
  unsigned long base;

  void run(Latch &latch) { __VPROF_PROBE_CALLS(5) __VPROF_KEEP_VALUE(interval_2, 4, const char *) __VPROF_KEEP_OBJECT(sync_0_5) __VPROF_KEEP_OBJECT(sync_0_6) 
    Request request;
    const std::string word = "typed";
    (__VPROF_TYPED_AT(interval_0, interval_begin, (this->base + request.id), (word.c_str())), (__VPROF_TYPED_AT(interval_0, interval_begin, (this->base + request.id), (word.c_str())), request.start(word)).start().start(word)).id = 9;
    std::unique_ptr<Request> made{(__VPROF_CALL_NUMBER(1), (__VPROF_AT(interval_1, interval_abort, (base)), make(false)))};
    std::printf("%s %lu\n", (__vprof_value_4 = request.text(std::string("a long text that is kept on the heap")), __VPROF_AT(interval_2, interval_end, (base + *__vprof_value_4)), __VPROF_VALUE(4)), request.id);
    (__VPROF_CALL_NUMBER(2), (__VPROF_AT_OBJECT(sync_0_5, wait_begin, wait_end, (base)), latch.wait(0), __VPROF_DONE_OBJECT(sync_0_5, wait_end)));
    try {
      (__VPROF_CALL_NUMBER(3), (__VPROF_AT_OBJECT(sync_0_6, wait_begin, wait_end, (base)), latch.wait(4), __VPROF_DONE_OBJECT(sync_0_6, wait_end)));
    } catch (int) {
      std::puts("caught");
    }
    (__VPROF_CALL_NUMBER(4), (__VPROF_AT(interval_1, interval_abort, (base)), make(true)));
  }

  const char *take(Queue &queue) { __VPROF_PROBE(6) __VPROF_KEEP_VALUE(queue_0, 1, server::Request *) __VPROF_KEEP_VALUE(queue_0, 2, server::Request *) __VPROF_KEEP_VALUE(queue_1, 3, server::Flag) __VPROF_KEEP_VALUE(queue_1, 4, server::Flag) 
    std::puts(category((__vprof_value_1 = queue.self().pop(0), __VPROF_AT(queue_0, dequeue_any, (__vprof_value_1)), __VPROF_VALUE(1))));
    if (Request *taken = (__vprof_value_2 = queue.self().pop(1), __VPROF_AT(queue_0, dequeue_any, (__vprof_value_2)), __VPROF_VALUE(2))) std::printf("%lu\n", taken->id);
    return (__vprof_value_3 = queue.flag(), __VPROF_AT(queue_1, enqueue_any, (__vprof_value_3)), __VPROF_VALUE(3)) == Flag::kSome ? category((__vprof_value_4 = queue.flag(), __VPROF_AT(queue_1, enqueue_any, (__vprof_value_4)), __VPROF_VALUE(4))) : "";
  }
};

}  // namespace server

template <typename Part>
static void generic(server::Latch &latch, const Part &part) { __VPROF_PROBE(7) 
  (__VPROF_AT(queue_2, enqueue, (part.number)), latch.wait(part.number));
}

int main() { __VPROF_PROBE(8) 
  struct Small { int number = 0; } small;
  server::Worker worker{100};
  server::Special latch;
  server::Queue queue;
  try {
    worker.run(latch);
  } catch (int thrown) {
    std::printf("thrown %d\n", thrown);
  }
  std::puts(worker.take(queue));
  generic(latch, small);
  return 0;
}
