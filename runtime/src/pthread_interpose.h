// The C library's own versions of the functions that pthread_interpose.cpp replaces.
#ifndef VPROF_PTHREAD_INTERPOSE_H
#define VPROF_PTHREAD_INTERPOSE_H

namespace vprof {

// Looks all of them up. Called once by the library's constructor, or earlier by the first replaced function that runs.
void resolve_real_functions();

}  // namespace vprof

#endif
