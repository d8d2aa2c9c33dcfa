#include "statements.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"

enum { FIRST_SLOTS = 64 };

static size_t slot_of(const struct statements *statements, const char *address) {
  const uint64_t mixed = (uint64_t)(uintptr_t)address * 0x9e3779b97f4a7c15u;
  size_t slot = (size_t)(mixed >> 32) & (statements->slot_count - 1);
  while (statements->slots[slot] && statements->slots[slot]->address != address) {
    slot = (slot + 1) & (statements->slot_count - 1);
  }
  return slot;
}

/* At most half of the slots are taken, so that each search ends soon. */
static void grow(struct statements *statements) {
  const struct statements old = *statements;
  statements->slot_count = old.slot_count ? 2 * old.slot_count : FIRST_SLOTS;
  statements->slots = allocate(statements->slot_count, sizeof *statements->slots);
  for (size_t i = 0; i < old.slot_count; i++) {
    if (old.slots[i]) statements->slots[slot_of(statements, old.slots[i]->address)] = old.slots[i];
  }
  free(old.slots);
}

static struct statement *make(const char *sql, size_t number) {
  struct statement *statement = allocate(1, sizeof *statement);
  *statement = (struct statement){
      .address = sql, .sql = copy_text(sql), .number = number, .input_count = count_question_marks(sql)};
  return statement;
}

struct statement *statements_find(struct statements *statements, const char *sql) {
  if (2 * (statements->count + 1) > statements->slot_count) grow(statements);
  struct statement **slot = &statements->slots[slot_of(statements, sql)];
  if (!*slot) *slot = make(sql, statements->count++);
  return strcmp((*slot)->sql, sql) == 0 ? *slot : NULL;
}

void statements_free(struct statements *statements, void (*release)(void *prepared)) {
  for (size_t i = 0; i < statements->slot_count; i++) {
    struct statement *statement = statements->slots[i];
    if (!statement) continue;
    if (release && statement->prepared) release(statement->prepared);
    free(statement->sql);
    free(statement);
  }
  free(statements->slots);
  *statements = (struct statements){0};
}

char *text_reserve(struct db_text *text, size_t length) {
  if (text->length + length + 1 > text->capacity) {
    size_t capacity = text->capacity ? text->capacity : 256;
    while (text->length + length + 1 > capacity) capacity *= 2;
    text->bytes = reallocate(text->bytes, capacity);
    text->capacity = capacity;
  }
  return text->bytes + text->length;
}

void text_append(struct db_text *text, const char *bytes, size_t length) {
  memcpy(text_reserve(text, length), bytes, length);
  text->length += length;
  text->bytes[text->length] = 0;
}

void text_free(struct db_text *text) {
  free(text->bytes);
  *text = (struct db_text){0};
}

/* The next question mark that is not quoted, or the 0 at the end. */
static const char *next_question_mark(const char *sql) {
  char quote = 0;
  for (; *sql; sql++) {
    if (quote ? *sql == quote : *sql == '\'' || *sql == '"') {
      quote = quote ? 0 : *sql;
    } else if (*sql == '?' && !quote) {
      break;
    }
  }
  return sql;
}

size_t count_question_marks(const char *sql) {
  size_t count = 0;
  for (sql = next_question_mark(sql); *sql; sql = next_question_mark(sql + 1)) count++;
  return count;
}

void text_append_numbered(struct db_text *text, const char *sql) {
  int number = 0;
  for (;;) {
    const char *mark = next_question_mark(sql);
    text_append(text, sql, (size_t)(mark - sql));
    if (!*mark) return;
    char placeholder[16];
    text_append(text, placeholder, (size_t)snprintf(placeholder, sizeof placeholder, "$%d", ++number));
    sql = mark + 1;
  }
}
