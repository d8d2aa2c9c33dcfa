// Call numbers (PROBE_ABI.md) from the prelude's macros through the runtime into the trace.
#include "recording.h"

namespace {

// programs/numbered.c
enum Site { kLeaf, kPlaces, kRecursive, kJumping, kForking };

struct Call {
  uint64_t site;
  uint64_t number;
  bool operator==(const Call &o) const { return site == o.site && number == o.number; }
};

std::ostream &operator<<(std::ostream &out, const Call &c) {
  return out << "site " << c.site << " at " << c.number;
}

constexpr unsigned kInvocation = 1, kAbandoned = 14;

std::vector<Call> calls_of(const std::vector<DecodedRecord> &records, uint64_t base) {
  std::vector<Call> calls;
  for (const DecodedRecord &r : records)
    if (r.kind == kInvocation || r.kind == kAbandoned) calls.push_back({(r.w1 >> 32 & 0x3fffff) - base, r.w1 >> 54});
  return calls;
}

TEST(CallNumbers, EachCallCarriesThePlaceInItsCaller) {
  Recording recording({"--hold"});
  recording.run_with_probes_on({program("numbered")});
  const uint64_t base = number_in(recording.program_modules(), "base") + 64;
  const DecodedTrace trace = recording.finish();
  ASSERT_EQ(trace.records.size(), 2u);
  const std::vector<Call> parent = calls_of(trace.records.at(1), base), child = calls_of(trace.records.at(2), base);
  const std::vector<Call> expected = {
      {kLeaf, 0},  // without a caller
      {kLeaf, 0},    {kLeaf, 1},      {kLeaf, 2},    {kLeaf, 2},      {kLeaf, 1023}, {kPlaces, 0},
      {kLeaf, 2},    {kRecursive, 1}, {kLeaf, 2},    {kRecursive, 1}, {kLeaf, 2},    {kRecursive, 0},
      {kJumping, 4}, {kLeaf, 0},      {kJumping, 4}, {kJumping, 0},   {kLeaf, 6},    {kForking, 0},
  };
  EXPECT_EQ(parent, expected);
  EXPECT_EQ(child, (std::vector<Call>{{kLeaf, 0}})) << "its caller's frame is the parent's";
}

}  // namespace
