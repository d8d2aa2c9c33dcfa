#include "json.h"

#include <cstdio>

namespace vprof {

// Length of the well-formed UTF-8 sequence at `s`, 0 if there is none.
static size_t utf8_length(std::string_view s) {
  const auto byte = [&](size_t i) { return i < s.size() ? static_cast<unsigned char>(s[i]) : 0u; };
  const auto next = [&](size_t i, unsigned low = 0x80, unsigned high = 0xbf) {
    return byte(i) >= low && byte(i) <= high;
  };
  const unsigned b = byte(0);
  if (b < 0x80) return 1;
  if (b >= 0xc2 && b <= 0xdf) return next(1) ? 2 : 0;
  if (b >= 0xe0 && b <= 0xef) return next(1, b == 0xe0 ? 0xa0 : 0x80, b == 0xed ? 0x9f : 0xbf) && next(2) ? 3 : 0;
  if (b >= 0xf0 && b <= 0xf4)
    return next(1, b == 0xf0 ? 0x90 : 0x80, b == 0xf4 ? 0x8f : 0xbf) && next(2) && next(3) ? 4 : 0;
  return 0;
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const char c = text[0];
    const size_t length = utf8_length(text);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escape[8];
      snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(c));
      out += escape;
    } else if (length == 0) {
      out += "\xef\xbf\xbd";
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out + "\"";
}

JsonObject &JsonObject::raw(std::string_view key, std::string_view json) {
  if (!body_.empty()) body_ += ",";
  body_ += quoted(key);
  body_ += ":";
  body_ += json;
  return *this;
}

}  // namespace vprof
