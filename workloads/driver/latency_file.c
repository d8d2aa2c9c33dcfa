#include "latency_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char lateness_name[] = "[lateness]";

struct header {
  char magic[8];
  uint32_t version;
  uint32_t record_bytes;
  uint32_t type_count;
  uint32_t name_bytes;
  int64_t begin_ns;
};
_Static_assert(sizeof(struct header) == 32, "as README.md says");

/* A block that is cut off by an error is cut again, after its last whole record. */
static void note_error(struct latency_file *file, int error, int64_t begun_bytes) {
  const int64_t whole = begun_bytes / (int64_t)sizeof(struct latency_record) * (int64_t)sizeof(struct latency_record);
  atomic_store(&file->error, error);
  if (ftruncate(file->descriptor, file->written_bytes + whole) != 0) return; /* a reader leaves the rest out, too */
}

/* With the mutex. */
static void write_all(struct latency_file *file, const void *bytes, size_t size) {
  size_t done = 0;
  while (done < size && !atomic_load(&file->error)) {
    const ssize_t written = write(file->descriptor, (const char *)bytes + done, size - done);
    if (written > 0) {
      done += (size_t)written;
    } else if (written == 0 || errno != EINTR) {
      note_error(file, written == 0 ? EIO : errno, (int64_t)done);
    }
  }
  if (done == size) file->written_bytes += (int64_t)size;
}

static size_t append_name(char *names, size_t used, const char *name) {
  const size_t size = strlen(name) + 1;
  memcpy(names + used, name, size);
  return used + size;
}

static void write_header(struct latency_file *file, const struct workload *workload, int64_t begin_ns) {
  char names[4096] = {0};
  size_t used = 0;
  for (size_t i = 0; i < workload->type_count; i++) used = append_name(names, used, workload->types[i].name);
  used = append_name(names, used, lateness_name);
  used = (used + 7) / 8 * 8;
  const struct header header = {.magic = {'V', 'P', 'R', 'O', 'F', 'L', 'A', 'T'},
                                .version = 1,
                                .record_bytes = sizeof(struct latency_record),
                                .type_count = (uint32_t)workload->type_count + 1,
                                .name_bytes = (uint32_t)used,
                                .begin_ns = begin_ns};
  write_all(file, &header, sizeof header);
  write_all(file, names, used);
}

int latency_file_open(struct latency_file *file, const char *path) {
  *file = (struct latency_file){.mutex = PTHREAD_MUTEX_INITIALIZER};
  file->descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file->descriptor < 0) return errno;
  pthread_mutex_lock(&file->mutex);
  return 0;
}

void latency_file_begin(struct latency_file *file, const struct workload *workload, int64_t begin_ns) {
  write_header(file, workload, begin_ns);
  pthread_mutex_unlock(&file->mutex);
}

void latency_file_add(struct latency_file *file, struct latency_block *block, const struct latency_record *record) {
  block->records[block->count++] = *record;
  if (block->count == RECORDS_PER_BLOCK) latency_file_flush(file, block);
}

void latency_file_flush(struct latency_file *file, struct latency_block *block) {
  if (!block->count) return;
  pthread_mutex_lock(&file->mutex);
  write_all(file, block->records, block->count * sizeof *block->records);
  pthread_mutex_unlock(&file->mutex);
  block->count = 0;
}

int latency_file_close(struct latency_file *file) {
  if (close(file->descriptor) != 0 && !atomic_load(&file->error)) atomic_store(&file->error, errno);
  return atomic_load(&file->error);
}
