#pragma once

#include <string>

#include "telemetry/audit/sink.hpp"

namespace audit {

/// Lines on a pipe or terminal for whoever collects the container's output. A chain of its own in each process: what
/// was written before cannot be read back. A reader that does not read for a second is a failure, so nobody hangs.
class StdoutSink final : public Sink {
 public:
  /// `fd` is not closed. 1: standard output.
  explicit StdoutSink(int fd = 1) : fd_(fd) {}

  std::string_view name() const override { return "stdout"; }
  base::Result<Opened> open() override;
  base::Status append(const Line& line) override;
  base::Status sync() override { return base::Done{}; }

 private:
  base::Status write_all(std::string_view text);

  const int fd_;
  std::string begun_;  ///< what is out of an unfinished line
};

}  // namespace audit
