#pragma once

/// Patroni with Kubernetes as its store, as visible from outside: role labels, the annotation `status`, the keys in
/// Endpoints or ConfigMaps, and POST /switchover through the pod proxy (wire-protocols.md#patroni).

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "simulator/actor.hpp"
#include "simulator/api/request_info.hpp"
#include "simulator/pod_facts.hpp"
#include "simulator/store.hpp"

namespace simulator {

struct PatroniTags {
  bool nofailover = false;
  std::int64_t position = 1000;  ///< log position
  /// The member takes no part in elections, cannot become leader, and updates neither labels nor annotations of its
  /// pod.
  bool frozen = false;
};

struct PatroniCluster {
  std::string ns;
  std::string name;             ///< label cluster-name of the pods
  bool config_maps = false;     ///< keys are in ConfigMaps instead of Endpoints
  base::seconds loop_wait{10};  ///< a switchover is abandoned after twice that time, but not before 20 s
  /// Time from the request to the new leader; no member leads meanwhile. With 0 it completes before the response.
  base::Duration switch_takes{};
  base::Duration demotion = base::seconds(2);  ///< time for which the former leader has no role
  base::Duration joining{};                    ///< time for which a member that became Ready has no role
  std::optional<std::string> sync_standby{};   ///< enables synchronous mode with that standby
  bool performs_switchover = true;             ///< if false, an accepted switchover never happens
  bool wants_credentials = false;              ///< every POST gets 401
  bool https = false;
  std::map<std::string, PatroniTags> tags{};  ///< by pod name
};

class Patroni final : public Actor {
 public:
  explicit Patroni(Store& store) : store_(store) {}

  /// The first Ready member becomes leader.
  void add(PatroniCluster cluster);
  PatroniCluster& cluster(const std::string& name);
  /// Returns the leader, empty if no member leads.
  std::string leader(const std::string& name) const;
  void promote(const std::string& name, const std::string& member);
  /// Handles POST …/pods/<scheme>:<pod>:8008/proxy/switchover for one of the members. Pass to ApiServer::add_endpoint.
  std::optional<kube::Response> answer(const RequestInfo& info, const kube::Request& request);

  std::string_view name() const override { return "patroni"; }
  bool tick(base::TimePoint now) override;
  std::optional<base::TimePoint> next_due() const override;

  std::vector<api::Json> asked;  ///< bodies of all switchover requests

 private:
  struct Switchover {
    std::string from;
    std::string candidate;
    base::TimePoint due;      ///< time when the candidate becomes leader
    base::TimePoint give_up;  ///< time when the key is removed
  };
  struct State {
    PatroniCluster cluster;
    std::string leader{};
    std::optional<Switchover> switchover{};
    std::map<std::string, base::TimePoint> demoted{};  ///< members without a role until that time
  };

  State* find(const std::string& ns, const std::string& member);
  std::vector<PodFacts> members(const State& state) const;
  std::vector<std::string> able(const State& state) const;
  std::string refusal(const State& state, const std::string& leader, const std::string& candidate) const;
  void hand_over(State& state, const std::string& to, base::TimePoint now);
  bool elect(State& state, base::TimePoint now);
  bool advance_switchover(State& state, base::TimePoint now);
  bool has_role(const State& state, const PodFacts& pod) const;
  bool show_member(const State& state, const PodFacts& pod);
  bool show_key(const State& state, const std::string& suffix, const api::Json& annotations);
  bool show(const State& state);

  Store& store_;
  base::TimePoint now_{};
  std::vector<State> states_;
};

}  // namespace simulator
