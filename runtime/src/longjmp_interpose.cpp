// longjmp and its kin: the C library's functions, wrapped to close the frames and waits that a jump leaves, or to
// follow it to another stack (fibers.h).
//
// Without this the next calls may seem to be made inside such a frame: where a function keeps its frame variable is
// the compiler's choice, so the address alone does not tell a callee from a sibling that was left (shadow_stack.h). A
// frame inlined into the function that called setjmp stays open until that function returns: it lies in its stack.
//
// Not seen: __builtin_longjmp, a jump of another library's own. Then shadow_stack.h's two rules hold alone.
#include <setjmp.h>

#include "fibers.h"
#include "interpose.h"
#include "jump_buffer.h"

namespace vprof {

static void close_left(const jmp_buf buffer) {
  go_to(target_stack_pointer(buffer));
}

VPROF_INTERPOSE(void, longjmp, (jmp_buf buffer, int value), (buffer, value)) {
  close_left(buffer);
  real_longjmp(buffer, value);
}

VPROF_INTERPOSE(void, _longjmp, (jmp_buf buffer, int value), (buffer, value)) {
  close_left(buffer);
  real__longjmp(buffer, value);
}

VPROF_INTERPOSE(void, siglongjmp, (sigjmp_buf buffer, int value), (buffer, value)) {
  close_left(buffer);
  real_siglongjmp(buffer, value);
}

VPROF_INTERPOSE(void, __longjmp_chk, (jmp_buf buffer, int value), (buffer, value)) {
  close_left(buffer);
  real___longjmp_chk(buffer, value);
}

}  // namespace vprof
