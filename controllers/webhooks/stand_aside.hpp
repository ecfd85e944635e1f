#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/result.hpp"
#include "kube/client.hpp"

namespace controllers::webhooks {

/// Returns a JSON patch, guarded by the resourceVersion that was read, for the webhooks of `configuration` that the
/// API server calls by one of `names`. With `aside`, they match no object afterwards; otherwise they match the objects
/// that they matched originally. Other requirements of their objectSelector are preserved. Returns nullopt if nothing
/// changes. Pure.
std::optional<api::Json> aside_patch(const api::Json& configuration, const std::vector<std::string>& names, bool aside);

/// State of this installation among those on the cluster.
enum class ServingState {
  kUnknown,   ///< Unknown; nothing is written
  kServes,    ///< Serves the cluster, and this replica may write
  kStaysOut,  ///< Another installation serves the cluster
};

/// Disables the admission webhooks of an installation that does not serve the cluster. They would reject every
/// creation, because none of its replicas is Ready, and would overwrite records that the other installation signs. The
/// API server sends them no object until their installation serves the cluster. Not thread-safe.
class StandAside {
 public:
  struct Options {
    std::string configuration;  ///< Name of the MutatingWebhookConfiguration and the ValidatingWebhookConfiguration
    /// Names under which the API server calls this operator; webhooks with other names are ignored.
    std::vector<std::string> names;
  };
  /// `client` must be able to write even while this replica may not act. All references must outlive this object.
  StandAside(kube::Client& client, const base::Clock& steady, Options options, base::Log log);

  /// Checks the configurations if due. Call about every second; cheap while nothing is due.
  void refresh(ServingState serving_state);

  /// Interval between checks for external changes. After a failure the next check follows after kRetryInterval.
  static constexpr base::seconds kCheckInterval{60};
  static constexpr base::seconds kRetryInterval{5};

 private:
  base::Status look(bool aside);
  base::Status look(const kube::ResourceType& type, bool aside);

  kube::Client& client_;
  const base::Clock& steady_;
  const Options options_;
  const base::Log log_;
  base::TimePoint next_check_ = base::TimePoint::min();
  ServingState seen_state_ = ServingState::kUnknown;
  std::string problem_;  ///< Problem of the last check
};

}  // namespace controllers::webhooks
