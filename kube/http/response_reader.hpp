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

/// Fields of an answer's header that are used.
struct ResponseHead {
  int status = 0;
  std::string content_type;
  std::optional<base::seconds> retry_after;
};

/// Parses one HTTP/1.1 answer without I/O, by Beast's parser. Skips interim answers (1xx). Never throws and tolerates
/// any input. Not thread-safe.
class ResponseReader {
 public:
  /// Receives each piece of the body. Returning false stops the reading; feed() then fails.
  using OnBody = std::function<bool(std::string_view)>;

  /// `body_limit` is the maximum size of the body in bytes. `expects_body` is false for the answer to CONNECT.
  ResponseReader(std::uint64_t body_limit, OnBody on_body, bool expects_body = true);
  ~ResponseReader();

  /// Returns kOutcomeUnknown if the bytes are not HTTP, exceed a limit, or on_body returned false.
  base::Status feed(std::string_view bytes);
  /// Call when the connection was closed. Returns kOutcomeUnknown if the answer is incomplete.
  base::Status end();

  bool has_head() const;
  const ResponseHead& head() const;  ///< REQUIRES: has_head()
  bool done() const;
  /// Returns true if the connection can carry another request: the answer is complete, no bytes follow, and there is no
  /// "Connection: close".
  bool reusable() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Parses Retry-After in whole seconds, at most one day. Returns nullopt for dates and invalid values.
std::optional<base::seconds> parse_retry_after(std::string_view value);

}  // namespace kube
