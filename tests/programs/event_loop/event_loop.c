// A server with one event loop, whose clients answer each request's question before it is done. The planted cause:
// every 16th request refreshes the quota, which takes 8 ms, and every other request that is open then waits for it,
// too.
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "vprof/vprof.h"

enum { CLIENTS = 4, REFRESH_EVERY = 16 };

static uint64_t open_request[1024];  // by descriptor; 0: none
static uint64_t requests;

static void fail(const char *what) {
  perror(what);
  _exit(1);
}

static void refresh_quota(void) {
  usleep(8000);
}

static void send_answer(int client, char answer) {
  if (write(client, &answer, 1) != 1) fail("write");
}

static void begin_request(int client) {
  const uint64_t id = ++requests;
  open_request[client] = id;
  vprof_interval_begin(id, "request");
  if (id % REFRESH_EVERY == 0) refresh_quota();
  send_answer(client, '?');
  vprof_on_behalf(0);
}

static void finish_request(int client) {
  const uint64_t id = open_request[client];
  vprof_on_behalf(id);
  send_answer(client, '.');
  vprof_interval_end(id);
  open_request[client] = 0;
}

// False: the client has gone.
static int handle_event(int client) {
  char byte;
  if (read(client, &byte, 1) != 1) return 0;
  if (open_request[client] == 0)
    begin_request(client);
  else
    finish_request(client);
  return 1;
}

static void loop(int poller) {
  for (int left = CLIENTS; left > 0;) {
    struct epoll_event events[CLIENTS];
    const int count = epoll_wait(poller, events, CLIENTS, -1);
    if (count < 0 && errno != EINTR) fail("epoll_wait");
    for (int i = 0; i < count; ++i) {
      if (handle_event(events[i].data.fd)) continue;
      close(events[i].data.fd);
      --left;
    }
  }
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  strncpy(address.sun_path, argv[1], sizeof address.sun_path - 1);
  const int listener = socket(AF_UNIX, SOCK_STREAM, 0);
  const int poller = epoll_create1(0);
  if (listener < 0 || poller < 0) fail("socket");
  if (bind(listener, (struct sockaddr *)&address, sizeof address) != 0 || listen(listener, CLIENTS) != 0) fail("bind");
  for (int i = 0; i < CLIENTS; ++i) {
    const int client = accept(listener, NULL, NULL);
    if (client < 0) fail("accept");
    struct epoll_event event = {.events = EPOLLIN, .data.fd = client};
    if (epoll_ctl(poller, EPOLL_CTL_ADD, client, &event) != 0) fail("epoll_ctl");
  }
  loop(poller);
  return 0;
}
