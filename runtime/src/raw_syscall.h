// A system call as syscall(2) of the C library makes it, but found without the dynamic linker: a malloc that replaces
// libc's may map memory while the linker looks up a symbol.
#ifndef VPROF_RAW_SYSCALL_H
#define VPROF_RAW_SYSCALL_H

// -1 with errno set if it fails. Seven arguments in their places, whatever their types.
extern "C" __attribute__((visibility("hidden"))) long vprof_raw_syscall(long number, ...);

#endif
