/* vprof.h: annotations for programs that are profiled by vprof.
 *
 * Most programs need none of this: a target descriptor (annotations/README.md) makes vprof-cc insert these calls.
 * Every function is safe to call from any thread and from signal handlers, never blocks, never allocates after a
 * thread's first call, keeps errno, and does nothing but test one flag when no session is attached (VPROF_SESSION
 * unset). Link with vprof-cc, whose programs start where there is no libvprof, or with -lvprof.
 */
#ifndef VPROF_VPROF_H
#define VPROF_VPROF_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Begins the semantic interval `id` on the calling thread, which works on its behalf from here on. No other open
 * interval of any process may have this id; 0 is no interval: begin, end and abort of 0 do nothing. `type` is a short
 * label such as "new_order", or NULL; at most 2047 different labels of at most 63 bytes are kept, later ones count as
 * NULL. */
void vprof_interval_begin(uint64_t id, const char *type);

/* As vprof_interval_begin, for a request that was created at `created_ns` of `clock` (CLOCK_REALTIME or CLOCK_MONOTONIC
 * of time.h, in nanoseconds) and has waited since then: that time belongs to the interval, as `[queue]`. 0, a time to
 * come and one of more than an hour ago are not believed: the interval begins now, and the analyzer says how many. */
void vprof_interval_begin_created(uint64_t id, const char *type, uint64_t created_ns, int clock);

/* Ends interval `id`, on any thread of any process. The calling thread works on behalf of no interval from here on. */
void vprof_interval_end(uint64_t id);

/* As vprof_interval_end, for an interval whose type is known only now: `type`, unless NULL, replaces that of its
 * begin. */
void vprof_interval_end_typed(uint64_t id, const char *type);

/* As vprof_interval_end, for work that was given up: the interval is counted, not analyzed. */
void vprof_interval_abort(uint64_t id);

/* The calling thread works on behalf of interval `id` (0: of none) until it says otherwise. */
void vprof_on_behalf(uint64_t id);

/* A task is handed over: `task` names it between enqueue and dequeue, as `object` below names a primitive. The next
 * vprof_on_behalf or vprof_interval_begin of the dequeuing thread takes the created-by edge. */
void vprof_enqueue(uint64_t task);
void vprof_dequeue(uint64_t task);

/* A synchronization primitive of the program itself. Call `wait_begin` before an acquire that may block and `wait_end`
 * when it has succeeded; call `wake` where the object is released or signalled, before the real release and `wake_done`
 * after it. A wait during which nobody called wake leaves no record. `object` names the primitive: its address, which
 * may lie in memory shared by processes, at a different address in each. A number that is no address (below 2^16, or
 * from 2^47 on) names the same object in all processes. */
void vprof_wait_begin(uint64_t object);
void vprof_wait_end(uint64_t object);
void vprof_wake(uint64_t object);
void vprof_wake_done(uint64_t object);

/* What the calling thread has waited for, in the program's own words. Of whatever kind the wait was: it is one of those
 * that leave a record, in a call between vprof_waits and vprof_unnamed_since.
 *
 *     uint64_t before = vprof_waits();
 *     sem_wait(&lock->semaphore);
 *     if (vprof_unnamed_since(before)) vprof_name_waits(before, vprof_text("row %u", lock->row));
 *
 * vprof_waits: how many waits of the thread have left a record. vprof_unnamed_since: whether there are any since then
 * that have no name; if nobody waited it says 0, so no name is made. vprof_name_waits gives them one, at most the 8
 * latest; NULL is none: callers may have one for them. At most 16383 different names of at most 63 bytes are kept.
 * vprof_text: a text for it, as by printf, which the thread's next call of it overwrites. */
uint64_t vprof_waits(void);
int vprof_unnamed_since(uint64_t waits);
void vprof_name_waits(uint64_t waits, const char *name);
const char *vprof_text(const char *format, ...) __attribute__((__format__(__printf__, 1, 2)));

/* A step of a logical lock, one that a transaction has for itself until it releases it, as of a row. Recorded only
 * while the session wants it (vprof record --locks), also where nobody waits. `object` names what is locked, as above;
 * 0 is nothing (it does not matter for VPROF_LOCK_RELEASE_ALL). `mode`: 0 shared, 1 exclusive, -1 for steps other than
 * a request that do not say. `owner`: the interval that it is for; 0: the one that the calling thread works for. */
enum vprof_lock_step { VPROF_LOCK_REQUEST, VPROF_LOCK_GRANT, VPROF_LOCK_RELEASE, VPROF_LOCK_RELEASE_ALL };
void vprof_lock(int step, uint64_t object, int mode, uint64_t owner);

#ifdef __cplusplus
}
#endif
#endif
