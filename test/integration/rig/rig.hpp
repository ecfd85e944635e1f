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

/// A simulated cluster with the real operator, in one thread and on virtual time.
namespace integration {

inline const base::TimePoint kNoon = *base::parse_time("2026-11-21T12:00:00Z");

using fakes::WallClock;

/// One process of the operator: the real caches, queues and reconcilers of all kinds. There is no leader election: an
/// existing operator leads.
class Operator : private kube::EventSink {
 public:
  Operator(simulator::ApiServer& server, const base::ManualClock& clock, std::string identity,
           api::InFlightLimits limits, controllers::evacuation::ServiceCaller* services = nullptr,
           bool responds = false, controllers::UsageSourceFactory usage_sources = {},
           controllers::GateClientFactory gates = {}, bool places_pods = false, bool allows_required = false,
           bool trusts_creators = false, controllers::SpanSink* spans = nullptr);

  /// Processes watch events and reconciles one key that is ready. Returns true if anything happened.
  bool poll();
  /// Processes watch events only, like a standby.
  void follow();
  /// Calls the operator's webhook at `path`, which uses the caches.
  std::optional<std::string> review(std::string_view path, std::string_view body);
  std::optional<base::TimePoint> next_due() const { return operator_.next_due(); }
  base::Status ready() const { return operator_.ready(); }
  base::Status alive() const { return operator_.alive(); }

  WallClock wall;
  fakes::MortalTransport transport;
  base::Metrics metrics;
  bool may_act = true;
  bool informers_frozen = false;    ///< simulates lagging informers: the caches do not change
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

  // --- cluster setup
  /// Creates three nodes and a Deployment shop/web, and waits until its pods run. Adds `annotations` to its pods.
  void stage(int replicas = 3, std::vector<std::pair<std::string, std::string>> annotations = {});
  void budget(const std::string& name, const std::string& app, int min_available);
  void add(api::Json object);
  /// Returns the sorted names of the pods of shop with app=<app> that run and are not terminating.
  std::vector<std::string> pods(const std::string& app = "web") const;
  /// Creates an Evacuation of shop/<pod>. `edit` may change its spec before. Returns its name.
  std::string evacuate(const std::string& pod, const std::function<void(api::Json& spec)>& edit = {});
  /// Creates an Evacuation that the operator has signed, as for the policy in spec.source. Returns its name.
  std::string evacuate_as_operator(const std::string& pod, const std::function<void(api::Json& spec)>& edit = {});

  /// Returns an Evacuation of shop/<pod> without creating it.
  api::Json evacuation_of(const std::string& pod, const std::function<void(api::Json& spec)>& edit = {}) const;
  /// Returns the object with the operator's signature at the current time.
  api::Json signed_now(api::Json body) const;
  /// Creates the object and returns its name.
  std::string create(const api::Json& body, const std::string& user = "alice");

  // --- execution
  void start_operator(const std::string& identity = "replica-1");
  void stop_operator() { replica.reset(); }
  /// Runs cluster and operator until nothing is left to do at this instant.
  void settle();
  /// Advances from due time to due time until `condition` holds. Returns false after `limit`.
  bool run_until(const std::function<bool()>& condition, base::Duration limit);
  void run_for(base::Duration time);
  /// Advances by `time` for a test with its own operator.
  void drive(controllers::Operator& op, kube::EventRecorder& events, base::Duration time);
  bool run_to_end(const std::string& name, base::Duration limit = std::chrono::hours(3));
  /// Runs until all Evacuations have ended and replaces the operator whenever it crashes. Calls `meanwhile` at each
  /// check. Returns false after `limit`.
  bool run_to_end_over_deaths(const std::vector<std::string>& names, base::Duration limit,
                              const std::function<void()>& meanwhile = {});

  // --- actions of users and owners
  void patch_evacuation(const std::string& name, const api::Json& merge);
  void cancel(const std::string& name);
  void delete_evacuation(const std::string& name);
  void annotate(const std::string& pod, const std::string& key, const std::optional<std::string>& value);
  /// Installs the webhook configurations of config/placement-webhook.
  void install_placement_webhook() { install_webhooks("placement-webhook"); }
  /// Installs the webhook configurations of config/admission-webhook. Every operator answers them.
  void install_admission_webhook() { install_webhooks("admission-webhook"); }
  void edit(const kube::ResourceType& type, const std::string& name, const std::function<void(api::Json&)>& change,
            const std::string& ns = "shop");

  // --- observation
  std::optional<api::Evacuation> find(const std::string& name) const;
  api::Evacuation get(const std::string& name) const;
  api::EvacuationPhase phase(const std::string& name) const { return get(name).status.phase; }
  std::string reason(const std::string& name) const { return get(name).status.reason; }
  /// Returns true in a terminal phase without the operator's finalizer.
  bool has_ended(const std::string& name) const;
  std::string condition(const std::string& name, std::string_view type) const;
  api::DeschedulerPolicyStatus policy_status(const std::string& policy) const;
  /// Returns a condition without reason if the policy does not have it.
  api::Condition policy_condition(const std::string& policy, std::string_view type) const;
  /// Returns "Reason: message", or an empty string without the condition.
  std::string policy_words(const std::string& policy, std::string_view type) const;
  /// Returns the number of Evacuations in shop, including ended ones.
  std::size_t evacuation_count() const;
  std::string annotation(const std::string& pod, const std::string& key) const;
  bool pod_exists(const std::string& pod) const;
  std::string pod_uid(const std::string& pod) const;
  bool has_event(const std::string& reason) const;
  /// Returns the answered eviction requests of the operator, oldest first.
  std::vector<simulator::JournalEntry> evictions() const;
  /// Returns the number of distinct pods that the operator's evictions have deleted.
  std::size_t granted() const;

  base::ManualClock clock{kNoon};
  api::InFlightLimits limits{api::IntOrPercent{5, false}, api::IntOrPercent{2, false}, {}, api::IntOrPercent{1, false}};
  std::unique_ptr<simulator::Cluster> cluster;
  std::unique_ptr<simulator::ApiServer> server;
  std::unique_ptr<Operator> replica;
  /// Passed to start_operator()'s operator; must outlive it.
  controllers::evacuation::ServiceCaller* services = nullptr;
  api::Json responders = nullptr;                 ///< spec.evictionResponders of the pods of stage()
  bool responds = false;                          ///< whether operators answer EvictionRequests
  controllers::UsageSourceFactory usage_sources;  ///< empty for no usage sources
  controllers::GateClientFactory gates;           ///< clients for the gates of policies; empty for none
  bool places_pods = false;      ///< whether operators serve the placement webhook; set before start_operator()
  bool allows_required = false;  ///< webhook.allowRequired; set before start_operator()
  bool trusts_creators = false;  ///< webhook.admission.trustCreators; set before start_operator()
  bool webhook_answers = true;   ///< whether the API server can reach the webhook
  controllers::SpanSink* spans = nullptr;  ///< sink of the operators' traces; must outlive them
  /// Called after each step, for checks that must hold at all times.
  std::function<void()> watcher;

 private:
  void install_webhooks(const std::string& folder);
  void install_crds();
  void guard_evictions();
  void check_journal();
  std::vector<std::string> violations_;
};

}  // namespace integration
