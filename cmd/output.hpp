#pragma once

#include <fmt/format.h>

#include <functional>
#include <string_view>
#include <system_error>
#include <utility>

namespace cmd {

/// Standard output takes no more; code() is the errno of the write that failed.
class OutputError : public std::system_error {
 public:
  using std::system_error::system_error;
};

/// The exit code of a command whose reader has gone, as a shell reports SIGPIPE.
inline constexpr int kReaderGone = 141;

/// To standard output. Throws OutputError.
void write_out(std::string_view text);
/// Writes what is buffered. Throws OutputError.
void flush_out();
/// To standard error, as far as it takes it. Never throws.
void write_err(std::string_view text);

template <typename... Args>
void print_out(fmt::format_string<Args...> format, Args&&... args) {
  write_out(fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void print_err(fmt::format_string<Args...> format, Args&&... args) {
  write_err(fmt::format(format, std::forward<Args>(args)...));
}

/// The command's exit code, once all of its output is written. When the output has no reader any more (`| head`) it
/// ends without a word, with kReaderGone; when it cannot be written for another reason (a full disk), with one line on
/// standard error and `failed`. Used by one thread.
int with_output(std::string_view program, const std::function<int()>& command, int failed = 1);

}  // namespace cmd
