#pragma once

#include <optional>
#include <string_view>

#include "base/result.hpp"
#include "telemetry/audit/chain.hpp"
#include "telemetry/audit/record.hpp"

namespace audit {

/// What a sink found when it was opened.
struct Opened {
  std::optional<Head> head;  ///< head of the chain in the sink, nullopt if it has none
  std::optional<Torn> torn;  ///< incomplete line at the end, now terminated by a newline
};

/// Destination of log lines. Not thread-safe: its channel (log.hpp) calls it under a lock. After an error, the only
/// valid call is open(), which starts over whatever was incomplete.
class Sink {
 public:
  virtual ~Sink() = default;
  virtual std::string_view name() const = 0;  ///< "file", "stdout"; used as metrics label
  virtual base::Result<Opened> open() = 0;
  /// Writes `line` and a newline, completely or (as far as possible) not at all. On success, a crash of the process
  /// does not lose the line.
  virtual base::Status append(const Line& line) = 0;
  /// On success, a crash of the machine does not lose earlier lines. Also detects that the file was removed.
  virtual base::Status sync() = 0;
};

}  // namespace audit
