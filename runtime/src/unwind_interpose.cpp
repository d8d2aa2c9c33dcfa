// Functions by which a program that makes code at run time registers its unwind tables: with these the unwinder takes a
// lock (wait_stacks.h). Only in libvprof.so: in a static program no stacks are taken at all.
#include "interpose.h"
#include "wait_stacks.h"

namespace vprof {

VPROF_INTERPOSE(void, __register_frame, (void *begin), (begin)) {
  stop_taking_stacks();
  real___register_frame(begin);
}

VPROF_INTERPOSE(void, __register_frame_info, (const void *begin, void *object), (begin, object)) {
  stop_taking_stacks();
  real___register_frame_info(begin, object);
}

VPROF_INTERPOSE(void, __register_frame_table, (void *begin), (begin)) {
  stop_taking_stacks();
  real___register_frame_table(begin);
}

}  // namespace vprof
