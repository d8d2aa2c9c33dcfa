// Requests served by boost.context fibers: four at a time on one thread, of which each makes way for the others twice.
#include <boost/context/fiber.hpp>
#include <cstdio>
#include <deque>
#include <stdexcept>

namespace ctx = boost::context;

static volatile unsigned long sum;
static ctx::fiber scheduler;

__attribute__((noinline)) void spin(long rounds) {
  for (long i = 0; i < rounds; ++i) sum = sum + static_cast<unsigned long>(i);
}

__attribute__((noinline)) void wait_for_io() {
  scheduler = std::move(scheduler).resume();
}

__attribute__((noinline)) void fails(int number) {
  if (number % 5 == 0) throw std::runtime_error("fifth");
}

__attribute__((noinline)) void request(int number) {
  spin(1000);
  wait_for_io();
  try {
    fails(number);
  } catch (const std::runtime_error &) {
    spin(2000);
  }
  wait_for_io();
}

static ctx::fiber serve(int number) {
  return ctx::fiber([number](ctx::fiber &&caller) {
    scheduler = std::move(caller);
    request(number);
    return std::move(scheduler);
  });
}

int main() {
  std::deque<ctx::fiber> ready;
  int begun = 0, resumed = 0;
  while (begun < 200 || !ready.empty()) {
    while (begun < 200 && ready.size() < 4) ready.push_back(serve(begun++));
    ctx::fiber next = std::move(ready.front());
    ready.pop_front();
    if ((next = std::move(next).resume())) ready.push_back(std::move(next));
    ++resumed;
  }
  std::printf("%d resumed, %lu\n", resumed, static_cast<unsigned long>(sum));
}
