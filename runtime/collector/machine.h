// What a trace says of the machine that it was recorded on.
#ifndef VPROF_MACHINE_H
#define VPROF_MACHINE_H

#include <string>

#include "json.h"

namespace vprof {

// Adds `cpu` (its model), `cpus` (how many), `kernel`, `load` (of the last minute) to an event; each if it is known.
void add_machine(JsonObject *event);

}  // namespace vprof

#endif
