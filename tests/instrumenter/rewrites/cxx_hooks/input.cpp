// Descriptor hooks in C++: names are qualified, expressions are C++, one of several overloads is named by its parameters.
#include <cstdio>

namespace server {

namespace {
struct Job {
  int id;
};
}  // namespace

class Latch {
 public:
  void acquire() { std::puts("acquire"); }
  void release() noexcept { std::puts("release"); }
};

class Queue {
 public:
  void push(Job *job) { last_ = job; }
  Job *pop();
  template <typename T>
  T *pop_as();

 private:
  Job *last_ = nullptr;
};

Job *Queue::pop() {
  const auto nothing = [] { return static_cast<Job *>(nullptr); };
  if (!last_) return nothing();
  return last_;
}
template <typename T>
T *Queue::pop_as() {
  return static_cast<T *>(last_);
}

enum class Kind { read, write };
struct Request {
  int id = 7;
  Kind kind = Kind::write;
  void begin(const char *type) { std::puts(type); }
  void begin() { std::puts("other overload"); }
  Request &&finish(const Request &) && {
    std::puts("finish");
    return static_cast<Request &&>(*this);
  }
};

}  // namespace server

int main() {
  server::Latch latch;
  latch.acquire();
  latch.release();
  server::Job job{1};
  server::Queue queue;
  queue.pop();
  queue.push(&job);
  queue.pop();
  queue.pop_as<server::Job>();
  server::Request request;
  request.begin("read");
  request.begin();
  static_cast<server::Request &&>(request).finish(request);
  return 0;
}
