#pragma once

/// Wire contract evacuator.dev/webhook/v1 between Evacuator and an external service (docs/evictors/webhook.md): builds
/// requests and parses answers. Shared by the evictor and `evacuator webhook-check`. Pure.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "api/json/json.hpp"
#include "base/clock.hpp"
#include "base/result.hpp"
#include "kube/transport.hpp"

namespace evictors::webhook {

inline constexpr std::string_view kApiVersion = "evacuator.dev/webhook/v1";
/// Maximum size of an answer. Valid answers have a few hundred bytes.
inline constexpr std::size_t kMaxAnswerBytes = 64 * 1024;

enum class ServiceState { kAccepted, kInProgress, kReadyToEvict, kMoved, kFailed };
std::string_view to_string(ServiceState state);
std::optional<ServiceState> parse_service_state(std::string_view text);

/// Who ends the pod: the service itself, or Evacuator by an eviction after ReadyToEvict.
enum class EvictBy { kController, kService };
std::string_view to_string(EvictBy who);

/// Body of a 2xx answer to POST and GET.
struct ServiceStatus {
  ServiceState state = ServiceState::kAccepted;
  EvictBy evict_by = EvictBy::kController;
  std::optional<std::int32_t> progress;  ///< 0 … 100
  std::optional<base::TimePoint> expected_completion;
  std::string message;     ///< at most 1024 bytes
  std::string reason;      ///< CamelCase, with Failed
  bool retryable = false;  ///< with Failed: another attempt may succeed
  std::string target;      ///< target node or place, for display
  std::string heartbeat;   ///< any value that changes with every sign of life
  friend bool operator==(const ServiceStatus&, const ServiceStatus&) = default;
};

/// Parses the body of an answer. Returns kInvalid for a malformed body (HTML, wrong type, out of range, too large),
/// with the field in the message. Returns kConflict for a well-formed body with another token or version. Ignores
/// unknown fields, so that v1 can be extended.
base::Result<ServiceStatus> parse_service_status(std::string_view body, std::string_view token);

/// Returns true if a service may go from `before` to `after`. States only advance, with two exceptions: ReadyToEvict
/// may be withdrawn, and Failed may follow any state.
bool may_follow(ServiceState before, ServiceState after);

/// Returns "/v1/evacuations/<token>", percent-encoded.
std::string path_of(std::string_view token);

kube::Request start_request(std::string_view token, const api::Json& body);
kube::Request status_request(std::string_view token);
kube::Request abort_request(std::string_view token);

}  // namespace evictors::webhook
