#pragma once

/// The annotations of the two-way handoff protocol as values (wire-protocols.md#handoff-protocol). Reads whatever an
/// operator wrote: nonsense and other tokens count as absent.

#include <optional>
#include <string>
#include <string_view>

#include "api/core/kinds.hpp"
#include "evictors/evictor.hpp"

namespace evictors::handoff {

/// What the pod's owner declares.
struct Capability {
  bool required = true;  ///< anything but mode=optional fails closed
  bool pre = false;
  bool migrate = true;
  bool post = false;
  bool owner_evicts = false;
  bool strict = false;
  bool surge_pod = false;                ///< the owner brings a second pod up before this one may go
  std::optional<base::seconds> timeout;  ///< 1 s … 24 h
  friend bool operator==(const Capability&, const Capability&) = default;
};
/// nullopt: no `mode` annotation, the pod takes no part.
std::optional<Capability> read_capability(const api::Pod& pod);

/// What stands on the pod for one token.
struct Signs {
  bool requested = false;     ///< `request` carries our token
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

/// Operators' values longer than this are ignored, messages are cut.
inline constexpr std::size_t kMaxValue = 256;
inline constexpr std::size_t kMaxMessage = 1024;

}  // namespace evictors::handoff
