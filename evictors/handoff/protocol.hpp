#pragma once

/// Parses the annotations of the two-way handoff protocol (wire-protocols.md#handoff-protocol). Invalid values and
/// values with another token read as absent.

#include <optional>
#include <string>
#include <string_view>

#include "api/core/kinds.hpp"
#include "evictors/evictor.hpp"

namespace evictors::handoff {

/// Capabilities that the pod's owner declares.
struct Capability {
  bool required = true;  ///< fails closed: false only for mode=optional
  bool pre = false;
  bool migrate = true;
  bool post = false;
  bool owner_evicts = false;
  bool strict = false;
  bool surge_pod = false;                ///< the owner starts a second pod before this one may leave
  std::optional<base::seconds> timeout;  ///< 1 s … 24 h
  friend bool operator==(const Capability&, const Capability&) = default;
};
/// Returns nullopt if the pod has no `mode` annotation and so does not take part.
std::optional<Capability> read_capability(const api::Pod& pod);

/// Annotations of the pod for one token.
struct Signs {
  bool requested = false;     ///< `request` carries the token
  std::string request_phase;  ///< only with `requested`
  bool abort_written = false;
  bool acknowledged = false;
  bool pre_done = false;
  bool ready = false;
  bool aborted = false;
  std::optional<RemoteFailure> failed;
  std::string alive;  ///< newest of ack, heartbeat, progress, without tokens
  std::optional<std::int32_t> progress;
  std::optional<base::TimePoint> expected_completion;
  friend bool operator==(const Signs&, const Signs&) = default;
};
Signs read_signs(const api::Pod& pod, std::string_view token);

/// Longer values of operators are ignored. Longer messages are truncated.
inline constexpr std::size_t kMaxValue = 256;
inline constexpr std::size_t kMaxMessage = 1024;

}  // namespace evictors::handoff
