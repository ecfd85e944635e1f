#include "kube/http/line_splitter.hpp"

#include <utility>

namespace kube {

bool LineSplitter::finish_line(std::string_view rest, std::vector<std::string>& lines) {
  if (partial_.size() + rest.size() > longest_line_) return false;
  std::string line = std::exchange(partial_, {});
  line.append(rest);
  if (!line.empty() && line.back() == '\r') line.pop_back();
  if (!line.empty()) lines.push_back(std::move(line));
  return true;
}

bool LineSplitter::feed(std::string_view bytes, std::vector<std::string>& lines) {
  for (auto end = bytes.find('\n'); end != std::string_view::npos; end = bytes.find('\n')) {
    if (!finish_line(bytes.substr(0, end), lines)) return false;
    bytes.remove_prefix(end + 1);
  }
  partial_.append(bytes);
  return partial_.size() <= longest_line_;
}

}  // namespace kube
