#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "api/meta/well_known.hpp"
#include "simulator/behaviour.hpp"
#include "simulator/kubevirt/kubevirt.hpp"
#include "simulator/objects.hpp"
#include "test/soak/world/world.hpp"

namespace soak {
namespace {

namespace objects = simulator::objects;
namespace behaviour = simulator::behaviour;
using api::Json;

/// Scripts for the operators of handoff pods. The last ones misbehave.
const std::vector<std::string> kScripts = {
    "ack=1s, heartbeat=10s, progress=4s, ready=20s, aborted=1s",
    "ack=1s, pre-done=3s, progress=4s, heartbeat=10s, ready=8s, aborted=1s",
    "ack=5s, heartbeat=60s, ready=1800s, aborted=2s",
    "ack=1s, heartbeat=10s, owner-deletes=25s, aborted=1s",
    "ack=1s, heartbeat=10s, ready=5s, revoke=1s, aborted=1s",
    "ack=1s, failed=5s:RetryableBusy:disk full",
    "ack=1s, failed=5s:Broken:no way",
    "ack=1s, heartbeat=10s, ready=20s",  // never confirms an abort
    "",                                  // no operator answers
    "ack=1s, heartbeat=10s, ready=20s, aborted=1s, stale-token",
    "ack=1s, heartbeat=10s, ready=20s, answers-after-abort, skew=-10m",
    "ack=1s, heartbeat=10s, unchanged-heartbeat, aborted=1s",
    "ack=1s, heartbeat=10s, ready=20s, silent-after=ack, skew=10m",
};
const std::vector<std::string> kBackground = {"move=10s", "fail=5s", "silent"};

/// Scripts for live migrations.
const std::vector<std::string> kMigrations = {"",
                                              "run=120s",
                                              "fail=1",
                                              "fail=2, reason=disk full",
                                              "fail=always",
                                              "never-starts",
                                              "unschedulable",
                                              "post-copy=4s, run=60s",
                                              "shutdown=5s",
                                              "abort=30s, run=300s",
                                              "external=30s",
                                              "preparing=90s, scheduled=30s"};

/// Pods that an adapter of stateful-handoff recognizes by the operator's labels and annotations.
struct Stateful {
  const char* name;
  std::vector<std::pair<std::string, std::string>> labels;
  std::vector<std::pair<std::string, std::string>> annotations;
  std::vector<std::string> rolls;  ///< possible reactions of its operator to a marked pod
};
const std::vector<Stateful> kStateful = {
    {"strimzi",
     {{"strimzi.io/kind", "Kafka"}, {"strimzi.io/name", "my-kafka"}},
     {},
     {"roll=120s", "roll=20s", "never", "drop=5s"}},
    {"couchbase", {{"couchbase_cluster", "cb"}}, {}, {"roll=60s", "never", "drop=5s"}},
    {"tikv",
     {{"app.kubernetes.io/component", "tikv"}, {"app.kubernetes.io/managed-by", "tidb-operator"}},
     {},
     {"roll=30s", "never"}},
    {"vitess", {}, {{"drain.planetscale.com/supported", ""}}, {}},
};

const std::vector<std::string> kResponderScripts = {"evict=10s", "evict=120s, heartbeat=30s, eta=2m", "decline=5s",
                                                    "silent"};

}  // namespace

void World::add_workload(int number) {
  const std::string name = fmt::format("app-{}", number);
  switch (dice_.below(10)) {
    case 0:
    case 1: return add_handoffs(name);
    case 2: return add_stateful(name);
    case 3: return add_native(name);
    case 4: return add_surged(name);
    case 5: return add_machines(name);
    case 6: return add_pod_group(name);
    case 7: return add_database(name);
    default: return add_pods(name);
  }
}

void World::add_set(const std::string& name, int replicas, const Annotations& annotations) {
  const bool stateful = dice_.one_in(4);
  Json workload = stateful ? objects::stateful_set("shop", name, replicas, "200m", "128Mi")
                           : objects::deployment("shop", name, replicas, "200m", "128Mi");
  objects::annotate_pods(workload, "example.com/foreign", "untouched");
  for (const auto& [key, value] : annotations) objects::annotate_pods(workload, key, value);
  if (dice_.one_in(5)) objects::annotate_pods(workload, behaviour::kStopSeconds, "25");
  add(std::move(workload));
  if (!stateful) invariants_->expect_replicas({"shop", name}, replicas);
}

void World::add_pods(const std::string& name) {
  const int replicas = static_cast<int>(dice_.between(1, 4));
  Annotations annotations;
  if (dice_.one_in(3)) {
    annotations = {{"descheduler.alpha.kubernetes.io/request-evict-only", ""},
                   {std::string(behaviour::kBackground), dice_.of(kBackground)}};
  } else if (dice_.one_in(3)) {
    likes_[name] = "webhook";
  }
  tell(fmt::format("{}: {} {} pods", name, replicas, annotations.empty() ? "plain" : "background"));
  add_set(name, replicas, annotations);
  if (dice_.one_in(2)) add(objects::pdb_min_available("shop", name, name, dice_.between(0, replicas)));
}

void World::add_handoffs(const std::string& name) {
  const int replicas = static_cast<int>(dice_.between(1, 4));
  const std::string& script = dice_.of(kScripts);
  Annotations annotations = {{"handoff.evacuator.dev/mode", dice_.one_in(3) ? "optional" : "required"},
                             {"handoff.evacuator.dev/timeout", "40m"}};
  if (dice_.one_in(2))
    annotations.emplace_back("handoff.evacuator.dev/phases",
                             dice_.of<std::string>({"pre,migrate", "migrate", "pre,migrate,post"}));
  if (dice_.one_in(4)) annotations.emplace_back("handoff.evacuator.dev/second-copy", "true");
  if (dice_.one_in(4)) annotations.emplace_back("handoff.evacuator.dev/strict", "true");
  if (script.find("owner-deletes") != std::string::npos)
    annotations.emplace_back("handoff.evacuator.dev/evict-by", "owner");
  if (!script.empty()) annotations.emplace_back(behaviour::kHandoff, script);
  if (dice_.one_in(3)) likes_[name] = "stateful-handoff";
  tell(fmt::format("{}: {} pods with a handoff: {}", name, replicas, script));
  add_set(name, replicas, annotations);
  if (dice_.one_in(3)) add(objects::pdb_min_available("shop", name, name, dice_.between(0, replicas)));
}

void World::add_stateful(const std::string& name) {
  const Stateful& kind = dice_.of(kStateful);
  Json set = objects::stateful_set("shop", name, static_cast<int>(dice_.between(1, 3)), "200m", "128Mi");
  objects::annotate_pods(set, "example.com/foreign", "untouched");
  for (const auto& [key, value] : kind.labels) objects::template_of(set)["metadata"]["labels"][key] = value;
  for (const auto& [key, value] : kind.annotations) objects::annotate_pods(set, key, value);
  const std::string roll = kind.rolls.empty() ? "" : dice_.of(kind.rolls);
  if (!roll.empty()) objects::annotate_pods(set, behaviour::kRoll, roll);
  if (kind.rolls.empty())
    objects::annotate_pods(
        set, behaviour::kVitess,
        dice_.of<std::string>({"ack=1s, finish=20s", "ack=5s, finish=4000s", "ack=1s, finish=10s, withdraw=5s"}));
  likes_[name] = "stateful-handoff";
  tell(fmt::format("{}: pods of {} {}", name, kind.name, roll));
  add(std::move(set));
}

void World::add_native(const std::string& name) {
  const int replicas = static_cast<int>(dice_.between(1, 3));
  Json workload = objects::deployment("shop", name, replicas, "200m", "128Mi");
  const bool ours = dice_.one_in(2);
  Json responders = Json::array();
  if (ours) responders.push_back({{"name", api::well_known::kNativeResponder}, {"priority", 20000}});
  if (!ours || dice_.one_in(2)) responders.push_back({{"name", "acme.io/db"}, {"priority", 10000}});
  objects::template_of(workload)["spec"]["evictionResponders"] = responders;
  const std::string& script = dice_.of(kResponderScripts);
  objects::annotate_pods(workload, behaviour::kResponders, script);
  if (!ours) likes_[name] = "eviction-request";
  tell(fmt::format("{}: {} pods with a responder{}: {}", name, replicas, ours ? ", Evacuator" : "", script));
  add(std::move(workload));
  invariants_->expect_replicas({"shop", name}, replicas);
}

void World::add_database(const std::string& name) {
  const auto kind =
      dice_.of<PostgresKind>({PostgresKind::kCloudNativePg, PostgresKind::kZalando, PostgresKind::kCrunchy});
  const Database database{name, kind, base::seconds(dice_.between(0, 90)), !dice_.one_in(4)};
  Json set = objects::stateful_set("shop", name, static_cast<int>(dice_.between(1, 3)), "200m", "128Mi");
  objects::annotate_pods(set, "example.com/foreign", "untouched");
  Json& labels = objects::template_of(set)["metadata"]["labels"];
  for (const auto& [key, value] : labels_of(database)) labels[key] = value;
  labels[role_label_of(kind)] = "replica";
  add(std::move(set));
  databases_->add(database);
  if (dice_.one_in(2)) add(objects::pdb_min_available("shop", name, name, 1));
  likes_[name] = "stateful-handoff";
  tell(fmt::format("{}: a database of kind {}, switchovers take {}{}", name, static_cast<int>(kind),
                   base::format_age(database.takes), database.obeys ? "" : ", it never obeys"));
}

/// The budget requires all pods, so an eviction would be an outage.
void World::add_surged(const std::string& name) {
  const int replicas = static_cast<int>(dice_.between(1, 3));
  Json workload = objects::deployment("shop", name, replicas, "200m", "128Mi");
  if (dice_.one_in(5)) objects::annotate_pods(workload, behaviour::kReadySeconds, "90");
  add(std::move(workload));
  invariants_->expect_replicas({"shop", name}, replicas);
  const bool percent = dice_.one_in(2);
  add(objects::pdb_min_available("shop", name, name, percent ? Json("100%") : Json(replicas)));
  likes_[name] = "surge";
  tell(fmt::format("{}: {} pods that want a surge, budget {}", name, replicas, percent ? "100%" : "all"));
}

void World::add_machines(const std::string& name) {
  const auto count = dice_.between(1, 3);
  for (int i = 0; i < count; ++i) {
    const std::string each = fmt::format("{}-vm-{}", name, i);
    const std::string strategy = dice_.of<std::string>(
        {"LiveMigrate", "LiveMigrate", "LiveMigrate", "LiveMigrateIfPossible", "External", "None", ""});
    Json machine = objects::virtual_machine("shop", each, "1Gi", strategy);
    const std::string& script = dice_.of(kMigrations);
    if (!script.empty()) objects::annotate(machine, behaviour::kMigrationScript, script);
    if (dice_.one_in(6)) objects::annotate(machine, behaviour::kNotMigratable, "DisksNotLiveMigratable: a local disk");
    if (dice_.one_in(2)) objects::annotate(machine, behaviour::kRestartVm, "");
    add(std::move(machine));
    likes_[each] = "kubevirt";
    tell(fmt::format("{}: a VM, strategy '{}', migrations '{}'", each, strategy, script));
  }
}

/// Adds pods that leave together, sometimes followed by those of a second workload.
void World::add_pod_group(const std::string& name) {
  const bool ordered = dice_.one_in(2);
  for (int stage = 0; stage < (ordered ? 2 : 1); ++stage) {
    Annotations annotations = {{"evacuator.dev/group", name}};
    if (ordered) annotations.emplace_back("evacuator.dev/group-order", std::to_string(stage));
    if (dice_.one_in(4)) {
      annotations.emplace_back("handoff.evacuator.dev/mode", "required");
      annotations.emplace_back("handoff.evacuator.dev/phases", "pre,migrate");
      annotations.emplace_back(behaviour::kHandoff, dice_.of(kScripts));
    }
    const int replicas = static_cast<int>(dice_.between(ordered ? 1 : 2, 3));
    tell(fmt::format("{}: {} pods of a PodGroup, stage {}", name, replicas, stage));
    add_set(fmt::format("{}-{}", name, stage), replicas, annotations);
  }
}

}  // namespace soak
