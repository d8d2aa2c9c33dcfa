#include "objects.h"

#include <gtest/gtest.h>

#include <memory>

namespace vprof {
namespace {

TEST(Stamp, KeepsUidAndTimeWhateverTheirHighBits) {
  const uint32_t newest = 0x3000010;
  for (const uint32_t uid : {newest, newest - 1, newest - 0xfffff0}) {
    const uint64_t later = 0x123456789abcdef;
    const uint64_t stamp = Stamp::with_time(uid, later - 100000);
    EXPECT_EQ(Stamp::uid(stamp, newest), uid);
    EXPECT_TRUE(Stamp::has_time(stamp));
    EXPECT_EQ(Stamp::time(stamp, later), later - 100000);
  }
  EXPECT_FALSE(Stamp::has_time(Stamp::without_time(7)));
  EXPECT_EQ(Stamp::uid(0, newest), 0u);
}

TEST(Objects, UnknownUntilSomebodyWaits) {
  auto table = std::make_unique<ObjectTable>();
  EXPECT_EQ(table->find(42), nullptr);
  ObjectEntry *entry = table->add_waiter(42);
  ASSERT_NE(entry, nullptr);
  EXPECT_EQ(table->find(42), entry);
  EXPECT_EQ(entry->waiters.load(), 1u);
  EXPECT_EQ(table->add_waiter(42), entry);
  EXPECT_EQ(entry->waiters.load(), 2u);
}

TEST(Objects, AFullTableForgetsObjectsNobodyWaitsFor) {
  auto table = std::make_unique<ObjectTable>();
  ObjectEntry *waited = table->add_waiter(1);
  for (uint64_t key = 2; key < 4 * ObjectTable::kEntries; ++key) {
    ObjectEntry *entry = table->claim(key);
    if (entry == nullptr) continue;
    EXPECT_EQ(entry->stamp.load(), 0u) << "a former object's stamp";
    entry->stamp.store(key);
  }
  EXPECT_EQ(table->find(1), waited);
}

}  // namespace
}  // namespace vprof
