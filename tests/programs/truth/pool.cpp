// A request goes through three threads, each stage on another, and waits for a future.
// Planted: look_up, the last stage, for one request in 35.
#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <memory>

#include "truth.h"

struct Stage {
  std::deque<std::function<void()>> queue;
  std::mutex mutex;
  std::condition_variable changed;
};

static Stage g_stages[3];

static void run_stage(Stage *stage) {
  for (;;) {
    std::function<void()> task;
    {
      std::unique_lock<std::mutex> lock(stage->mutex);
      stage->changed.wait(lock, [stage] { return is_stopping() || !stage->queue.empty(); });
      if (stage->queue.empty()) return;
      task = std::move(stage->queue.front());
      stage->queue.pop_front();
    }
    task();
  }
}

static void post(int stage, std::function<void()> task) {
  {
    std::lock_guard<std::mutex> guard(g_stages[stage].mutex);
    g_stages[stage].queue.push_back(std::move(task));
  }
  g_stages[stage].changed.notify_one();
}

NOINLINE static void route() {
  burn_us(40);
}

NOINLINE static void transform() {
  burn_us(100);
}

NOINLINE static uint64_t look_up(int request) {
  const uint64_t begin = now_ns();
  burn_us(40);
  if ((static_cast<unsigned>(request) * 2654435761u >> 9) % 35 == 0) nap_us(scaled(2500));
  return now_ns() - begin;
}

NOINLINE static void hop(int request) {
  const auto done = std::make_shared<std::promise<uint64_t>>();
  std::future<uint64_t> answer = done->get_future();
  post(0, [done, request] {
    route();
    post(1, [done, request] {
      transform();
      post(2, [done, request] { done->set_value(look_up(request)); });
    });
  });
  add_cause(answer.get());
}

const Mode kPool = {"pool",
                    [](Threads &threads) {
                      for (Stage &stage : g_stages) threads.emplace_back(run_stage, &stage);
                    },
                    hop, nullptr,
                    [] {
                      // The request that is under way still goes through the stages.
                      for (Stage &stage : g_stages) {
                        std::lock_guard<std::mutex> guard(stage.mutex);
                        stage.changed.notify_all();
                      }
                    }};
