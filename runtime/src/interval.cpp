// Intervals, tasks, described primitives, names of waits and logical locks: the functions of vprof/vprof.h.
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#include <algorithm>

#include "described.h"
#include "off_cpu.h"
#include "sync.h"
#include "vprof/vprof.h"

#define VPROF_API extern "C" __attribute__((visibility("default")))

namespace vprof {

static void write(Kind kind, uint32_t aux, uint64_t w1, Space space) {
  if (!attached()) return;
  Slot *slot = current_slot();
  if (slot == nullptr) return;
  const uint64_t now = event_ticks(slot);
  record(slot, make_record(kind, now, aux, w1), space, now);
}

VPROF_API void vprof_interval_begin(uint64_t id, const char *type) {
  if (!attached() || id == 0) return;
  write(Kind::kIntervalBegin, g_session.arena->labels.intern(type), id, Space::kReserved);
}

// Section 2.4 of TRACE_FORMAT.md. No clock reaches 2^63 ns: a larger number, such as a program's UINT64_MAX for
// "never", is in the future. Its difference modulo 2^64 would be the clock's own time, a believable age until the
// machine is up for an hour.
static int64_t age_ns(uint64_t created_ns, int clock) {
  timespec now;
  if (created_ns == 0 || clock_gettime(clock, &now) != 0) return kNotCreated;
  const int64_t now_ns = static_cast<int64_t>(now.tv_sec) * 1000000000 + now.tv_nsec;
  return now_ns - static_cast<int64_t>(std::min(created_ns, uint64_t{INT64_MAX}));
}

VPROF_API void vprof_interval_begin_created(uint64_t id, const char *type, uint64_t created_ns, int clock) {
  if (!attached() || id == 0) return;
  Slot *slot = current_slot();
  if (slot == nullptr) return;
  const uint32_t label = g_session.arena->labels.intern(type);
  const uint64_t now = event_ticks(slot);
  const Record event[2] = {make_record(Kind::kIntervalBegin, now, label, id),
                           make_record(Kind::kObject, 0, 0, static_cast<uint64_t>(age_ns(created_ns, clock)))};
  record(slot, event, 2, Space::kReserved, now);
}

VPROF_API void vprof_interval_end(uint64_t id) {
  if (id != 0) write(Kind::kIntervalEnd, end_aux(false, 0), id, Space::kReserved);
}

VPROF_API void vprof_interval_end_typed(uint64_t id, const char *type) {
  if (!attached() || id == 0) return;
  write(Kind::kIntervalEnd, end_aux(false, g_session.arena->labels.intern(type)), id, Space::kReserved);
}

VPROF_API void vprof_interval_abort(uint64_t id) {
  if (id != 0) write(Kind::kIntervalEnd, end_aux(true, 0), id, Space::kReserved);
}

VPROF_API void vprof_on_behalf(uint64_t id) {
  write(Kind::kOnBehalf, 0, id, Space::kReserved);
}

VPROF_API void vprof_enqueue(uint64_t task) {
  write(Kind::kEnqueue, 0, described_id(task), Space::kNormal);
}

VPROF_API void vprof_dequeue(uint64_t task) {
  write(Kind::kDequeue, 0, described_id(task), Space::kNormal);
}

__thread Described t_described;

static void give_up_outermost_wait() {
  end_wait(t_described.waits[0]);
  --t_described.count;
  for (uint32_t i = 0; i < t_described.count; ++i) t_described.waits[i] = t_described.waits[i + 1];
}

VPROF_API void vprof_wait_begin(uint64_t object) {
  if (!attached()) return;
  if (t_described.count == kMaxNestedWaits) give_up_outermost_wait();
  t_described.waits[t_described.count] = begin_wait(ObjectClass::kDescribed, described_id(object));
  ++t_described.count;
}

VPROF_API void vprof_wait_end(uint64_t object) {
  if (!attached()) return;
  const uint64_t now = ticks();
  const uint64_t name = described_id(object);
  uint32_t ours = t_described.count;
  while (ours != 0 && t_described.waits[ours - 1].object != name) --ours;
  if (ours == 0) return;
  const Wait wait = t_described.waits[ours - 1];
  const Peer peer = find_peer(wait, now, Trust::kOnlyDuringWait);
  if (!(peer.flags & kPeerUnknown)) write_blocked(wait, peer, now);
  for (uint32_t i = ours - 1; i < t_described.count; ++i)
    end_wait(t_described.waits[i]);  // those above were left without an end
  t_described.count = ours - 1;
}

VPROF_API void vprof_wake(uint64_t object) {
  if (attached()) t_described.release = begin_release(ObjectClass::kDescribed, described_id(object));
}

VPROF_API void vprof_wake_done(uint64_t object) {
  if (attached() && t_described.release.key == table_key(ObjectClass::kDescribed, described_id(object)))
    finish_release(t_described.release);
}

VPROF_API uint64_t vprof_waits(void) {
  return t_described.named.written();
}

VPROF_API int vprof_unnamed_since(uint64_t waits) {
  return t_described.named.unnamed_since(waits) != 0;
}

VPROF_API void vprof_name_waits(uint64_t waits, const char *name) {
  const uint64_t since = t_described.named.unnamed_since(waits);
  if (!attached() || name == nullptr || since == 0) return;
  Slot *slot = current_slot();
  if (slot == nullptr) return;
  t_described.named.name(waits);
  const uint32_t number = g_session.arena->names.intern(name);
  const uint64_t now = ticks();
  if (number != 0)
    record(slot, make_named(now, number, since), Space::kNormal, now);
  else
    g_session.arena->unnamed.fetch_add(1, std::memory_order_relaxed);
}

static __thread char t_text[NameTable::kMaxText + 1] __attribute__((tls_model("initial-exec")));

VPROF_API const char *vprof_text(const char *format, ...) {
  va_list values;
  va_start(values, format);
  vsnprintf(t_text, sizeof t_text, format, values);
  va_end(values);
  return t_text;
}

// Without a look at the time off the CPU: a step says nothing of what its thread does.
VPROF_API void vprof_lock(int step, uint64_t object, int mode, uint64_t owner) {
  if (!attached() || !g_session.lock_events || step < VPROF_LOCK_REQUEST || step > VPROF_LOCK_RELEASE_ALL) return;
  const bool of_all = step == VPROF_LOCK_RELEASE_ALL;
  if (object == 0 && !of_all) return;
  Slot *slot = current_slot();
  if (slot == nullptr) return;
  const uint64_t now = ticks();
  const uint32_t aux = lock_aux(static_cast<uint32_t>(step), mode < 0 ? 0 : mode == 0 ? 1 : 2);
  const Record event[2] = {make_record(Kind::kExtended, now, aux, owner),
                           make_record(Kind::kObject, 0, 0, of_all ? 0 : described_id(object))};
  record(slot, event, 2, Space::kNormal, now);
}

}  // namespace vprof
