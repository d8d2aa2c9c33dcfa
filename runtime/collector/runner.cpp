#include "runner.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

namespace vprof {
namespace {

constexpr uint64_t kSpareBytes = 192u << 20;  // as of the Python side (analyzer/vprof/session/owned.py)
constexpr char kRuntime[] = "libvprof.so";

std::string folder_of(const std::string &path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

std::string name_of(const std::string &path) {
  return path.substr(path.rfind('/') + 1);
}

std::string absolute(const std::string &folder, const std::string &path) {
  const std::string joined = path[0] == '/' ? path : folder + "/" + path;
  char real[PATH_MAX];
  return realpath(joined.c_str(), real) != nullptr ? real : "";
}

bool has_room(const char *folder) {
  struct statvfs st;
  return access(folder, W_OK) == 0 && statvfs(folder, &st) == 0 && uint64_t{st.f_bavail} * st.f_frsize > kSpareBytes;
}

// What is there stays first: a sanitizer's library insists on it.
void preload(const std::string &library) {
  const char *before = getenv("LD_PRELOAD");
  const std::string all = before != nullptr && *before != '\0' ? std::string(before) + ":" + library : library;
  setenv("LD_PRELOAD", all.c_str(), 1);
}

// In the child. Returns only if it cannot.
int become(const std::string &session, const std::string &library, char **command) {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const int number : {SIGPIPE, SIGXFSZ}) signal(number, SIG_DFL);
  setenv("VPROF_SESSION", session.c_str(), 1);
  if (!library.empty()) preload(library);
  execvp(command[0], command);
  return errno;
}

}  // namespace

std::string RunPlan::read(const std::string &path) {
  std::ifstream file(path);
  std::string line;
  if (!file) return path + ": " + strerror(errno);
  if (!std::getline(file, line) || line != "vprof-run/1") return path + ": not a plan of vprof bundle";
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string kind, name, rest;
    words >> kind >> name;
    if (kind == "preload") {
      preload_ = absolute(folder_of(path), name);
      if (preload_.empty()) return path + ": " + name + " is missing beside it";
      if (preload_.find_first_of(" :") != std::string::npos)
        return preload_ + " cannot be preloaded: LD_PRELOAD takes no path with a space or a colon";
    } else if (kind == "sites") {
      Sites &sites = sites_[name];
      words >> sites.address;
      std::getline(words >> std::ws, rest);
      if (!parse_ranges(rest, &sites.ranges)) return path + ": no sites in: " + line;
    }
  }
  return "";
}

std::string RunPlan::ranges(const KnownModule &module, bool *other_build) const {
  const auto found = sites_.find(name_of(module.path));
  *other_build = false;
  if (found == sites_.end() || !module.mapped) return "";
  std::string text;
  for (const SiteRange &range : found->second.ranges) {
    const uint64_t last = uint64_t{range.first} + range.count - 1;
    *other_build |= last >= module.count;
    text += (text.empty() ? "" : " ") + std::to_string(module.base + range.first) + "-" +
            std::to_string(module.base + last);
  }
  *other_build |= found->second.address != module.section_addr;
  return *other_build ? "" : text;
}

std::string Runner::start(const std::string &session, char **command) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return std::string("no pipe: ") + strerror(errno);
  child_ = fork();
  if (child_ == 0) {
    const int failed = become(session, plan_.preload(), command);
    if (write(ends[1], &failed, sizeof failed) < 0) _exit(126);
    _exit(127);
  }
  close(ends[1]);
  int failed = 0;
  // Read after the program has begun, which waits for us with --hold; its end of the pipe closes before that, at exec.
  const bool told = child_ > 0 && read(ends[0], &failed, sizeof failed) == sizeof failed;
  close(ends[0]);
  if (child_ < 0) return std::string("cannot start a process: ") + strerror(errno);
  return told ? std::string("cannot run ") + command[0] + ": " + strerror(failed) : "";
}

void Runner::admit(size_t index, const KnownModule &module) {
  programs_ += name_of(module.path) != kRuntime;
  bool other_build;
  const std::string ranges = plan_.ranges(module, &other_build);
  if (other_build)
    fprintf(stderr, "vprof: %s is another build than the plan's: nothing is on in it; make the bundle again\n",
            module.path.c_str());
  if (!ranges.empty()) collector_->answer("on " + ranges);
  collector_->answer("ack " + std::to_string(index));
}

bool Runner::look() {
  const std::vector<KnownModule> &modules = collector_->modules_now();
  for (; known_ < modules.size(); ++known_) admit(known_, modules[known_]);
  int status;
  if (waitpid(child_, &status, WNOHANG) != child_) return false;
  status_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return true;
}

void Runner::send(int signal) const {
  kill(child_, signal);
}

std::vector<std::string> session_places(const std::string &output) {
  const char *temporary = getenv("TMPDIR");
  std::vector<std::string> places;
  if (has_room("/dev/shm")) places.push_back("/dev/shm");
  places.insert(places.end(), {temporary != nullptr && *temporary != '\0' ? temporary : "/tmp", folder_of(output)});
  const std::string name = "/vprof-" + std::to_string(getpid());
  for (std::string &place : places) place += name;
  return places;
}

}  // namespace vprof
