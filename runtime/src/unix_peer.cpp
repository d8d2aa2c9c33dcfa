#include "unix_peer.h"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "raw_syscall.h"

namespace vprof {

struct Question {
  nlmsghdr header;
  unix_diag_req request;
};

static bool ask(long netlink, uint32_t inode) {
  Question q = {};
  q.header.nlmsg_len = sizeof q;
  q.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  q.header.nlmsg_flags = NLM_F_REQUEST;
  q.request.sdiag_family = AF_UNIX;
  q.request.udiag_states = ~0u;
  q.request.udiag_ino = inode;
  q.request.udiag_show = UDIAG_SHOW_PEER;
  q.request.udiag_cookie[0] = q.request.udiag_cookie[1] = ~0u;  // any
  return vprof_raw_syscall(SYS_sendto, netlink, &q, sizeof q, 0l, nullptr, 0l) == static_cast<ssize_t>(sizeof q);
}

static uint64_t read_answer(long netlink) {
  alignas(nlmsghdr) char answer[512];
  const ssize_t size = vprof_raw_syscall(SYS_recvfrom, netlink, answer, sizeof answer, long{MSG_DONTWAIT}, nullptr,
                                         nullptr);  // the kernel has answered within send
  const auto *header = reinterpret_cast<const nlmsghdr *>(answer);
  if (size < static_cast<ssize_t>(NLMSG_LENGTH(sizeof(unix_diag_msg))) || header->nlmsg_type != SOCK_DIAG_BY_FAMILY)
    return 0;
  const char *end = answer + size;
  const char *at = answer + NLMSG_LENGTH(sizeof(unix_diag_msg));
  while (at + sizeof(rtattr) + 4 <= end) {
    rtattr attribute;
    memcpy(&attribute, at, sizeof attribute);
    if (attribute.rta_type == UNIX_DIAG_PEER && attribute.rta_len >= RTA_LENGTH(4)) {
      uint32_t peer;
      memcpy(&peer, at + RTA_LENGTH(0), 4);
      return peer;
    }
    if (attribute.rta_len < sizeof attribute) return 0;
    at += RTA_ALIGN(attribute.rta_len);
  }
  return 0;
}

uint64_t unix_peer(uint32_t inode) {
  const long netlink =
      vprof_raw_syscall(SYS_socket, long{AF_NETLINK}, long{SOCK_RAW | SOCK_CLOEXEC}, long{NETLINK_SOCK_DIAG});
  if (netlink < 0) return 0;
  const uint64_t peer = ask(netlink, inode) ? read_answer(netlink) : 0;
  vprof_raw_syscall(SYS_close, netlink);
  return peer;
}

}  // namespace vprof
