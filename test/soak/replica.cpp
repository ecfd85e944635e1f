#include "test/soak/replica.hpp"

namespace soak {
namespace {

base::Error died() { return {base::ErrorCode::kCancelled, "the process is dead"}; }

kube::Discovery what_the_simulator_serves(bool native) {
  kube::Discovery found;
  found.server_version = "v1.32.0";
  found.eviction_version = "v1";
  found.has_evacuations = found.has_policies = true;
  found.has_native_evictions = native;
  return found;
}

controllers::OperatorConfig responding() {
  controllers::OperatorConfig config;
  config.responder_enabled = true;
  return config;
}

}  // namespace

base::Result<kube::Response> MortalTransport::round_trip(const kube::Request& request) {
  if (dead_) return died();
  const bool last = calls_left_ == 0;
  if (calls_left_ >= 0) --calls_left_;
  if (last) dead_ = true;
  if (last && !after_the_call_) return died();
  if (before_each_call) before_each_call(request);
  auto answer = inner_.round_trip(request);
  if (after_each_call) after_each_call();
  if (last) return died();
  return answer;
}

base::Result<std::unique_ptr<kube::WatchStream>> MortalTransport::watch(const kube::Request& request) {
  if (dead_) return died();
  return inner_.watch(request);
}

void MortalTransport::die_in(int calls, bool after_the_call) {
  calls_left_ = calls;
  after_the_call_ = after_the_call;
}

Replica::Replica(simulator::ApiServer& server, const base::Clock& clock, std::string identity,
                 controllers::ServiceCaller& services, bool native)
    : transport(server, {kOurUser, {}, "evacuator"}),
      client_(transport, nullptr),
      events_(client_, clock, kube::EventOptions{.instance = identity}, base::Log()),
      operator_({.client = client_,
                 .clock = clock,
                 .discovery = what_the_simulator_serves(native),
                 .config = responding(),
                 .identity = identity,
                 .may_act = [this] { return leads && !transport.dead(); },
                 .events = events_,
                 .metrics = metrics_,
                 .log = {},
                 .services = &services}) {}

bool Replica::step() {
  if (transport.dead()) return false;
  const bool busy = operator_.step();
  if (!transport.dead()) events_.drain();
  return busy;
}

}  // namespace soak
