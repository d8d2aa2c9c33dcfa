/* numbered: callers that number their calls, with the probes of vprof_prelude.h. Each scenario is one call of a probed
 * function whose calls of leaf() carry the numbers in its comment. */
#include <setjmp.h>
#include <sys/wait.h>
#include <unistd.h>

extern volatile unsigned char __vprof_sw[] __attribute__((visibility("hidden")));
__asm__(
    ".pushsection vprof_switch,\"aw\",@progbits\n.hidden __vprof_sw\n.globl __vprof_sw\n"
    "__vprof_sw: .zero 16\n.popsection\n");
#include "vprof_prelude.h"

enum { LEAF, PLACES, RECURSIVE, JUMPING, FORKING };
#define NOINLINE __attribute__((noinline)) static

NOINLINE void leaf(void) {
  __VPROF_PROBE(LEAF)
  __asm__ volatile("");
}

/* 0 before the first number, 1, 2, again 2, 1023. */
NOINLINE void places(void) {
  __VPROF_PROBE_CALLS(PLACES)
  leaf();
  __VPROF_CALL_NUMBER(1), leaf();
  __VPROF_CALL_NUMBER(2), leaf();
  leaf();
  __VPROF_CALL_NUMBER(1023), leaf();
}

/* Each instance has a number of its own: 1 at each level on the way down, 2 on the way up. */
NOINLINE void recursive(int n) {
  __VPROF_PROBE_CALLS(RECURSIVE)
  if (n > 0) __VPROF_CALL_NUMBER(1), recursive(n - 1);
  __VPROF_CALL_NUMBER(2), leaf();
}

static jmp_buf target;
NOINLINE void left_by_longjmp(void) {
  __VPROF_PROBE_CALLS(JUMPING)
  __VPROF_CALL_NUMBER(77);
  longjmp(target, 1);
}

/* 4 before a callee that numbers and does not return, 0 in one at the same depth afterwards. */
NOINLINE void unnumbered_after_jump(void) {
  __VPROF_PROBE_CALLS(JUMPING)
  leaf();
}
NOINLINE void jumping(void) {
  __VPROF_PROBE_CALLS(JUMPING)
  __VPROF_CALL_NUMBER(4);
  if (setjmp(target) == 0) left_by_longjmp();
  unnumbered_after_jump();
}

/* The child goes on in its parent's frame: the parent's calls keep their own number, 6. */
NOINLINE void forking(void) {
  __VPROF_PROBE_CALLS(FORKING)
  __VPROF_CALL_NUMBER(6);
  const pid_t child = fork();
  if (child == 0) {
    __VPROF_CALL_NUMBER(99), leaf();
    _exit(0);
  }
  waitpid(child, 0, 0);
  leaf();
}

int main(void) {
  leaf();
  places();
  recursive(2);
  jumping();
  forking();
  return 0;
}
