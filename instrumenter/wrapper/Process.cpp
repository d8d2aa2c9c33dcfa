#include "Process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

extern char **environ;

namespace vprof {
namespace {

volatile sig_atomic_t g_child = 0;
volatile sig_atomic_t g_signal = 0;

void passOn(int signal) {
  g_signal = signal;
  if (g_child > 0) kill(g_child, signal);
}

void handleSignals() {
  static bool done = false;
  if (done) return;
  done = true;
  struct sigaction action = {};
  action.sa_handler = passOn;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction old;
    sigaction(signal, nullptr, &old);
    if (old.sa_handler != SIG_IGN) sigaction(signal, &action, nullptr);
  }
}

std::vector<char *> pointers(const std::vector<std::string> &command) {
  std::vector<char *> result;
  for (const std::string &argument : command) result.push_back(const_cast<char *>(argument.c_str()));
  result.push_back(nullptr);
  return result;
}

int cannotRun(const std::string &program, int error) {
  std::fprintf(stderr, "vprof-cc: cannot run %s: %s\n", program.c_str(), std::strerror(error));
  return 127;
}

std::string readAll(int descriptor) {
  std::string text;
  char buffer[4096];
  for (ssize_t n; (n = read(descriptor, buffer, sizeof buffer)) != 0;) {
    if (n > 0)
      text.append(buffer, static_cast<size_t>(n));
    else if (errno != EINTR)
      break;
  }
  return text;
}

Result endedBy(int signal) {
  Result result;
  result.signal = signal;
  result.code = 128 + signal;
  return result;
}

Result waitFor(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status)) return endedBy(WTERMSIG(status));
  Result result;
  result.code = WEXITSTATUS(status);
  return result;
}

}  // namespace

Result run(const std::vector<std::string> &command, Capture capture) {
  handleSignals();
  if (g_signal) return endedBy(g_signal);
  int pipe_ends[2] = {-1, -1};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (capture != Capture::kNothing && pipe2(pipe_ends, O_CLOEXEC) == 0)
    posix_spawn_file_actions_adddup2(&actions, pipe_ends[1],
                                     capture == Capture::kErrors ? STDERR_FILENO : STDOUT_FILENO);
  pid_t child = 0;
  const int error = posix_spawnp(&child, command[0].c_str(), &actions, nullptr, pointers(command).data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(pipe_ends[1]);
  Result result;
  if (error) {
    result.code = cannotRun(command[0], error);
  } else {
    g_child = child;
    if (g_signal) kill(child, g_signal);  // it came while the child was being made
    const std::string text = pipe_ends[0] >= 0 ? readAll(pipe_ends[0]) : "";
    result = waitFor(child);
    g_child = 0;
    result.captured = text;
  }
  close(pipe_ends[0]);
  return result;
}

int pendingSignal() {
  return g_signal;
}

int replaceProcess(const std::vector<std::string> &command) {
  execvp(command[0].c_str(), pointers(command).data());
  return cannotRun(command[0], errno);
}

int endLike(const Result &result) {
  if (const int number = result.signal ? result.signal : pendingSignal()) {
    signal(number, SIG_DFL);
    raise(number);
  }
  return result.code;
}

TemporaryDirectory::TemporaryDirectory() {
  const char *root = std::getenv("TMPDIR");
  std::string path = std::string(root && *root ? root : "/tmp") + "/vprof-XXXXXX";
  if (mkdtemp(path.data())) path_ = path;
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  if (ok()) std::filesystem::remove_all(path_, ignored);
}

}  // namespace vprof
