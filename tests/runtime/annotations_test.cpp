// The functions of vprof/vprof.h: the records they write, and the calls that write none.
#include "in_process.h"
#include "mappings.h"
#include "sync.h"
#include "vprof/vprof.h"

namespace vprof {
namespace {

std::string label(uint32_t number) {
  const char *text = test_arena()->labels.text(number);
  return text != nullptr ? text : "";
}

TEST(Annotations, AnIntervalMayGetItsTypeAtItsEnd) {
  on_new_thread([](Slot *slot) {
    vprof_interval_begin(1, "read");
    vprof_interval_end_typed(1, "write");
    vprof_interval_begin(2, nullptr);
    vprof_interval_end_typed(2, nullptr);
    vprof_interval_abort(3);
    const std::vector<Record> records = take_records(slot);
    ASSERT_EQ(records.size(), 5u);
    EXPECT_EQ(label(aux_of(records[0])), "read");
    EXPECT_EQ(kind_of(records[1]), Kind::kIntervalEnd);
    EXPECT_EQ(aux_of(records[1]) & 1, 0u);
    EXPECT_EQ(label(aux_of(records[1]) >> 1), "write");
    EXPECT_EQ(aux_of(records[3]), 0u);
    EXPECT_EQ(aux_of(records[4]), 1u);
  });
}

TEST(Annotations, IntervalZeroIsNone) {
  on_new_thread([](Slot *slot) {
    vprof_interval_begin(0, "none");
    vprof_interval_end(0);
    vprof_interval_end_typed(0, "none");
    vprof_interval_abort(0);
    EXPECT_EQ(take_records(slot).size(), 0u);
    vprof_on_behalf(0);
    EXPECT_EQ(kind_of(take_records(slot).at(0)), Kind::kOnBehalf);
  });
}

TEST(Annotations, NamesArePrivateToTheProcessSharedOrPlainNumbers) {
  ASSERT_NE(test_arena(), nullptr);
  static char mine, ours[8];
  const auto value = [](const void *p) { return reinterpret_cast<uint64_t>(p); };
  g_mappings.enter(value(ours), sizeof ours, 1000);
  const uint64_t private_name = described_id(value(&mine));
  EXPECT_EQ(described_id(value(&ours[3])), 1003u);
  EXPECT_EQ(described_id(42), 42u);
  EXPECT_EQ(described_id(uint64_t{1} << 63 | 42), uint64_t{1} << 63 | 42);
  const uint32_t pid = g_session.pid;
  g_session.pid = pid + 1;  // as in another process
  EXPECT_NE(described_id(value(&mine)), private_name);
  EXPECT_EQ(described_id(value(&ours[3])), 1003u);
  g_session.pid = pid;
  g_mappings.forget(value(ours), sizeof ours);
}

// A function that waits may be left by longjmp, so its wait never ends; later waits are recorded all the same.
TEST(Annotations, WaitsWithoutAnEndDoNotBlockLaterOnes) {
  on_new_thread([](Slot *slot) {
    for (uint64_t object = 1; object <= 20; ++object) vprof_wait_begin(object);
    vprof_wait_begin(77);
    std::thread([] {
      vprof_wake(77);
      vprof_wake_done(77);
    }).join();
    take_records(slot);
    vprof_wait_end(77);
    EXPECT_EQ(kind_of(take_records(slot).at(0)), Kind::kBlocked);
  });
}

}  // namespace
}  // namespace vprof
