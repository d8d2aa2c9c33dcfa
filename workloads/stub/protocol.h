/* The little of PostgreSQL's protocol, version 3, that a client needs to send a statement and read a row.
 *
 * Each statement that begins with SELECT gives one row with one column of type int, 1; all others give none.
 */
#ifndef VPROF_STUB_PROTOCOL_H
#define VPROF_STUB_PROTOCOL_H

#include <stdbool.h>
#include <stddef.h>

enum { MESSAGE_BYTES = 8192 };

struct session {
  int descriptor;
  bool selects; /* what was parsed last begins with SELECT */
  char in_transaction;
  char reply[MESSAGE_BYTES]; /* not sent yet */
  size_t reply_bytes;
  /* Called before each execution of a statement that gives a row. */
  void (*before_row)(void *argument);
  void *argument;
};

/* Serves until the client goes away. */
void session_serve(struct session *session);

#endif
