#pragma once

#include <string>

#include "telemetry/audit/sink.hpp"

namespace audit {

/// Writes lines to a pipe or terminal, for collectors of container output. Each process starts its own chain, because
/// earlier output cannot be read back. Fails if the reader does not read for one second, so that callers never block
/// longer.
class StdoutSink final : public Sink {
 public:
  /// `fd` is not closed; 1 is standard output.
  explicit StdoutSink(int fd = 1) : fd_(fd) {}

  std::string_view name() const override { return "stdout"; }
  base::Result<Opened> open() override;
  base::Status append(const Line& line) override;
  base::Status sync() override { return base::Done{}; }

 private:
  base::Status write_all(std::string_view text);

  const int fd_;
  std::string partial_line_;  ///< written part of an unfinished line
};

}  // namespace audit
