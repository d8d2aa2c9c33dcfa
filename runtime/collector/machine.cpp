#include "machine.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

namespace vprof {

static std::string cpu_model() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.rfind("model name", 0) == 0 && line.find(": ") != std::string::npos)
      return line.substr(line.find(": ") + 2);
  return "";
}

void add_machine(JsonObject *event) {
  const std::string model = cpu_model();
  const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
  utsname system;
  double load = 0;
  if (!model.empty()) event->add("cpu", model);
  if (cpus > 0) event->add("cpus", static_cast<uint64_t>(cpus));
  if (uname(&system) == 0) event->add("kernel", std::string(system.sysname) + " " + system.release);
  if (getloadavg(&load, 1) == 1 && load >= 0) event->raw("load", std::to_string(load));
}

}  // namespace vprof
