#pragma once

/// The wire contract evacuator.dev/webhook/v1 between Evacuator and a service of yours (docs/evictors/webhook.md):
/// requests built, answers judged. Shared by the evictor and by `evacuator webhook-check`. Pure.

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
/// An honest answer is a few hundred bytes.
inline constexpr std::size_t kMaxAnswerBytes = 64 * 1024;

enum class ServiceState { kAccepted, kInProgress, kReadyToEvict, kMoved, kFailed };
std::string_view to_string(ServiceState state);
std::optional<ServiceState> parse_service_state(std::string_view text);

/// Who ends the pod: the service by its own means, or we by an eviction once it said ReadyToEvict.
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
  std::string target;      ///< node or place it goes to, for display
  std::string heartbeat;   ///< anything that changes while there is life
  friend bool operator==(const ServiceStatus&, const ServiceStatus&) = default;
};

/// kInvalid: no such body (HTML, a wrong type, out of range, too large), the message names the field. kConflict: well
/// formed, but for another token or of another version. Unknown fields are ignored: v1 may grow.
base::Result<ServiceStatus> parse_service_status(std::string_view body, std::string_view token);

/// ReadyToEvict may be withdrawn and Failed may come at any time; otherwise states only go forward.
bool may_follow(ServiceState before, ServiceState after);

/// "/v1/evacuations/<token>", percent-encoded.
std::string path_of(std::string_view token);

kube::Request start_request(std::string_view token, const api::Json& body);
kube::Request status_request(std::string_view token);
kube::Request abort_request(std::string_view token);

}  // namespace evictors::webhook
