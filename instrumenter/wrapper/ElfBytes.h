// An ELF object as bytes in memory, read with care: it may be no object, or cut off.
#pragma once

#include <cstdint>
#include <string>

namespace vprof {

/// The part of `bytes` that is `count` structures T from `offset` on, null if that is beyond the end.
template <typename T>
T *within(std::string &bytes, uint64_t offset, uint64_t count) {
  const bool fits = offset <= bytes.size() && count <= (bytes.size() - offset) / sizeof(T);
  return fits ? reinterpret_cast<T *>(bytes.data() + offset) : nullptr;
}

}  // namespace vprof
