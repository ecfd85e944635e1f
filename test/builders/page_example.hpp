#pragma once

/// Code examples of pages, which tests compile and compare.

#include <fstream>
#include <sstream>
#include <string>

namespace builders {

inline std::string text_between(const std::string& file, const std::string& begin, const std::string& end) {
  std::ifstream in(EVACUATOR_SOURCE_DIR "/" + file);
  std::ostringstream text;
  text << in.rdbuf();
  const auto from = text.str().find(begin);
  const auto to = text.str().find(end, from == std::string::npos ? 0 : from + begin.size());
  if (from == std::string::npos || to == std::string::npos) return "no example in " + file;
  return text.str().substr(from + begin.size(), to - from - begin.size());
}
/// Returns the first block of C++ of a page.
inline std::string example_of_page(const std::string& page) { return text_between(page, "```cpp\n", "```\n"); }
/// Returns the text between the lines "// begin" and "// end".
inline std::string example_of_source(const std::string& source) {
  return text_between(source, "// begin\n", "// end\n");
}

}  // namespace builders
