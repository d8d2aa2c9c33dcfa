#include "control.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace vprof {

constexpr size_t kMaxLine = 1 << 20;  // a plan of many ranges

Control::~Control() {
  for (const Client &client : clients_) close(client.fd);
  if (listener_ >= 0) close(listener_);
}

// Made with its mode, in the folder itself: no path is looked up again.
std::string Control::listen(int folder, const std::string &path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return "the session directory's path is too long for a socket: " + path;
  snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/control", folder);
  listener_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const mode_t before = umask(0177);
  const bool bound = listener_ >= 0 && bind(listener_, reinterpret_cast<sockaddr *>(&address), sizeof address) == 0;
  const int error = errno;
  umask(before);
  if (bound && ::listen(listener_, 8) == 0) return "";
  return "cannot listen on " + path + ": " + strerror(bound ? errno : error);
}

static bool may_ask(int client) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return getsockopt(client, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && (peer.uid == geteuid() || peer.uid == 0);
}

void Control::accept_client() {
  const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
  if (fd < 0) return;
  if (!may_ask(fd)) {
    close(fd);
    return;
  }
  const timeval patience = {1, 0};  // a client that does not read must not stop the draining
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  clients_.push_back({fd, ""});
}

bool Control::answer_lines(Client &client) {
  for (size_t end; (end = client.input.find('\n')) != std::string::npos;) {
    const std::string reply = handler_(client.input.substr(0, end)) + "\n";
    client.input.erase(0, end + 1);
    for (size_t sent = 0; sent < reply.size();) {
      const ssize_t n = send(client.fd, reply.data() + sent, reply.size() - sent, MSG_NOSIGNAL);
      if (n <= 0) return false;
      sent += static_cast<size_t>(n);
    }
  }
  return client.input.size() <= kMaxLine;
}

bool Control::read_client(Client &client) {
  char buffer[1 << 16];
  const ssize_t n = recv(client.fd, buffer, sizeof buffer, MSG_DONTWAIT);
  if (n < 0) return errno == EAGAIN || errno == EINTR;
  if (n == 0) return false;
  client.input.append(buffer, static_cast<size_t>(n));
  return answer_lines(client);
}

void Control::serve(long wait_ns, const sigset_t *mask) {
  std::vector<pollfd> polled = {{listener_, POLLIN, 0}};
  for (const Client &client : clients_) polled.push_back({client.fd, POLLIN, 0});
  const timespec wait = {0, wait_ns};
  if (ppoll(polled.data(), polled.size(), &wait, mask) <= 0) return;
  std::vector<Client> stay;
  for (size_t i = 1; i < polled.size(); ++i) {
    Client &client = clients_[i - 1];
    if (polled[i].revents == 0 || read_client(client))
      stay.push_back(std::move(client));
    else
      close(client.fd);
  }
  clients_ = std::move(stay);
  if (polled[0].revents != 0) accept_client();
}

}  // namespace vprof
