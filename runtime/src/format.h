// Records of a trace: the words a thread writes, TRACE_FORMAT.md section 2. Only constants and constructors; no state.
#ifndef VPROF_FORMAT_H
#define VPROF_FORMAT_H

#include <cstdint>

namespace vprof {

// Section 1.1: of a file without compressed chunks, and of one that may have some.
constexpr uint32_t kTraceVersion = 5;
constexpr uint32_t kCompressedTraceVersion = 6;

// Section 2: one record; a thread's event is one to three consecutive records.
struct Record {
  uint64_t w0;
  uint64_t w1;
};
static_assert(sizeof(Record) == 16, "TRACE_FORMAT.md section 2");

enum class Kind : uint64_t {
  kExtended = 0,  // section 2.6: `aux` says which
  kInvocation = 1,
  kLongStart = 2,
  kIntervalBegin = 3,
  kIntervalEnd = 4,
  kOnBehalf = 5,
  kBlocked = 6,
  kObject = 7,
  kPeer = 8,
  kEnqueue = 9,
  kDequeue = 10,
  kCreated = 11,
  kLost = 12,
  kCount = 13,
  kAbandoned = 14,
  kOffCpu = 15,
};

// Section 2.1.
enum class ObjectClass : uint32_t {
  kMutex = 1,
  kCondition = 2,
  kSemaphore = 3,
  kJoin = 4,
  kDescribed = 5,
  kReadWriteLock = 6,
  kBarrier = 7,
  kSpinLock = 8,
  kOnce = 9,
  kFutex = 10,
  kDescriptor = 11,
  kSignal = 12,
  kChild = 13,
  kFileLock = 14,
  kMessageQueue = 15,
  kFiber = 16,
  kStorage = 17,
};

// Section 2.2.
constexpr uint32_t kPeerUnknown = 1;
constexpr uint32_t kPeerTimeUnknown = 2;
constexpr uint32_t kPeerTimedOut = 4;

// Section 2.3: bits of what happened.
constexpr uint32_t kOffPreempted = 1;
constexpr uint32_t kOffBlocked = 2;
constexpr uint32_t kOffFault = 4;
constexpr uint32_t kOffRead = 8;
constexpr uint32_t kOffStorage = 16;
constexpr uint32_t kOffForWoken = 32;
constexpr uint32_t kOffSleep = 64;
constexpr uint32_t kOffMemory = 128;

constexpr uint64_t kTimeMask = (uint64_t{1} << 48) - 1;
constexpr uint32_t kMaxAux = 4095;
constexpr uint32_t kLongDuration = 0xffffffff;

constexpr Record make_record(Kind kind, uint64_t time, uint32_t aux, uint64_t w1) {
  return {(time & kTimeMask) | uint64_t{aux < kMaxAux ? aux : kMaxAux} << 48 | static_cast<uint64_t>(kind) << 60, w1};
}

// The upper half of w1 of INVOCATION and ABANDONED: the site, and the call number (PROBE_ABI.md). `called` is the site
// as probes hand it over, with the low bits of the return address above it if they know them; `number` is what the
// caller has stored, or kByReturnAddress.
constexpr unsigned kSiteBits = 22;
constexpr uint32_t kSiteMask = (1u << kSiteBits) - 1;
constexpr uint16_t kMaxCallNumber = 1023;
constexpr uint16_t kByReturnAddress = 0x8000;
constexpr uint64_t call_tag(uint32_t called, uint16_t number) {
  if (number == kByReturnAddress) return uint64_t{called} << 32;
  return uint64_t{called & kSiteMask} << 32 | uint64_t{number} << (32 + kSiteBits);
}
constexpr uint32_t site_of(uint64_t w1) {
  return static_cast<uint32_t>(w1 >> 32) & kSiteMask;
}
constexpr uint32_t call_of(uint64_t w1) {
  return static_cast<uint32_t>(w1 >> (32 + kSiteBits));
}

// TRACE_FORMAT.md section 2.6: aux of an extended record: which one, and for HELD the object class.
constexpr uint32_t kHeld = 1 << 8;
constexpr uint32_t held_aux(ObjectClass cls) {
  return kHeld | static_cast<uint32_t>(cls);
}

// TRACE_FORMAT.md section 2.7: STACK. w1: number of the stack, and above it the ticks waited.
constexpr uint32_t kStack = 2 << 8;
constexpr uint32_t kStackOfRelease = 1;
constexpr unsigned kStackNumberBits = 16;
constexpr unsigned kWaitedBits = 47;  // of a longer wait, which no machine lives to see, no stack is taken

// TRACE_FORMAT.md section 2.9: NAMED. w1: number of the name, and above it the low bits of the ticks `since`.
constexpr uint32_t kNamed = 3 << 8;
constexpr unsigned kNameNumberBits = 16;
constexpr Record make_named(uint64_t time, uint32_t number, uint64_t since) {
  return make_record(Kind::kExtended, time, kNamed, since << kNameNumberBits | number);
}

// TRACE_FORMAT.md section 2.10: aux of LOCK. `mode`: 0 not told, 1 shared, 2 exclusive.
constexpr uint32_t kLock = 4 << 8;
constexpr uint32_t kLockReleaseAll = 3;
constexpr uint32_t lock_aux(uint32_t step, uint32_t mode) {
  return kLock | mode << 2 | step;
}

// TRACE_FORMAT.md section 2.4: w1 of OBJECT after INTERVAL_BEGIN where the program knew no time.
constexpr int64_t kNotCreated = INT64_MIN;

// aux of INTERVAL_END. `label` is the number of the type, 0 = as at the begin.
constexpr uint32_t end_aux(bool aborted, uint32_t label) {
  return (aborted ? 1 : 0) | label << 1;
}

constexpr Kind kind_of(Record r) {
  return static_cast<Kind>(r.w0 >> 60);
}
constexpr uint32_t aux_of(Record r) {
  return static_cast<uint32_t>(r.w0 >> 48) & kMaxAux;
}

// The full time nearest to `near` with the low 48 bits of `r`.
constexpr uint64_t time_of(Record r, uint64_t near) {
  const uint64_t ahead = (r.w0 - near) & kTimeMask;
  return ahead >> 47 ? near + ahead - (kTimeMask + 1) : near + ahead;
}

// TRACE_FORMAT.md section 8, the worked bytes.
static_assert(make_record(Kind::kInvocation, 0x1400, 2, call_tag(7, 3) | 0x400).w0 == 0x1002000000001400);
static_assert((call_tag(7, 3) | 0x400) == 0x00c0000700000400);
static_assert(make_record(Kind::kIntervalEnd, 0x1500, 0, 5).w0 == 0x4000000000001500);

}  // namespace vprof

#endif
