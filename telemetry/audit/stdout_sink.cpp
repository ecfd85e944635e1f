#include "telemetry/audit/stdout_sink.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace audit {
namespace {

/// PIPE_BUF: a pipe that is writable according to poll() takes this number of bytes without blocking.
constexpr std::size_t kChunk = 4096;
constexpr int kWriteTimeoutMs = 1000;

base::Error output_error(const char* what) {
  return base::unavailable(fmt::format("{} standard output: {}", what, std::strerror(errno)));
}

}  // namespace

base::Status StdoutSink::write_all(std::string_view text) {
  while (!text.empty()) {
    pollfd ready{fd_, POLLOUT, 0};
    const int found = poll(&ready, 1, kWriteTimeoutMs);
    if (found < 0 && errno == EINTR) continue;
    if (found == 0) return base::unavailable("standard output is closed");
    const ssize_t put = ::write(fd_, text.data(), std::min(text.size(), kChunk));
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return output_error("writing");
    partial_line_ += text.substr(0, static_cast<std::size_t>(put));
    text.remove_prefix(static_cast<std::size_t>(put));
  }
  return base::Done{};
}

base::Result<Opened> StdoutSink::open() {
  if (partial_line_.empty()) return Opened{};
  const std::string torn = partial_line_;
  if (auto closed = write_all("\n"); !closed) return closed.error();
  partial_line_.clear();
  return Opened{std::nullopt, Torn{torn.size(), crypto::sha256(torn)}};
}

base::Status StdoutSink::append(const Line& line) {
  partial_line_.clear();
  if (auto written = write_all(line.text + "\n"); !written) return written;
  partial_line_.clear();
  return base::Done{};
}

}  // namespace audit
