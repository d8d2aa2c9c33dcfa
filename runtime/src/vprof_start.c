/* Linked by vprof-cc into programs, not into libraries: a program that does not ask for libvprof starts anywhere, and
 * is given it where there is a session.
 *
 *     exec --> dynamic linker --> find_runtime() --no session, no libvprof found--> the program, dormant
 *                                      |
 *                                      +--> exec of itself, libvprof in LD_PRELOAD --> dynamic linker --> libvprof
 *                                           and the program, LD_PRELOAD as it was before
 *
 * Only the dynamic linker can put libvprof before the C library in lookup order, and only while a program starts: hence
 * exec. It happens before anything else of the process has run, constructors of libraries included, so nothing is lost
 * or done twice; number, files and signals of the process stay. Children inherit LD_PRELOAD as it was: those that were
 * built by vprof-cc find libvprof as their parent did, and others stay without.
 *
 * System calls are made by number: the C library's functions for them may be the program's own. */
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

extern ElfW(Dyn) _DYNAMIC[] __attribute__((visibility("hidden")));
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern void __vprof_register(unsigned char *start, unsigned char *stop) __attribute__((weak));

/* Says to `vprof` that a program needs nobody to bring libvprof (analyzer/vprof/program/runtime_link.py). */
__attribute__((section("vprof_start"), used, retain)) static const char mark[] = "vprof-start/1";

#define LIBRARY "/libvprof.so"
/* What ends LD_PRELOAD in the second start: names without a letter, which the dynamic linker passes over. */
#define SECOND LIBRARY "::"
#define VARIABLE "LD_PRELOAD="
/* The variable's name afterwards, if there was none. It keeps its place: some programs find other things by where their
 * environment lies. */
#define SPENT "VPROF_DONE="
/* Where Debian's package has it. */
static const char usual[] = "/usr/lib/vprof";

static char **find_variable(char **environment, const char *name) {
  const size_t length = strlen(name);
  for (; *environment != NULL; ++environment)
    if (strncmp(*environment, name, length) == 0) return environment;
  return NULL;
}

static const char *value_of(char **environment, const char *name) {
  char **variable = find_variable(environment, name);
  return variable != NULL ? *variable + strlen(name) : "";
}

static unsigned long auxiliary(char **environment, unsigned long type) {
  while (*environment != NULL) ++environment;
  for (const ElfW(auxv_t) *entry = (const ElfW(auxv_t) *)(environment + 1); entry->a_type != AT_NULL; ++entry)
    if (entry->a_type == type) return entry->a_un.a_val;
  return 0;
}

/* LD_PRELOAD takes no such names, and says so to the user for files that are not there. */
static int can_be_preloaded(const char *path) {
  return strpbrk(path, " :") == NULL && syscall(SYS_faccessat, AT_FDCWD, path, R_OK) == 0;
}

/* Whether libvprof lies in a folder; then `path` is where. */
static int lies_in(const char *folder, size_t length, char *path, size_t size) {
  if (length + sizeof LIBRARY > size || folder[0] != '/') return 0;
  memcpy(path, folder, length);
  strcpy(path + length, LIBRARY);
  return can_be_preloaded(path);
}

/* Where the program was linked to look for it. */
static int lies_in_search_path(char *path, size_t size) {
  const char *strings = NULL;
  size_t offset = 0;
  for (const ElfW(Dyn) *entry = _DYNAMIC; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_STRTAB) strings = (const char *)entry->d_un.d_ptr;
    if (entry->d_tag == DT_RUNPATH || (entry->d_tag == DT_RPATH && offset == 0)) offset = entry->d_un.d_val;
  }
  if (strings == NULL || offset == 0) return 0;
  /* The dynamic linker has moved it, unless the section is read-only (lld -z rodynamic). */
  if (strings < __ehdr_start) strings += (uintptr_t)__ehdr_start;
  for (const char *folders = strings + offset; *folders != '\0';) {
    const size_t length = strcspn(folders, ":");
    if (lies_in(folders, length, path, size)) return 1;
    folders += length + (folders[length] == ':');
  }
  return 0;
}

static int find_library(char **environment, char *path, size_t size) {
  const char *folder = value_of(environment, "VPROF_LIBRARY=");
  return lies_in(folder, strlen(folder), path, size) || lies_in_search_path(path, size) ||
         lies_in(usual, sizeof usual - 1, path, size);
}

/* The name that the program was started by, so that it is called by that again; of a script, that of its interpreter.
 */
static const char *own_name(char **environment, char *buffer, size_t size) {
  static const char self[] = "/proc/self/exe";
  const char *name = (const char *)auxiliary(environment, AT_EXECFN);
  struct stat named, running;
  if (name != NULL && syscall(SYS_newfstatat, AT_FDCWD, name, &named, 0) == 0 &&
      syscall(SYS_newfstatat, AT_FDCWD, self, &running, 0) == 0 && named.st_dev == running.st_dev &&
      named.st_ino == running.st_ino)
    return name;
  const long length = syscall(SYS_readlinkat, AT_FDCWD, self, buffer, size - 1);
  buffer[length > 0 ? length : 0] = '\0';
  return buffer;
}

/* Returns if it cannot be. */
static void start_again(char **argv, char **environment, const char *path) {
  char name[4096];
  const char *before = value_of(environment, VARIABLE);
  char preload[sizeof VARIABLE + strlen(before) + strlen(path) + sizeof SECOND];
  strcpy(preload, VARIABLE);
  strcat(preload, before);
  if (before[0] != '\0') strcat(preload, ":");
  strcat(preload, path);
  strcat(preload, "::");
  char **place = find_variable(environment, VARIABLE);
  if (place == NULL) place = find_variable(environment, SPENT);
  size_t count = 0;
  while (environment[count] != NULL) ++count;
  char *changed[count + 2];
  memcpy(changed, environment, count * sizeof *changed);
  changed[place != NULL ? (size_t)(place - environment) : count++] = preload;
  changed[count] = NULL;
  syscall(SYS_execve, own_name(environment, name, sizeof name), argv, changed);
}

/* Whether this is the second start. Then LD_PRELOAD is for this process alone. */
static int is_second(char **environment) {
  char **variable = find_variable(environment, VARIABLE);
  if (variable == NULL) return 0;
  const size_t length = strlen(*variable), end = sizeof SECOND - 1;
  if (length < sizeof VARIABLE + end || strcmp(*variable + length - end, SECOND) != 0) return 0;
  (*variable)[length - 2] = '\0';
  char *const ours = strrchr(*variable, ':');
  if (ours != NULL)
    *ours = '\0';
  else
    memcpy(*variable, SPENT, sizeof SPENT - 1);
  return 1;
}

static void find_runtime(int argc, char **argv, char **environment) {
  char path[4096];
  if (argc < 1 || auxiliary(environment, AT_SECURE) != 0 || is_second(environment)) return;
  if (__vprof_register != NULL || value_of(environment, "VPROF_SESSION=")[0] == '\0') return;
  /* The dynamic linker was called as a program: by its name we would run it, without its options. */
  if (auxiliary(environment, AT_BASE) == 0) return;
  /* valgrind would lose us. */
  if (strstr(value_of(environment, VARIABLE), "/vgpreload_") != NULL) return;
  if (find_library(environment, path, sizeof path)) start_again(argv, environment, path);
}

__attribute__((section(".preinit_array"), used, retain)) static void (*before_all)(int, char **,
                                                                                   char **) = find_runtime;
