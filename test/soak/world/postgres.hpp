#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/actor.hpp"
#include "simulator/api/request_info.hpp"
#include "simulator/api/server.hpp"
#include "simulator/operators/patroni.hpp"
#include "simulator/store.hpp"

namespace soak {

inline constexpr kube::ResourceType kCnpgClusters{"postgresql.cnpg.io", "v1", "clusters", "Cluster"};
inline constexpr kube::ResourceType kPgoClusters{"postgres-operator.crunchydata.com", "v1beta1", "postgresclusters",
                                                 "PostgresCluster"};

enum class PostgresKind { kCloudNativePg, kZalando, kCrunchy };

/// A database cluster: the pods of the StatefulSet `name` in namespace shop, one of them the primary.
struct Database {
  std::string name;
  PostgresKind kind = PostgresKind::kCloudNativePg;
  base::Duration takes{};  ///< duration of a switchover
  bool obeys = true;       ///< whether it executes requested switchovers
};

/// Returns the labels of its pods without the role, and the key of the role label.
std::map<std::string, std::string> labels_of(const Database& database);
std::string role_label_of(PostgresKind kind);
/// Returns true if the pod's label marks it as the primary of a database.
bool is_primary(const api::Json& pod);

/// The visible behavior of CloudNativePG, Zalando's operator with Patroni, and PGO: they keep one Ready pod as primary,
/// fail over when it leaves, and switch over on request.
class PostgresOperators final : public simulator::Actor {
 public:
  explicit PostgresOperators(simulator::Store& store) : store_(store), patroni_(store) {}

  /// Serves their kinds and Patroni's API behind the pod proxy. Call before any traffic. `operators` must outlive
  /// `server`.
  static void serve(simulator::ApiServer& server, PostgresOperators& operators);
  void add(Database database);

  std::string_view name() const override { return "postgres-operators"; }
  bool tick(base::TimePoint now) override;
  std::optional<base::TimePoint> next_due() const override;

 private:
  struct State {
    Database database;
    std::string primary;
    std::optional<base::TimePoint> switches_at{};
    std::string candidate{};  ///< target of the current switchover
    std::string done{};       ///< PGO: the last trigger that was executed
  };

  std::vector<std::string> healthy(const Database& database) const;
  bool fail_over(State& state);
  std::string asked_for(const State& state) const;
  bool obey(State& state, base::TimePoint now);
  bool publish_leader_key(const State& state);
  bool tell(const State& state);
  bool publish_cluster(const State& state);

  simulator::Store& store_;
  simulator::Patroni patroni_;  ///< in the pods of Zalando's clusters
  std::vector<State> states_;
};

}  // namespace soak
