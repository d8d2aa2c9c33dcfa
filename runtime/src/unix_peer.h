// The other end of a connected unix socket, as the kernel tells it (sock_diag(7)).
#ifndef VPROF_UNIX_PEER_H
#define VPROF_UNIX_PEER_H

#include <cstdint>

namespace vprof {

// The inode of the peer of the socket with this inode; 0: it has none yet, or the kernel does not tell. Opens a socket
// for the time of the question. Changes errno.
uint64_t unix_peer(uint32_t inode);

}  // namespace vprof

#endif
