#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "base/result.hpp"

namespace kube {

/// What is read of an answer's header.
struct ResponseHead {
  int status = 0;
  std::string content_type;
  std::optional<base::seconds> retry_after;
};

/// Parses one HTTP/1.1 answer from bytes, sans-IO (Beast's parser inside). Interim answers (1xx) are skipped. Never
/// throws; survives any input. Not thread-safe.
class ResponseReader {
 public:
  /// Gets each piece of the body; false stops the reading with an error of its own (see end of feed()).
  using OnBody = std::function<bool(std::string_view)>;

  /// `body_limit` bytes of body at most. `expects_body` false: the answer to CONNECT.
  ResponseReader(std::uint64_t body_limit, OnBody on_body, bool expects_body = true);
  ~ResponseReader();

  /// kOutcomeUnknown when the bytes are no HTTP, too many, or the body was refused.
  base::Status feed(std::string_view bytes);
  /// The connection was closed. kOutcomeUnknown when the answer was not complete.
  base::Status end();

  bool has_head() const;
  const ResponseHead& head() const;  ///< REQUIRES: has_head()
  bool done() const;
  /// The connection can carry another request: done, nothing left over, no "Connection: close".
  bool reusable() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Retry-After in whole seconds; dates and nonsense are nullopt, more than a day is a day.
std::optional<base::seconds> parse_retry_after(std::string_view value);

}  // namespace kube
