#include "protocol.h"

#include <arpa/inet.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CODE_VERSION_3 = 196608, CODE_SSL = 80877103, CODE_GSS = 80877104, TYPE_INT4 = 23 };

static bool read_all(int descriptor, void *bytes, size_t size) {
  for (size_t done = 0; done < size;) {
    const ssize_t got = read(descriptor, (char *)bytes + done, size - done);
    if (got <= 0) return false;
    done += (size_t)got;
  }
  return true;
}

/* The body of a message, after its length, which counts itself. Ended by 0. Longer ones end the session. */
static bool read_body(int descriptor, char *body) {
  uint32_t length;
  if (!read_all(descriptor, &length, sizeof length)) return false;
  length = ntohl(length) - (uint32_t)sizeof length;
  if (length >= MESSAGE_BYTES) return false;
  body[length] = 0;
  return read_all(descriptor, body, length);
}

static bool send_reply(struct session *session) {
  const ssize_t sent = send(session->descriptor, session->reply, session->reply_bytes, MSG_NOSIGNAL);
  const bool all = sent == (ssize_t)session->reply_bytes;
  session->reply_bytes = 0;
  return all;
}

static void put(struct session *session, const void *bytes, size_t size) {
  if (session->reply_bytes + size > sizeof session->reply) return; /* no answers of ours are as long */
  memcpy(session->reply + session->reply_bytes, bytes, size);
  session->reply_bytes += size;
}

static void put_message(struct session *session, char type, const void *body, size_t size) {
  const uint32_t length = htonl((uint32_t)(size + sizeof length));
  put(session, &type, 1);
  put(session, &length, sizeof length);
  put(session, body, size);
}

static void put_parameter(struct session *session, const char *name, const char *value) {
  char body[128];
  const size_t first = strlen(name) + 1, second = strlen(value) + 1;
  memcpy(body, name, first);
  memcpy(body + first, value, second);
  put_message(session, 'S', body, first + second);
}

static void put_row_description(struct session *session) {
  static const char one_int4[] = {0,   1,                          /* one column */
                                  'o', 'n', 'e', 0,                /* its name */
                                  0,   0,   0,   0,         0, 0,  /* of no table */
                                  0,   0,   0,   TYPE_INT4, 0, 4,  /* type and size */
                                  -1,  -1,  -1,  -1,        0, 0}; /* no modifier; text */
  put_message(session, 'T', one_int4, sizeof one_int4);
}

static void put_row(struct session *session) {
  static const char one[] = {0, 1, 0, 0, 0, 1, '1'};
  session->before_row(session->argument);
  put_message(session, 'D', one, sizeof one);
}

static void put_complete(struct session *session, const char *tag) {
  put_message(session, 'C', tag, strlen(tag) + 1);
}

static void put_ready(struct session *session) {
  put_message(session, 'Z', &session->in_transaction, 1);
}

static bool is_select(const char *sql) {
  return strncasecmp(sql, "SELECT", 6) == 0;
}

static void answer_query(struct session *session, const char *sql) {
  if (strncasecmp(sql, "BEGIN", 5) == 0) session->in_transaction = 'T';
  if (strncasecmp(sql, "COMMIT", 6) == 0 || strncasecmp(sql, "ROLLBACK", 8) == 0) session->in_transaction = 'I';
  if (is_select(sql)) {
    put_row_description(session);
    put_row(session);
    put_complete(session, "SELECT 1");
  } else {
    put_complete(session, "SET");
  }
  put_ready(session);
}

static void answer_describe(struct session *session, char what) {
  static const char no_parameters[] = {0, 0};
  if (what == 'S') put_message(session, 't', no_parameters, sizeof no_parameters);
  if (session->selects) {
    put_row_description(session);
  } else {
    put_message(session, 'n', "", 0);
  }
}

static void answer_execute(struct session *session) {
  if (session->selects) put_row(session);
  put_complete(session, session->selects ? "SELECT 1" : "SET");
}

/* false: the client has said goodbye, or something that is not understood here. */
static bool answer(struct session *session, char type, const char *body) {
  switch (type) {
    case 'Q':
      answer_query(session, body);
      return send_reply(session);
    case 'P':
      session->selects = is_select(body + strlen(body) + 1); /* after the statement's name */
      put_message(session, '1', "", 0);
      return true;
    case 'B':
      put_message(session, '2', "", 0);
      return true;
    case 'D':
      answer_describe(session, *body);
      return true;
    case 'E':
      answer_execute(session);
      return true;
    case 'C':
      put_message(session, '3', "", 0);
      return true;
    case 'S':
      put_ready(session);
      return send_reply(session);
    case 'H':
      return send_reply(session);
    default:
      return false;
  }
}

static bool greet(struct session *session) {
  static const char ok[4] = {0}, key[8] = {0};
  put_message(session, 'R', ok, sizeof ok);
  put_parameter(session, "server_version", "15.0 (vprof-load-stub)");
  put_parameter(session, "server_encoding", "UTF8");
  put_parameter(session, "client_encoding", "UTF8");
  put_parameter(session, "standard_conforming_strings", "on");
  put_message(session, 'K', key, sizeof key);
  put_ready(session);
  return send_reply(session);
}

/* Encryption is declined, as often as it is asked for. */
static bool start(struct session *session) {
  char body[MESSAGE_BYTES];
  while (read_body(session->descriptor, body)) {
    uint32_t code;
    memcpy(&code, body, sizeof code);
    code = ntohl(code);
    if (code == CODE_VERSION_3) return greet(session);
    if (code != CODE_SSL && code != CODE_GSS) return false;
    if (send(session->descriptor, "N", 1, MSG_NOSIGNAL) != 1) return false;
  }
  return false;
}

void session_serve(struct session *session) {
  char type, body[MESSAGE_BYTES];
  session->in_transaction = 'I';
  if (!start(session)) return;
  while (read_all(session->descriptor, &type, 1) && read_body(session->descriptor, body)) {
    if (!answer(session, type, body)) return;
  }
}
