#include "test/soak/live/live_replica.hpp"

#include <memory>
#include <utility>

#include "test/soak/replica.hpp"

namespace soak {
namespace {

constexpr int kWorkers = 8;

class LiveGate final : public controllers::GateClient {
 public:
  explicit LiveGate(const std::atomic<bool>& holds) : holds_(holds) {}
  base::Result<std::string> ask(kube::Request) override {
    return std::string(holds_ ? R"({"hold": true})" : R"({"hold": false})");
  }

 private:
  const std::atomic<bool>& holds_;
};

controllers::OperatorConfig live_config() {
  controllers::OperatorConfig config = operator_config();
  config.workers = kWorkers;
  config.webhook.enabled = true;
  return config;
}

void end(std::jthread& thread) {
  thread.request_stop();
  if (thread.joinable()) thread.join();
}

}  // namespace

LiveReplica::LiveReplica(simulator::ApiServer& server, const base::Clock& clock, const std::string& identity,
                         std::function<bool()> leads, const std::atomic<bool>& gate_holds)
    : transport_(server, {kOurUser, {}, "evacuator"}),
      client_(transport_, nullptr),
      events_(client_, clock, kube::EventOptions{.instance = identity}, base::Log()),
      operator_({.client = client_,
                 .clock = clock,
                 .discovery = what_the_simulator_serves(false),
                 .config = live_config(),
                 .identity = identity,
                 .may_act = std::move(leads),
                 .events = events_,
                 .metrics = metrics_,
                 .log = {},
                 .gates = [&gate_holds](const api::UsageEndpoint&,
                                        std::size_t) { return std::make_unique<LiveGate>(gate_holds); },
                 .hints_in_force = [] { return true; }}) {}

void LiveReplica::start() {
  recorder_ = std::jthread([this](std::stop_token stop) { events_.run(stop); });
  caches_ = std::jthread([this](std::stop_token stop) { operator_.run_caches(stop); });
}

void LiveReplica::lead() {
  workers_ = std::jthread([this](std::stop_token stop) { operator_.run_workers(stop); });
}

void LiveReplica::step_down() { end(workers_); }

void LiveReplica::stop() {
  end(workers_);
  end(caches_);
  end(recorder_);
}

}  // namespace soak
