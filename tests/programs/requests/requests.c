/* A single-threaded "server": 400 requests, or as many as its argument says; only transform's work varies (1 to 16
 * blocks), parse and reply are constant. With -DWAITS it waits so long instead: who else is on the machine changes a
 * wait far less than work. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#ifndef WAITS
#define WAITS 0
#endif

static volatile uint64_t sink;

static void spin(unsigned units) {
  for (unsigned i = 0; i < units * 100000; i++) sink += i;
}

static void parse(void) {
  for (unsigned field = 0; field < 3; field++) spin(1);
}

static void transform(unsigned request) {
  if (WAITS) usleep(1000 * (request % 16));
  for (unsigned block = 0; !WAITS && block <= request % 16; block++) spin(2);
}

static void reply(void) {
  for (unsigned part = 0; part < 2; part++) spin(1);
}

void handle_request(unsigned request) {
  parse();
  transform(request);
  reply();
}

int main(int argc, char **argv) {
  unsigned requests = argc > 1 ? (unsigned)atol(argv[1]) : 400;
  for (unsigned request = 0; request < requests; request++) handle_request(request * 2654435761u >> 16);
  printf("%d\n", sink != 0);
  return 0;
}
