/* A runtime for tests of the rewriter: switches every probe on and prints what it is called with, indented by depth.
 * Linked into a program, it takes the place of libvprof. */
#include <stdarg.h>
#include <stdio.h>

#include "entries.h"

enum { MAX_DEPTH = 64 };
static void *frames[MAX_DEPTH];
static unsigned short call_numbers[MAX_DEPTH];
static int depth;

void __vprof_register(unsigned char *start, unsigned char *stop) {
  enum { HEADER = 64, LOCKS = 12 };
  start[LOCKS] = 1;
  for (unsigned char *byte = start + HEADER; byte < stop; ++byte) *byte = 1;
}

static void print(const char *what, unsigned long long value) {
  fprintf(stderr, "%*s%s %llu\n", 2 * depth, "", what, value);
}

/* As the real runtime: frames below the new one on the stack were abandoned (longjmp). */
unsigned short *__vprof_enter(uint32_t site, void *frame CALLER_STACK_POINTER) {
  while (depth > 0 && IS_DEAD(frames[depth - 1], frame)) --depth;
  print("site", site);
  frames[depth] = frame;
  call_numbers[depth] = 0;
  return &call_numbers[depth++];
}

void __vprof_leave(void *frame) {
  int open = depth;
  while (open > 0 && frames[open - 1] != frame) --open;
  if (open > 0)
    depth = open - 1;
  else
    fputs("unpaired leave\n", stderr);
}

void vprof_interval_begin(uint64_t id, const char *type) {
  fprintf(stderr, "%*sbegin %llu %s\n", 2 * depth, "", (unsigned long long)id, type ? type : "-");
}

void vprof_interval_begin_created(uint64_t id, const char *type, uint64_t created_ns, int clock) {
  fprintf(stderr, "%*sbegin %llu %s created at %llu of clock %d\n", 2 * depth, "", (unsigned long long)id,
          type ? type : "-", (unsigned long long)created_ns, clock);
}

void vprof_interval_end_typed(uint64_t id, const char *type) {
  fprintf(stderr, "%*send %llu %s\n", 2 * depth, "", (unsigned long long)id, type ? type : "-");
}

/* A program under test counts its waits itself. */
unsigned long vprof_test_waits;

uint64_t vprof_waits(void) {
  return vprof_test_waits;
}

int vprof_unnamed_since(uint64_t waits) {
  return vprof_test_waits > waits;
}

void vprof_name_waits(uint64_t waits, const char *name) {
  fprintf(stderr, "%*sname %llu %s\n", 2 * depth, "", (unsigned long long)waits, name ? name : "-");
}

const char *vprof_text(const char *format, ...) {
  static char text[64];
  va_list values;
  va_start(values, format);
  vsnprintf(text, sizeof text, format, values);
  va_end(values);
  return text;
}

void vprof_lock(int step, uint64_t object, int mode, uint64_t owner) {
  static const char *const names[] = {"request", "grant", "release", "release all"};
  fprintf(stderr, "%*s%s %llu mode %d of %llu\n", 2 * depth, "", names[step], (unsigned long long)object, mode,
          (unsigned long long)owner);
}

#define PRINTS(name)                  \
  void vprof_##name(uint64_t value) { \
    print(#name, value);              \
  }
PRINTS(interval_end)
PRINTS(interval_abort)
PRINTS(on_behalf)
PRINTS(enqueue)
PRINTS(dequeue)
PRINTS(wait_begin)
PRINTS(wait_end)
PRINTS(wake)
PRINTS(wake_done)
