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
  void acquire() { __VPROF_PROBE(0) __VPROF_AROUND(sync_0, wait_begin, wait_end, (this))  std::puts("acquire"); }
  void release() noexcept { __VPROF_PROBE(1) __VPROF_AROUND(sync_1, wake, wake_done, (this))  std::puts("release"); }
};

class Queue {
 public:
  void push(Job *job) { __VPROF_ENTRY(queue_0, enqueue, (job->id))  last_ = job; }
  Job *pop();
  template <typename T>
  T *pop_as();

 private:
  Job *last_ = nullptr;
};

Job *Queue::pop() { __VPROF_RETURNED(Job *) 
  const auto nothing = [] { return static_cast<Job *>(nullptr); };
  if (!last_) return __vprof_returned = ( nothing()) __VPROF_RETURNED_END;
  return __vprof_returned = ( last_) __VPROF_RETURNED_END;
}
template <typename T>
T *Queue::pop_as() { __VPROF_RETURNED(T *) 
  return __vprof_returned = ( static_cast<T *>(last_)) __VPROF_RETURNED_END;
}

enum class Kind { read, write };
struct Request {
  int id = 7;
  Kind kind = Kind::write;
  void begin(const char *type) { __VPROF_PROBE(2) __VPROF_TYPED_ENTRY(interval_0, interval_begin, (this->id), (type))  std::puts(type); }
  void begin() { __VPROF_PROBE(3)  std::puts("other overload"); }
  Request &&finish(const Request &) && { __VPROF_PROBE(4) __VPROF_EXIT(interval_1, interval_end, (id + static_cast<int>(kind))) 
    std::puts("finish");
    return static_cast<Request &&>(*this);
  }
};

}  // namespace server

int main() { __VPROF_PROBE(5) 
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
