#pragma once

#include <optional>
#include <string_view>

#include "base/result.hpp"
#include "telemetry/audit/chain.hpp"
#include "telemetry/audit/record.hpp"

namespace audit {

/// What a sink found when it was opened.
struct Opened {
  std::optional<Head> head;  ///< where the chain in it has come to; nullopt: it holds none
  std::optional<Torn> torn;  ///< an unfinished line at its end, closed by a newline meanwhile
};

/// A place for lines. Not thread-safe: its channel (log.hpp) calls it under a lock. After any error only open() is
/// called next; it starts afresh, whatever was half done.
class Sink {
 public:
  virtual ~Sink() = default;
  virtual std::string_view name() const = 0;  ///< "file", "stdout": metrics label
  virtual base::Result<Opened> open() = 0;
  /// Hands `line` and a newline over, all or (as far as it can be helped) nothing. Success: a crash of the process does
  /// not lose it any more.
  virtual base::Status append(const Line& line) = 0;
  /// Success: a crash of the machine does not lose it either. Also notices that the file was taken away.
  virtual base::Status sync() = 0;
};

}  // namespace audit
