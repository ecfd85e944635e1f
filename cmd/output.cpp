#include "cmd/output.hpp"

#include <stdio_ext.h>

#include <cerrno>
#include <cstdio>

namespace cmd {
namespace {

[[noreturn]] void fail_with(int code) { throw OutputError(code, std::generic_category()); }

/// What could not be written is not tried again at the process's end.
void forget_output() {
  __fpurge(stdout);
  std::clearerr(stdout);
}

}  // namespace

void write_out(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) < text.size()) fail_with(errno);
}

void flush_out() {
  // The error flag covers what other code has written to the stream; which error it was is lost then.
  if (std::fflush(stdout) != 0) fail_with(errno);
  if (std::ferror(stdout) != 0) fail_with(EIO);
}

void write_err(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

int with_output(std::string_view program, const std::function<int()>& command, int failed) {
  try {
    const int code = command();
    flush_out();
    return code;
  } catch (const OutputError& error) {
    forget_output();
    if (error.code().value() == EPIPE) return kReaderGone;
    print_err("{}: cannot write to standard output: {}\n", program, error.code().message());
    return failed;
  }
}

}  // namespace cmd
