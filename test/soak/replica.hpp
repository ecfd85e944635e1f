#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "base/metrics.hpp"
#include "controllers/evacuation/ports.hpp"
#include "controllers/operator/operator.hpp"
#include "controllers/policy/gates/client.hpp"
#include "kube/client.hpp"
#include "kube/runtime/events.hpp"
#include "simulator/api/server.hpp"
#include "test/fakes/mortal_transport.hpp"
#include "test/fakes/wall_clock.hpp"

namespace soak {

inline constexpr const char* kOurUser = "system:serviceaccount:evacuator-system:evacuator";

/// Returns the default configuration, but as a responder and with more than two Evacuations per namespace, since
/// otherwise most PodGroups would never begin.
controllers::OperatorConfig operator_config();

/// Returns the API resources of the simulator; with `native` including the EvictionRequest API.
kube::Discovery what_the_simulator_serves(bool native);

/// Services that a replica uses in addition to the API server.
struct Neighbours {
  controllers::evacuation::ServiceCaller& services;
  controllers::GateClientFactory gates;
  bool native = false;           ///< whether the server serves the EvictionRequest API and the operator is a responder
  bool places_pods = false;      ///< whether the placement webhook is installed
  bool allows_required = false;  ///< webhook.allowRequired
};

/// One process of the operator: the real caches, queues and reconcilers of both kinds, stepped on virtual time.
class Replica {
 public:
  Replica(simulator::ApiServer& server, const base::Clock& clock, std::string identity, const Neighbours& neighbours);

  /// Returns true if anything happened.
  bool step();
  std::optional<base::TimePoint> next_due() const { return operator_.next_due(); }
  /// Processes watch events only.
  void follow();
  /// Calls the placement webhook. Returns nullopt if the review could not be read.
  std::optional<std::string> review_pod(std::string_view review) const { return operator_.review_pod(review); }
  const std::string& identity() const { return identity_; }

  fakes::WallClock wall;
  fakes::MortalTransport transport;
  bool leads = true;

 private:
  const std::string identity_;
  kube::Client client_;
  kube::EventRecorder events_;
  base::Metrics metrics_;
  controllers::Operator operator_;
};

}  // namespace soak
