#include "usage/parse/document.hpp"

#include <fmt/format.h>

namespace usage {

base::Error not_json(std::string_view text, std::string_view why) {
  const auto first = text.find_first_not_of(" \t\r\n\xef\xbb\xbf");
  if (first == std::string_view::npos) return base::invalid("the response is empty");
  if (text[first] == '<')
    return base::invalid("the response is HTML or XML, not JSON: does the URL lead to a proxy or a login page?");
  return base::invalid(fmt::format("the response is not the expected JSON ({})", why));
}

}  // namespace usage
