#include "process.h"

#include <signal.h>

#include <cerrno>
#include <fstream>
#include <sstream>

#include "../src/session.h"

namespace vprof {

std::optional<uint64_t> process_start(uint32_t pid) {
  if (!can_be_process(pid)) return 0;
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  std::getline(file, line);
  const size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) {
    if (kill(static_cast<pid_t>(pid), 0) != 0 && errno == ESRCH) return 0;
    return std::nullopt;
  }
  std::istringstream fields(line.substr(name_end + 1));
  std::string state, skipped;
  long threads = 0;
  uint64_t start = 0;
  fields >> state;  // field 3 of proc(5)
  for (int i = 4; i < 20; ++i) fields >> skipped;
  fields >> threads >> skipped >> start;                              // 20, 21, 22
  const bool ended = (state == "Z" || state == "X") && threads <= 1;  // a zombie leader may have live threads
  return ended ? 0 : start;
}

uint64_t program_of(uint32_t pid) {
  return program_identity(("/proc/" + std::to_string(pid) + "/exe").c_str());
}

std::string thread_name(uint32_t pid, uint32_t tid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/task/" + std::to_string(tid) + "/comm");
  std::string name;
  std::getline(file, name);
  return name;
}

}  // namespace vprof
