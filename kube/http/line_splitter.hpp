#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kube {

/// Cuts a stream of bytes into lines; empty ones are dropped, "\r\n" counts as "\n". Pure, not thread-safe.
class LineSplitter {
 public:
  explicit LineSplitter(std::size_t longest_line) : longest_line_(longest_line) {}

  /// Appends the lines that `bytes` completes. False: a line is longer than allowed, the stream is unusable.
  bool feed(std::string_view bytes, std::vector<std::string>& lines);

 private:
  bool finish_line(std::string_view rest, std::vector<std::string>& lines);

  const std::size_t longest_line_;
  std::string partial_;
};

}  // namespace kube
