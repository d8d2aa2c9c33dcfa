// Events at calls keep values' categories, the lifetime of temporaries and what exceptions do.
#include <cstdio>
#include <memory>
#include <string>
#include <type_traits>

namespace server {

struct Request {
  unsigned long id = 7;
  Request &start() { return *this; }
  Request &start(const std::string &name) {
    std::printf("start %s\n", name.c_str());
    return *this;
  }
  const char *text(std::string &&held) const {
    std::printf("text\n");
    return held.c_str();
  }
};

static std::unique_ptr<Request> make(bool fails) {
  if (fails) throw 3;
  return std::unique_ptr<Request>(new Request);
}

struct Latch {
  virtual ~Latch() = default;
  virtual void wait(int) { std::puts("wait"); }
};
struct Special : Latch {
  void wait(int fails) override {
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

  void run(Latch &latch) {
    Request request;
    const std::string word = "typed";
    request.start(word).start().start(word).id = 9;
    std::unique_ptr<Request> made{make(false)};
    std::printf("%s %lu\n", request.text(std::string("a long text that is kept on the heap")), request.id);
    latch.wait(0);
    try {
      latch.wait(4);
    } catch (int) {
      std::puts("caught");
    }
    make(true);
  }

  const char *take(Queue &queue) {
    std::puts(category(queue.self().pop(0)));
    if (Request *taken = queue.self().pop(1)) std::printf("%lu\n", taken->id);
    return queue.flag() == Flag::kSome ? category(queue.flag()) : "";
  }
};

}  // namespace server

template <typename Part>
static void generic(server::Latch &latch, const Part &part) {
  latch.wait(part.number);
}

int main() {
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
