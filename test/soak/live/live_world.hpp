#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "api/json/json.hpp"
#include "base/clock.hpp"
#include "base/result.hpp"
#include "simulator/api/server.hpp"
#include "simulator/cluster.hpp"
#include "test/soak/dice.hpp"

namespace soak {

class LiveReplica;

/// The operator with all its threads on a cluster in real time: leader and standby, failovers, concurrent users and
/// faults. Covers what stepping on virtual time cannot, mainly for ThreadSanitizer. A seed determines the actions of
/// users, but not their times.
class LiveWorld {
 public:
  explicit LiveWorld(std::uint64_t seed);
  ~LiveWorld();

  /// Runs for `time`, then waits until all Evacuations have ended. Returns the violations.
  std::vector<std::string> run(base::seconds time);

 private:
  void furnish();
  void add_policy(const std::string& name, const api::Json& strategy);
  /// Acts as one user until stopped.
  void act(std::uint64_t seed, std::stop_token stop);
  void act_once(Dice& dice);
  void evacuate_some_pod(Dice& dice);
  void change_some_evacuation(Dice& dice);
  void delete_some_pod(Dice& dice);
  void change_some_policy(Dice& dice);
  void change_the_server(Dice& dice);
  void look_around(Dice& dice);
  void fail_over(Dice& dice);
  /// Stops faults and new actions.
  void calm();
  bool at_rest();
  void check_journal();

  api::ObjectKey any(const kube::ResourceType& type, Dice& dice);
  kube::Response as_user(const kube::Request& request);
  void add(api::Json object);

  const std::uint64_t seed_;
  base::SystemClock clock_;
  simulator::Cluster cluster_;
  simulator::ApiServer server_;
  std::atomic<bool> gate_holds_ = false;
  std::atomic<std::size_t> leader_ = 0;
  std::atomic<int> requests_ = 0;
  std::vector<std::unique_ptr<LiveReplica>> replicas_;  ///< the same replicas during the complete run
  std::vector<std::string> violations_;
};

}  // namespace soak
