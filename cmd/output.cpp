#include "cmd/output.hpp"

#include <stdio_ext.h>

#include <cerrno>
#include <cstdio>

namespace cmd {
namespace {

[[noreturn]] void fail_with(int code) { throw OutputError(code, std::generic_category()); }

/// Discards buffered output so that the process does not write it again at exit.
void discard_output() {
  __fpurge(stdout);
  std::clearerr(stdout);
}

}  // namespace

void write_out(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) < text.size()) fail_with(errno);
}

void flush_out() {
  // The error flag covers writes by other code, whose errno is not available anymore.
  if (std::fflush(stdout) != 0) fail_with(errno);
  if (std::ferror(stdout) != 0) fail_with(EIO);
}

void write_err(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

int exit_code_of(std::string_view command, const base::Status& done) {
  if (done) return 0;
  print_err("{}: {}\n", command, done.error().message);
  return 1;
}

int with_output(std::string_view program, const std::function<int()>& command, int failed) {
  try {
    const int code = command();
    flush_out();
    return code;
  } catch (const OutputError& error) {
    discard_output();
    if (error.code().value() == EPIPE) return kBrokenPipeExitCode;
    print_err("{}: cannot write to standard output: {}\n", program, error.code().message());
    return failed;
  }
}

}  // namespace cmd
