// Whether the calling thread is a child of vfork (vfork_interpose.S): it runs in its parent's memory, but has another
// number and descriptors of its own.
#ifndef VPROF_VFORK_H
#define VPROF_VFORK_H

#include <cstdint>

extern "C" __attribute__((visibility("hidden"), tls_model("initial-exec"))) __thread uint32_t vprof_in_vfork_child;

#endif
