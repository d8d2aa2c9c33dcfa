// The system calls of Linux's asynchronous I/O, made by syscall(2): by libaio, and by programs themselves.
#ifndef VPROF_AIO_CALLS_H
#define VPROF_AIO_CALLS_H

#include <sys/syscall.h>

namespace vprof {

inline bool is_aio_call(long number) {
  return number == SYS_io_submit || number == SYS_io_getevents || number == SYS_io_pgetevents;
}

// Makes one of these calls. REQUIRES: attached().
long aio_call(long number, long context, long b, long c, long d, long e, long f);

}  // namespace vprof

#endif
