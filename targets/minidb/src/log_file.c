#include "log_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "memory.h"

/* `name`: NULL if it is not known any more. */
static void check(int failed, const char *what, const char *name) {
  if (!failed) return;
  fprintf(stderr, "minidb: cannot %s the log%s%s: %s\n", what, name ? " " : "", name ? name : "", strerror(errno));
  exit(1);
}

struct log_file log_file_open(const char *folder, size_t number) {
  char name[4096];
  snprintf(name, sizeof name, "%s/log.%zu", folder, number);
  int descriptor = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  check(descriptor < 0, "open", name);
  off_t end = lseek(descriptor, 0, SEEK_END);
  check(end < 0, "read", name);
  return (struct log_file){descriptor, (uint64_t)end};
}

void log_file_close(struct log_file *file) {
  close(file->descriptor);
}

uint8_t *log_file_read(const struct log_file *file) {
  uint8_t *bytes = allocate(file->end + 1, 1);
  for (uint64_t have = 0; have < file->end;) {
    ssize_t got = pread(file->descriptor, bytes + have, file->end - have, (off_t)have);
    check(got <= 0, "read", NULL);
    have += (uint64_t)got;
  }
  return bytes;
}

void log_file_cut(struct log_file *file, uint64_t end, uint64_t padded) {
  check(ftruncate(file->descriptor, (off_t)end), "cut", NULL);
  check(ftruncate(file->descriptor, (off_t)padded), "pad", NULL);
  file->end = padded;
}

void log_file_write(struct log_file *file, const uint8_t *bytes, size_t length) {
  for (size_t done = 0; done < length;) {
    ssize_t put = pwrite(file->descriptor, bytes + done, length - done, (off_t)(file->end + done));
    check(put < 0, "write", NULL);
    done += (size_t)put;
  }
  check(fdatasync(file->descriptor), "write", NULL);
  file->end += length;
}
