// Exceptions through probed functions, and a thread that waits for another by a condition variable.
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

struct Guard {
  explicit Guard(int &count) : count(count) {}
  ~Guard();
  int &count;
};
Guard::~Guard() {
  ++count;
}

int destroyed = 0;

}  // namespace

void fail(int depth) {
  Guard guard(destroyed);
  if (depth == 0) throw std::runtime_error("out");
  fail(depth - 1);
}

int catch_it(int i) {
  try {
    fail(3);
  } catch (const std::exception &error) {
    return static_cast<int>(std::string(error.what()).size()) + i;
  }
  return 0;
}

struct Mailbox {
  std::mutex mutex;
  std::condition_variable filled;
  std::vector<int> letters;

  int take() {
    std::unique_lock<std::mutex> lock(mutex);
    filled.wait(lock, [this] { return !letters.empty(); });
    const int letter = letters.back();
    letters.pop_back();
    return letter;
  }

  void put(int letter) {
    std::lock_guard<std::mutex> lock(mutex);
    letters.push_back(letter);
    filled.notify_one();
  }
};

int main() {
  int sum = 0;
  for (int i = 0; i < 50; ++i) sum += catch_it(i);
  Mailbox box;
  std::thread reader([&] {
    for (int i = 0; i < 10; ++i) sum += box.take();
  });
  for (int i = 0; i < 10; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    box.put(i);
  }
  reader.join();
  std::printf("%d %d\n", sum, destroyed);
}
