// The control socket: lines in, one JSON object each out (SESSION.md "Control protocol").
//
// Only our own user and root are answered: a request names files that we write.
#ifndef VPROF_CONTROL_H
#define VPROF_CONTROL_H

#include <poll.h>

#include <functional>
#include <string>
#include <vector>

namespace vprof {

class Control {
 public:
  using Handler = std::function<std::string(const std::string &line)>;

  explicit Control(Handler handler) : handler_(std::move(handler)) {}
  Control(const Control &) = delete;
  Control &operator=(const Control &) = delete;
  ~Control();

  // Listens on a unix socket `control` (0600) in `folder`, a descriptor; clients reach it by `path`. Returns "" or what
  // failed.
  std::string listen(int folder, const std::string &path);

  // Serves what has arrived; waits at most `wait_ns` for it, or until a signal that `mask` lets through.
  void serve(long wait_ns, const sigset_t *mask);

 private:
  struct Client {
    int fd;
    std::string input;
  };

  void accept_client();
  bool read_client(Client &client);  // false: gone
  bool answer_lines(Client &client);

  Handler handler_;
  int listener_ = -1;
  std::vector<Client> clients_;
};

}  // namespace vprof

#endif
