// Load of bench/off_cost.py: parses and writes one document so often.
#include <json/json.h>

#include <cstdlib>
#include <memory>
#include <string>

namespace {

/// 200 objects, as a service would send them.
std::string document() {
  Json::Value rows(Json::arrayValue);
  for (int i = 0; i < 200; ++i) {
    Json::Value row;
    row["id"] = i;
    row["name"] = "customer " + std::to_string(i * 7919);
    row["balance"] = i * 1.25;
    row["tags"].append("a\"quoted\" tag");
    row["tags"].append(i % 2 == 0);
    rows.append(row);
  }
  return rows.toStyledString();
}

}  // namespace

int main(int, char **argv) {
  const std::string text = document();
  const Json::CharReaderBuilder readers;
  const std::unique_ptr<Json::CharReader> reader(readers.newCharReader());
  size_t written = 0;
  for (int left = std::atoi(argv[1]); left > 0; --left) {
    Json::Value root;
    if (!reader->parse(text.data(), text.data() + text.size(), &root, nullptr)) return 1;
    written += Json::FastWriter().write(root).size();
  }
  return written == 0;
}
