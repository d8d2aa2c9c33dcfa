/* log_file.h: one file of the log, written at its end. A mistake of the file system ends the program with one line: a
 * log that cannot be written can promise nothing. */
#ifndef MINIDB_LOG_FILE_H
#define MINIDB_LOG_FILE_H

#include <stddef.h>
#include <stdint.h>

enum { MAX_LOGS = 16 };

struct log_file {
  int descriptor;
  uint64_t end; /* bytes */
};

/* FOLDER/log.NUMBER, made if it is not there. */
struct log_file log_file_open(const char *folder, size_t number);
void log_file_close(struct log_file *file);

/* All of its bytes, to be given to release(). */
uint8_t *log_file_read(const struct log_file *file);

/* Cuts the file off, and fills it up to `padded` with zeros. */
void log_file_cut(struct log_file *file, uint64_t end, uint64_t padded);

/* Returns when the bytes are durable. One thread at a time. */
void log_file_write(struct log_file *file, const uint8_t *bytes, size_t length);

#endif
