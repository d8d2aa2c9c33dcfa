// What file descriptors stand for, so that both sides of a hand-off name the same object: a descriptor is looked at on
// its first use and known until it is closed. For files that is all that happens.
//
//     pipe, FIFO, POSIX queue   device and inode
//     eventfd                   a number drawn when it is made; copies and forked children share it
//     unix socket               inodes of the two ends (from socketpair, else asked of the kernel by sock_diag)
//     TCP, connected UDP        the addresses of the two ends, by direction
//     listening socket          its port or path: connect hands over to accept
//     signalfd                  the process, as a target of signals (signals.h)
//
// Each object has two sides: `data`, which readers wait for, and `room`, which writers wait for. Releases of
// descriptors always take the time, since those who poll them are not counted as waiters; the system call beside it
// costs more.
//
// Not known: descriptors beyond the first 65,536; eventfds received from another process. A program that restricts its
// system calls (prctl, seccomp) has no more edges of descriptors: looking at them could kill it.
//
// What is remembered may be of another descriptor: some are closed where nobody sees it (inside libc, by direct system
// calls), and processes share what fcntl sets. It decides what is recorded only; what a call does never depends on it.
//
// Thread-safety: any thread, signal handlers; nothing locks or allocates. REQUIRES for all: attached(). errno is kept.
#ifndef VPROF_DESCRIPTORS_H
#define VPROF_DESCRIPTORS_H

#include "sync.h"

namespace vprof {

enum class DescriptorKind : uint32_t {
  kUnknown,     // not looked at yet
  kOther,       // no edges
  kFile,        // nor that: of a file system or a device of blocks
  kStream,      // pipe, eventfd, queue, connected socket
  kListening,   // `in`: who connects
  kSignals,     // `in`: a target of class kSignal
  kLockedFile,  // `in`: the file
};

struct Descriptor {
  DescriptorKind kind;
  bool may_block;  // O_NONBLOCK was not set
  uint64_t in;     // objects; 0: none
  uint64_t out;
};

// `fd` as it is now.
Descriptor descriptor(int fd);

// The same, not looked at now: kUnknown if it never was.
Descriptor known_descriptor(int fd);

// Those that `message` (a msghdr) brought.
void forget_received(const void *message);

void forget_descriptor(int fd);
void forget_descriptors(unsigned first, unsigned last);
void copy_descriptor(int from, int to);
void set_may_block(int fd, bool may_block);

// Just made.
void enter_eventfd(int fd);
void enter_signalfd(int fd);
void enter_pair(int a, int b);

// `fd` holds a lock of its file (flock, fcntl); returns the file.
uint64_t enter_locked_file(int fd);

// Who connects to `address` releases this; 0: not on this machine.
uint64_t listener_at(const void *address, uint32_t size);

inline uint64_t room(uint64_t object) {
  return ~object;
}

// The descriptor is closed or its process ends: whoever waits at the other side sees that.
void release_closed(const Descriptor &d);
void release_all_descriptors();

}  // namespace vprof

#endif
