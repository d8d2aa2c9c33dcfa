/* The prepared statements of one connection, found by the address of their text; and text that grows. */
#ifndef VPROF_DB_STATEMENTS_H
#define VPROF_DB_STATEMENTS_H

#include <stddef.h>

struct statement {
  const char *address; /* of the literal */
  char *sql;           /* a copy of it */
  size_t number;       /* 0, 1, ... in order of first use */
  size_t input_count;  /* its question marks */
  void *prepared;      /* of the client library; NULL: not yet */
};

struct statements {
  struct statement **slots; /* a power of two of them, open addressing */
  size_t slot_count;
  size_t count;
};

/* The statement at this address, made if there is none. NULL: another text had this address. */
struct statement *statements_find(struct statements *statements, const char *sql);
/* `release` frees what was prepared; NULL if nothing needs to be. */
void statements_free(struct statements *statements, void (*release)(void *prepared));

/* Text that grows; never shrinks, so that a loop does not allocate. */
struct db_text {
  char *bytes; /* ended by 0 */
  size_t length;
  size_t capacity;
};

void text_append(struct db_text *text, const char *bytes, size_t length);
/* Room for `length` more bytes; returns where they go. The caller raises text->length. */
char *text_reserve(struct db_text *text, size_t length);
void text_free(struct db_text *text);

/* Question marks outside of quotes as $1, $2, ...: what PostgreSQL wants. */
void text_append_numbered(struct db_text *text, const char *sql);
size_t count_question_marks(const char *sql);

#endif
