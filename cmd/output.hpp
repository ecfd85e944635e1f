#pragma once

#include <fmt/format.h>

#include <functional>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/result.hpp"

namespace cmd {

/// Standard output failed. code() is the errno of the failed write.
class OutputError : public std::system_error {
 public:
  using std::system_error::system_error;
};

/// Exit code of a command whose reader closed the pipe, as shells report SIGPIPE.
inline constexpr int kBrokenPipeExitCode = 141;

/// Writes to standard output. Throws OutputError.
void write_out(std::string_view text);
/// Flushes standard output. Throws OutputError.
void flush_out();
/// Writes to standard error and ignores errors. Never throws.
void write_err(std::string_view text);

template <typename... Args>
void print_out(fmt::format_string<Args...> format, Args&&... args) {
  write_out(fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void print_err(fmt::format_string<Args...> format, Args&&... args) {
  write_err(fmt::format(format, std::forward<Args>(args)...));
}

/// Returns the exit code of a command: 0, or 1 after printing "COMMAND: " and the error to standard error.
int exit_code_of(std::string_view command, const base::Status& done);

/// Runs a command and flushes its output. Returns the command's exit code. Returns kBrokenPipeExitCode, without a
/// message, if the reader of the output is gone (`| head`). Returns `failed`, with one line on standard error, if the
/// output cannot be written for another reason (a full disk). Not thread-safe.
int with_output(std::string_view program, const std::function<int()>& command, int failed = 1);

}  // namespace cmd
