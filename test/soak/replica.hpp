#pragma once

#include <memory>
#include <string>

#include "base/clock.hpp"
#include "base/metrics.hpp"
#include "controllers/evacuation/ports.hpp"
#include "controllers/operator.hpp"
#include "kube/client.hpp"
#include "kube/runtime/events.hpp"
#include "simulator/api/server.hpp"
#include "test/fakes/mortal_transport.hpp"

namespace soak {

inline constexpr const char* kOurUser = "system:serviceaccount:evacuator-system:evacuator";

/// The default one, but for a responder, and more than two a namespace: else most PodGroups would never begin.
controllers::OperatorConfig operator_config();

/// One process of the operator: the real caches, queues and reconcilers of both kinds, stepped on virtual time. With
/// `native` the server serves the EvictionRequest API, and the operator is a responder, too.
class Replica {
 public:
  Replica(simulator::ApiServer& server, const base::Clock& clock, std::string identity,
          controllers::evacuation::ServiceCaller& services, bool native);

  /// True if anything happened.
  bool step();
  std::optional<base::TimePoint> next_due() const { return operator_.next_due(); }

  fakes::MortalTransport transport;
  bool leads = true;

 private:
  kube::Client client_;
  kube::EventRecorder events_;
  base::Metrics metrics_;
  controllers::Operator operator_;
};

}  // namespace soak
