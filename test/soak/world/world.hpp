#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "simulator/api/server.hpp"
#include "simulator/cluster.hpp"
#include "test/soak/dice.hpp"
#include "test/soak/replica.hpp"
#include "test/soak/watches/invariants.hpp"
#include "test/soak/world/gate.hpp"
#include "test/soak/world/mover.hpp"
#include "test/soak/world/placer.hpp"
#include "test/soak/world/postgres.hpp"

namespace soak {

/// The run of one seed: a random cluster with random workloads, budgets and policies, then some hours of random
/// requests and faults, then no disturbances until everything has ended.
class World {
  using Annotations = std::vector<std::pair<std::string, std::string>>;

 public:
  /// Calls `tell` with a line for each random action. `tell` may be empty.
  World(std::uint64_t seed, std::function<void(const std::string&)> tell);
  ~World();

  /// Returns the violations, empty if all invariants hold.
  std::vector<std::string> run();
  const Invariants& invariants() const { return *invariants_; }

 private:
  // --- setup (stage.cpp, workloads.cpp)
  void furnish();
  void install_owners();
  void add_placement_webhook();
  void add_policies();
  /// Adds a policy in mode Automatic.
  void add_policy(const std::string& name, const api::Json& strategy);
  /// Adds a policy whose hooks (Jobs) are used by manual Evacuations only.
  void add_hooks();
  void add_workload(int number);
  void add_pods(const std::string& name);
  void add_handoffs(const std::string& name);
  void add_stateful(const std::string& name);
  void add_native(const std::string& name);
  void add_surged(const std::string& name);
  void add_database(const std::string& name);
  void add_machines(const std::string& name);
  void add_pod_group(const std::string& name);
  /// Adds a Deployment or StatefulSet at random, with `annotations` on its pods. Some pods stop slowly.
  void add_set(const std::string& name, int replicas, const Annotations& annotations);

  // --- requests of users (requests.cpp)
  void make_evacuation();
  void evacuate(const api::ObjectKey& pod, const api::Json& wanted);
  api::Json any_spec();
  api::Json any_hint();
  api::Json any_chain(const std::string& workload);
  void change_an_evacuation();
  /// Creates an EvictionRequest or withdraws one.
  void ask_natively();
  void withdraw(const api::ObjectKey& request);

  // --- random disturbances (chaos.cpp)
  void disturb();
  void change_a_pod();
  void replay_old_words(const api::ObjectKey& pod);
  void change_a_machine();
  void change_the_hooks();
  void change_a_workload();
  void change_a_node();
  void change_a_kubelet(const api::ObjectKey& node);
  void change_the_server();
  void change_the_replicas();
  void change_the_clock();
  void calm();

  // --- time
  void settle();
  bool step_everybody();
  void advance(base::Duration by);
  bool at_rest() const;
  void start_replica();
  void bury_the_dead();
  void count_call(Replica& replica);
  /// Returns true if the leader sees all stored objects soon: the server has no faults and had none recently.
  bool is_told_all() const;
  base::Result<std::string> answer_webhook(const simulator::WebhookCall& call);

  // --- helpers
  void tell(const std::string& line) const;
  void add(api::Json object);
  /// Returns the key of a random object, nullopt if no such object exists.
  std::optional<api::ObjectKey> any(const kube::ResourceType& type, const std::string& ns = {});
  void edit(const kube::ResourceType& type, const api::ObjectKey& key, const std::function<void(api::Json&)>& change);
  void as_user(const kube::Request& request);

  Dice dice_;
  std::function<void(const std::string&)> tell_;
  base::ManualClock clock_;
  std::unique_ptr<simulator::Cluster> cluster_;
  std::unique_ptr<simulator::ApiServer> server_;
  std::unique_ptr<Invariants> invariants_;
  std::unique_ptr<Mover> mover_;
  std::unique_ptr<Gate> gate_;
  Placer placer_;
  PostgresOperators* databases_ = nullptr;          ///< one of the cluster's controllers
  bool native_served_ = false;                      ///< whether the EvictionRequest API is served
  bool draft_names_ = false;                        ///< whether the EvictionRequest API uses the names of its drafts
  bool hooks_ = false;                              ///< whether a policy with hooks exists or existed
  bool places_pods_ = false;                        ///< whether the placement webhook is installed
  bool allows_required_ = false;                    ///< whether the placement webhook accepts required hints of users
  std::optional<base::TimePoint> recovered_at_;     ///< when the last fault of the server ended
  std::map<std::string, std::string> likes_;        ///< evictor that suits the workload, by workload name
  std::vector<std::unique_ptr<Replica>> replicas_;  ///< at most one leads
  int started_ = 0;
  int calls_now_ = 0;  ///< calls of the operator since the clock last advanced
  base::TimePoint called_at_{};
  int requests_ = 0;
  bool peaceful_ = false;
  std::optional<base::TimePoint> restart_at_;
};

}  // namespace soak
