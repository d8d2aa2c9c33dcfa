// Writing JSON: the few forms that events and replies need.
#ifndef VPROF_JSON_H
#define VPROF_JSON_H

#include <cstdint>
#include <string>
#include <string_view>

namespace vprof {

// `text` as a JSON string with its quotes. Bytes that are not UTF-8 become U+FFFD: a label may hold anything.
std::string quoted(std::string_view text);

// Builds one object: `JsonObject().add("pid", 7).add("name", "a").str()`.
class JsonObject {
 public:
  JsonObject &add(std::string_view key, uint64_t value) { return raw(key, std::to_string(value)); }
  JsonObject &add(std::string_view key, std::string_view value) { return raw(key, quoted(value)); }
  // `json` is inserted as it is: an array or object.
  JsonObject &raw(std::string_view key, std::string_view json);
  std::string str() const { return "{" + body_ + "}"; }

 private:
  std::string body_;
};

// Builds one array of already written values.
class JsonArray {
 public:
  void add(std::string_view json) {
    if (!body_.empty()) body_ += ",";
    body_ += json;
  }
  std::string str() const { return "[" + body_ + "]"; }

 private:
  std::string body_;
};

}  // namespace vprof

#endif
