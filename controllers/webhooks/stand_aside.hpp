#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/result.hpp"
#include "kube/client.hpp"

namespace controllers::webhooks {

/// JSON patch, guarded by the version that was read, after which those webhooks of `configuration` that the API server
/// calls by one of `names` concern no object (`aside`), or again all that they concerned before. What else their
/// objectSelector asks for stays. nullopt: it is so already. Pure.
std::optional<api::Json> aside_patch(const api::Json& configuration, const std::vector<std::string>& names, bool aside);

/// Where this installation stands among those on the cluster.
enum class ServingState {
  kUnknown,   ///< nothing is written
  kServes,    ///< it serves the cluster, and this replica may write
  kStaysOut,  ///< another installation serves the cluster
};

/// The admission webhooks of an installation that stays out would refuse every creation, since no replica of it is
/// Ready; and their answers would displace the records that the other installation signs. So they stand aside: the API
/// server asks them about no object until their installation serves the cluster. Not thread-safe.
class StandAside {
 public:
  struct Options {
    std::string configuration;  ///< name of the MutatingWebhookConfiguration and the ValidatingWebhookConfiguration
    std::vector<std::string>
        names;  ///< by which the API server calls us; a webhook that it calls otherwise is not ours
  };
  /// `client` writes also while this replica does not act. All references must outlive it.
  StandAside(kube::Client& client, const base::Clock& steady, Options options, base::Log log);

  /// Called every second or so; cheap while nothing is due.
  void refresh(ServingState serving_state);

  /// What others change is noticed within this time; after a failure it is looked at again sooner.
  static constexpr base::seconds kLookEvery{60};
  static constexpr base::seconds kRetryEvery{5};

 private:
  base::Status look(bool aside);
  base::Status look(const kube::ResourceType& type, bool aside);

  kube::Client& client_;
  const base::Clock& steady_;
  const Options options_;
  const base::Log log_;
  base::TimePoint next_look_ = base::TimePoint::min();
  ServingState seen_state_ = ServingState::kUnknown;
  std::string problem_;  ///< of the last look
};

}  // namespace controllers::webhooks
