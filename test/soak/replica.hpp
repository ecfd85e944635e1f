#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/clock.hpp"
#include "base/metrics.hpp"
#include "controllers/evacuation_ports.hpp"
#include "controllers/operator.hpp"
#include "kube/client.hpp"
#include "kube/events.hpp"
#include "kube/transport.hpp"
#include "simulator/api_server.hpp"

namespace soak {

inline constexpr const char* kOurUser = "system:serviceaccount:evacuator-system:evacuator";

/// The replica's way to the server; can die at a call, before the server sees it or after.
class MortalTransport final : public kube::Transport {
 public:
  MortalTransport(simulator::ApiServer& server, simulator::User user) : inner_(server, std::move(user)) {}

  base::Result<kube::Response> round_trip(const kube::Request& request) override;
  base::Result<std::unique_ptr<kube::WatchStream>> watch(const kube::Request& request) override;

  /// Dies at the n-th call from now.
  void die_in(int calls, bool after_the_call);
  void die() { dead_ = true; }
  bool dead() const { return dead_; }
  std::function<void(const kube::Request&)> before_each_call;
  std::function<void()> after_each_call;

 private:
  simulator::SimulatorTransport inner_;
  int calls_left_ = -1;
  bool after_the_call_ = false;
  bool dead_ = false;
};

/// One process of the operator: the real caches, queues and reconcilers of both kinds, stepped on virtual time. With
/// `native` the server serves the native eviction API, and the operator is a responder, too.
class Replica {
 public:
  Replica(simulator::ApiServer& server, const base::Clock& clock, std::string identity,
          controllers::ServiceCaller& services, bool native);

  /// True if anything happened.
  bool step();
  std::optional<base::TimePoint> next_due() const { return operator_.next_due(); }

  MortalTransport transport;
  bool leads = true;

 private:
  kube::Client client_;
  kube::EventRecorder events_;
  base::Metrics metrics_;
  controllers::Operator operator_;
};

}  // namespace soak
