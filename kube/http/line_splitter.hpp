#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kube {

/// Splits a stream of bytes into lines. Drops empty lines, and treats "\r\n" as "\n". Pure, not thread-safe.
class LineSplitter {
 public:
  explicit LineSplitter(std::size_t longest_line) : longest_line_(longest_line) {}

  /// Appends the lines that `bytes` completes. Returns false if a line exceeds the maximum; the stream is then
  /// unusable.
  bool feed(std::string_view bytes, std::vector<std::string>& lines);

 private:
  bool finish_line(std::string_view rest, std::vector<std::string>& lines);

  const std::size_t longest_line_;
  std::string partial_;
};

}  // namespace kube
