#include <string>
#include <vector>

extern "C" int price(int item) {
  std::vector<std::string> digits;
  for (int i = 0; i < (item % 10 ? 10 : 100); i++) digits.push_back(std::to_string(item + i));
  return static_cast<int>(digits.size());
}
