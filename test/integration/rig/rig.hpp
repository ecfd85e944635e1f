#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "api/descheduler_policy.hpp"
#include "api/evacuation.hpp"
#include "api/json/json.hpp"
#include "api/meta/condition.hpp"
#include "base/clock.hpp"
#include "base/metrics.hpp"
#include "controllers/operator/operator.hpp"
#include "kube/client.hpp"
#include "kube/runtime/event.hpp"
#include "kube/runtime/events.hpp"
#include "simulator/api/server.hpp"
#include "simulator/cluster.hpp"
#include "test/fakes/mortal_transport.hpp"
#include "test/fakes/wall_clock.hpp"

/// A simulated cluster and the real operator on it, in one thread and on virtual time.
namespace integration {

inline const base::TimePoint kNoon = *base::parse_time("2026-11-21T12:00:00Z");

using fakes::WallClock;

/// One process of the operator: the real caches, queues and reconcilers of all kinds. Without leader election: exists =
/// leads.
class Operator : private kube::EventSink {
 public:
  Operator(simulator::ApiServer& server, const base::ManualClock& clock, std::string identity,
           api::InFlightLimits limits, controllers::evacuation::ServiceCaller* services = nullptr,
           bool responds = false, controllers::UsageSourceFactory usage_sources = {},
           controllers::GateClientFactory gates = {}, bool places_pods = false, bool allows_required = false,
           bool trusts_creators = false, controllers::SpanSink* spans = nullptr);

  /// Takes in what the watches bring and works off one key that is ready. True if anything happened.
  bool poll();
  /// Takes in what the watches bring, and nothing more: what a standby does.
  void follow();
  /// Its webhook at that path, which knows what the watches have brought.
  std::optional<std::string> review(std::string_view path, std::string_view body);
  std::optional<base::TimePoint> next_due() const { return operator_.next_due(); }
  base::Status ready() const { return operator_.ready(); }
  base::Status alive() const { return operator_.alive(); }

  WallClock wall;
  fakes::MortalTransport transport;
  base::Metrics metrics;
  bool may_act = true;
  bool informers_frozen = false;    ///< the caches stay as they are: an informer that lags
  std::vector<std::string> events;  ///< "<object> <reason>"

 private:
  void publish(kube::Event event) override { events.push_back(event.regarding.name + " " + event.reason); }

  kube::Client client_;
  controllers::Operator operator_;
};

class Rig : public testing::Test {
 protected:
  Rig();
  ~Rig() override;

  // --- the stage
  /// Three nodes, a Deployment shop/web whose pods run. `annotations` go on its pods.
  void stage(int replicas = 3, std::vector<std::pair<std::string, std::string>> annotations = {});
  void budget(const std::string& name, const std::string& app, int min_available);
  void add(api::Json object);
  /// Names of the pods of shop with app=<app>, alive and not terminating, by name.
  std::vector<std::string> pods(const std::string& app = "web") const;
  /// spec fields of an Evacuation of shop/<pod>; `edit` may change the whole object before it is created.
  std::string evacuate(const std::string& pod, const std::function<void(api::Json& spec)>& edit = {});
  /// The same, made and signed by the operator, as for a policy that spec.source names.
  std::string evacuate_as_operator(const std::string& pod, const std::function<void(api::Json& spec)>& edit = {});

  /// An Evacuation of shop/<pod> that nobody has made yet.
  api::Json evacuation_of(const std::string& pod, const std::function<void(api::Json& spec)>& edit = {}) const;
  /// With the operator's signature, as of now.
  api::Json signed_now(api::Json body) const;
  /// Makes it; its name.
  std::string create(const api::Json& body, const std::string& user = "alice");

  // --- the play
  void start_operator(const std::string& identity = "replica-1");
  void stop_operator() { replica.reset(); }
  /// Lets everybody work until nobody has anything to do at this instant.
  void settle();
  /// Advances from due time to due time until `condition` holds. False after `limit`.
  bool run_until(const std::function<bool()>& condition, base::Duration limit);
  void run_for(base::Duration time);
  /// The same for a test that brings an operator of its own.
  void drive(controllers::Operator& op, kube::EventRecorder& events, base::Duration time);
  bool run_to_end(const std::string& name, base::Duration limit = std::chrono::hours(3));
  /// The same for all of them, though the process may die: another one takes over. `meanwhile` is called at each look.
  bool run_to_end_over_deaths(const std::vector<std::string>& names, base::Duration limit,
                              const std::function<void()>& meanwhile = {});

  // --- what a user or an owner does
  void patch_evacuation(const std::string& name, const api::Json& merge);
  void cancel(const std::string& name);
  void delete_evacuation(const std::string& name);
  void annotate(const std::string& pod, const std::string& key, const std::optional<std::string>& value);
  /// The webhook configurations of config/placement-webhook.
  void install_placement_webhook() { install_webhooks("placement-webhook"); }
  /// Those of config/admission-webhook: every operator answers them.
  void install_admission_webhook() { install_webhooks("admission-webhook"); }
  void edit(const kube::ResourceType& type, const std::string& name, const std::function<void(api::Json&)>& change,
            const std::string& ns = "shop");

  // --- what is seen
  std::optional<api::Evacuation> find(const std::string& name) const;
  api::Evacuation get(const std::string& name) const;
  api::EvacuationPhase phase(const std::string& name) const { return get(name).status.phase; }
  std::string reason(const std::string& name) const { return get(name).status.reason; }
  /// In a terminal phase and let go by us.
  bool has_ended(const std::string& name) const;
  std::string condition(const std::string& name, std::string_view type) const;
  api::DeschedulerPolicyStatus policy_status(const std::string& policy) const;
  /// Without a reason where the policy does not have it.
  api::Condition policy_condition(const std::string& policy, std::string_view type) const;
  /// "Reason: message" of it, or "" without it.
  std::string policy_words(const std::string& policy, std::string_view type) const;
  /// Evacuations in shop, ended ones too.
  std::size_t evacuation_count() const;
  std::string annotation(const std::string& pod, const std::string& key) const;
  bool pod_exists(const std::string& pod) const;
  std::string pod_uid(const std::string& pod) const;
  bool has_event(const std::string& reason) const;
  /// Eviction requests of the operator that the server answered, oldest first.
  std::vector<simulator::JournalEntry> evictions() const;
  /// Distinct pods that got a deletionTimestamp through our evictions.
  std::size_t granted() const;

  base::ManualClock clock{kNoon};
  api::InFlightLimits limits{api::IntOrPercent{5, false}, api::IntOrPercent{2, false}, {}, api::IntOrPercent{1, false}};
  std::unique_ptr<simulator::Cluster> cluster;
  std::unique_ptr<simulator::ApiServer> server;
  std::unique_ptr<Operator> replica;
  /// What start_operator() gives the operator to call; must outlive it.
  controllers::evacuation::ServiceCaller* services = nullptr;
  api::Json responders = nullptr;                 ///< spec.evictionResponders of the pods of stage()
  bool responds = false;                          ///< operators answer native Evictions
  controllers::UsageSourceFactory usage_sources;  ///< what measures; empty: nothing
  controllers::GateClientFactory gates;           ///< how operators ask policies' gates; empty: not at all
  bool places_pods = false;                       ///< operators serve the placement webhook; set before they start
  bool allows_required = false;                   ///< webhook.allowRequired; likewise
  bool trusts_creators = false;                   ///< webhook.admission.trustCreators; likewise
  bool webhook_answers = true;                    ///< false: nobody reaches it
  controllers::SpanSink* spans = nullptr;         ///< where operators' traces go; must outlive them
  /// Any number of our pods on their way out at once, by an independent look at every step.
  std::function<void()> watcher;

 private:
  void install_webhooks(const std::string& folder);
  void install_crds();
  void guard_evictions();
  void check_journal();
  std::vector<std::string> violations_;
};

}  // namespace integration
