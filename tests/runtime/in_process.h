// A session inside the test's own process: the runtime attached to files made by the collector's code, no collector
// running.
#ifndef VPROF_TEST_IN_PROCESS_H
#define VPROF_TEST_IN_PROCESS_H

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "off_cpu.h"
#include "session.h"
#include "session_files.h"
#include "thread.h"

namespace vprof {

// Attached once per process: tests use new threads, which have slots of their own.
inline Arena *test_arena() {
  static SessionFiles files;
  static bool ready = [] {
    char name[] = "/tmp/vprof-unit-XXXXXX";
    SessionOptions options;
    options.directory = std::string(mkdtemp(name)) + "/session";
    options.slots = 128;
    options.ring_bytes = 16384;
    EXPECT_EQ(files.create(options), "");
    const bool attached = attach(options.directory.c_str());
    EXPECT_TRUE(attached);
    vprof_switch_word = 0;  // no OFF_CPU records among those that tests count
    return attached;
  }();
  return ready ? files.arena() : nullptr;
}

// Of a slot that no other thread has had before.
inline std::vector<Record> take_records(Slot *slot) {
  static std::map<Slot *, uint64_t> taken;
  const Ring::Span span = slot->ring.peek(records_of(slot), taken[slot]);
  std::vector<Record> records;
  for (int i = 0; i < 2; ++i) records.insert(records.end(), span.first[i], span.first[i] + span.count[i]);
  slot->ring.consume_to(taken[slot] += span.total());
  return records;
}

// Runs `body` on a fresh thread with a slot.
inline void on_new_thread(const std::function<void(Slot *)> &body) {
  ASSERT_NE(test_arena(), nullptr);
  std::thread([&] {
    Slot *slot = current_slot();
    ASSERT_NE(slot, nullptr);
    take_records(slot);  // CREATED
    body(slot);
  }).join();
}

}  // namespace vprof

#endif
