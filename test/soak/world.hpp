#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "simulator/api_server.hpp"
#include "simulator/cluster.hpp"
#include "test/soak/dice.hpp"
#include "test/soak/invariants.hpp"
#include "test/soak/replica.hpp"

namespace soak {

/// One seed's run: a random cluster with random workloads, budgets and policies; then some hours of random wishes and
/// misfortunes; then calm, until everything has come to rest.
class World {
 public:
  /// `tell` gets a line for each thing that chance does; may be empty.
  World(std::uint64_t seed, std::function<void(const std::string&)> tell);
  ~World();

  /// Empty: all invariants held.
  std::vector<std::string> run();
  const Invariants& invariants() const { return *invariants_; }

 private:
  // --- the stage (stage.cpp)
  void furnish();
  void add_workload(int number);
  void add_policies();

  // --- what chance does (chaos.cpp)
  void disturb();
  void make_evacuation();
  void change_an_evacuation();
  void change_a_pod();
  void change_a_workload();
  void change_a_node();
  void change_the_server();
  void change_the_replicas();
  void calm();

  // --- time
  void settle();
  bool step_everybody();
  void advance(base::Duration by);
  bool at_rest() const;
  void start_replica();
  void bury_the_dead();

  // --- helpers
  void tell(const std::string& line) const;
  void add(api::Json object);
  /// A random object's key; nullopt: there is none.
  std::optional<api::ObjectKey> any(const kube::ResourceType& type, const std::string& ns = {});
  void edit(const kube::ResourceType& type, const api::ObjectKey& key, const std::function<void(api::Json&)>& change);
  void as_user(const kube::Request& request);

  Dice dice_;
  std::function<void(const std::string&)> tell_;
  base::ManualClock clock_;
  std::unique_ptr<simulator::Cluster> cluster_;
  std::unique_ptr<simulator::ApiServer> server_;
  std::unique_ptr<Invariants> invariants_;
  std::vector<std::unique_ptr<Replica>> replicas_;  ///< at most one leads
  int started_ = 0;
  int wishes_ = 0;
  bool peaceful_ = false;
  std::optional<base::TimePoint> restart_at_;
};

}  // namespace soak
