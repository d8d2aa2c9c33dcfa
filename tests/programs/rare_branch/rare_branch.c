/* A "server" of 400 requests, or as many as its argument says. One request in 40 goes through slow_decode, which burns
 * what makes it slow by the same function as the constant parts: only the way there tells them apart. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "helper.h"

static void parse_header(void) {
  burn(1);
}
static void render(void) {
  burn(5);
}
static void slow_decode(void) {
  burn(1000);
}

static void decode(unsigned request) {
  burn(1);
  if ((request * 2654435761u >> 7) % 40 == 0) slow_decode();
}

void handle_request(unsigned request) {
  parse_header();
  render();
  decode(request);
}

int main(int argc, char **argv) {
  unsigned requests = argc > 1 ? (unsigned)atol(argv[1]) : 400;
  for (unsigned request = 0; request < requests; request++) handle_request(request);
  puts("done");
  return 0;
}
