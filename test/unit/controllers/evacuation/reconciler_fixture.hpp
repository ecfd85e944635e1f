#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "controllers/evacuation/io.hpp"
#include "controllers/evacuation/origin/origin.hpp"
#include "controllers/evacuation/reconciler.hpp"
#include "test/unit/controllers/evacuation/phases/life.hpp"

/// A reconciler with its caches, and the server that it reads and writes.
namespace evacuation_reconciler_fixture {

using namespace evacuation_test;
using api::Json;
using base::seconds;

/// Serves one Evacuation and one pod. Scripted answers take precedence.
class ScriptedServer final : public kube::Transport {
 public:
  base::Result<kube::Response> round_trip(const kube::Request& request) override {
    if (before) before(request);
    log.push_back(request.method + " " + request.path.substr(request.path.rfind('/', request.path.rfind('/') - 1)));
    bodies.push_back(request.body);
    for (auto& [part, answers] : scripted) {
      if (answers.empty() || (request.method + " " + request.path).find(part) == std::string::npos) continue;
      auto answer = answers.front();
      answers.pop_front();
      if (answer && answer->status == kAsEver) break;
      return answer;
    }
    if (request.path.ends_with("/eviction")) return json(201, kSuccessBody);
    if (request.path.find("/pods/") != std::string::npos)
      return pod.is_null() ? absent(request.path) : json(200, pod.dump());
    if (request.path.find("/evacuations/") == std::string::npos) return absent(request.path);
    if (request.method == "GET") return json(200, evacuation.dump());
    return write(request);
  }
  base::Result<std::unique_ptr<kube::WatchStream>> watch(const kube::Request&) override {
    return base::unavailable("no watches here");
  }

  static constexpr int kAsEver = 0;  ///< code of a scripted answer that stands for the server's regular answer
  static kube::Response json(int code, std::string body) { return {code, std::move(body), {}, "application/json"}; }
  /// Returns the server's answer for the object at `path` when it does not exist.
  static kube::Response absent(const std::string& path) {
    const Json details = {{"name", path.substr(path.rfind('/') + 1)}};
    return json(404, Json{{"kind", "Status"}, {"reason", "NotFound"}, {"code", 404}, {"details", details}}.dump());
  }
  void script(const std::string& part, base::Result<kube::Response> answer) {
    scripted[part].push_back(std::move(answer));
  }

  std::function<void(const kube::Request&)> before;  ///< called before each answer
  Json evacuation;
  Json pod;
  std::vector<std::string> prunes;  ///< status fields that the server's CRD does not know and drops
  std::vector<std::string> log;
  std::vector<std::string> bodies;
  std::map<std::string, std::deque<base::Result<kube::Response>>> scripted;

 private:
  kube::Response write(const kube::Request& request) {
    const Json body = Json::parse(request.body);
    if (body["metadata"]["resourceVersion"] != evacuation["metadata"]["resourceVersion"]) {
      return json(409, R"({"kind":"Status","reason":"Conflict","code":409,"message":"the object has been modified"})");
    }
    const Json stored = evacuation;
    evacuation.merge_patch(body);
    for (const std::string& field : prunes) {
      if (evacuation.contains("status")) evacuation["status"].erase(field);
    }
    if (prunes.empty() || evacuation != stored) evacuation["metadata"]["resourceVersion"] = std::to_string(++version_);
    return json(200, evacuation.dump());
  }
  int version_ = 100;
};

class Shell : public testing::Test, private kube::EventSink, private controllers::evacuation::Metrics {
 protected:
  Shell() {
    controllers::evacuation::add_evacuation_indexes(evacuations, pods, pdbs);
    server.evacuation = api::encode_evacuation(make_evacuation());
    server.evacuation["metadata"].update(
        {{"uid", "e5b3"}, {"resourceVersion", "7"}, {"creationTimestamp", "2026-11-21T12:00:00Z"}, {"generation", 1}});
    server.pod = Json::parse(
        R"({"kind":"Pod","apiVersion":"v1","metadata":{"namespace":"shop","name":"web-1","resourceVersion":"41",
      "uid":"7c1a8c1e-0000-4000-8000-000000000001"},"spec":{"nodeName":"node-a"},"status":{"phase":"Running"}})");
    put(make_evacuation());
    pods.put(std::make_shared<const api::Pod>(make_pod()));
  }

  void put(api::Evacuation evacuation) {
    evacuation.meta.resource_version = server.evacuation["metadata"]["resourceVersion"];
    evacuations.put(std::make_shared<const api::Evacuation>(std::move(evacuation)));
  }
  void budget(int allowed, api::PodDisruptionBudget* out) {
    out->meta.ns = "shop";
    out->meta.name = "web";
    out->disruptions_allowed = allowed;
  }
  /// Returns a cached Evacuation that a PDB blocks.
  api::Evacuation blocked(const std::string& name, std::int32_t priority, int since) {
    api::Evacuation evacuation = make_evacuation();
    evacuation.meta.name = name;
    evacuation.spec.priority = priority;
    evacuation.status.phase = EvacuationPhase::kRequesting;
    evacuation.status.phase_entered_at = kNoon;
    evacuation.status.deadline = kNoon + seconds(900);
    evacuation.status.blocked_since = kNoon;
    evacuation.status.evictor = "eviction-api";
    evacuation.status.attempt = 1;
    evacuation.status.token = "e5b3.1";
    evacuation.status.request_sent_at = kNoon;
    evacuation.status.next_action_at = kNoon + seconds(60);
    evacuation.status.blocked_by = {{"PodDisruptionBudget", "web", "", 0, 3, 3, kNoon + seconds(since)}};
    return evacuation;
  }

  void publish(kube::Event event) override { events.push_back(event.reason); }
  void on_status(const api::Evacuation&, const api::Evacuation&, base::TimePoint) override {}
  void on_answer(std::string_view, int code, std::string_view response_class) override {
    answers.push_back(std::to_string(code) + " " + std::string(response_class));
  }

  controllers::evacuation::Reconciler::Dependencies dependencies(
      controllers::evacuation::Audit& audit = controllers::evacuation::no_audit(),
      controllers::KeySource& keys = controllers::process_keys()) {
    return {.client = client,
            .clock = clock,
            .evictors = registry,
            .evacuations = evacuations,
            .pods = pods,
            .pdbs = pdbs,
            .admission = admission,
            .events = *this,
            .metrics = *this,
            .may_act = [this] { return leads; },
            .desired_replicas = {},
            .identity = "me",
            .log = base::Log(),
            .audit = audit,
            .keys = keys};
  }
  /// Reconciles twice, one second apart. Within that second a granted eviction needs no write of its own.
  base::Result<kube::Requeue> reconcile_over_a_second() {
    if (auto done = reconciler.reconcile(key); !done) return done;
    clock.advance(seconds(1));
    return reconciler.reconcile(key);
  }
  /// Stores the Evacuation as the operator creates it for a policy.
  void make_it_ours() {
    api::Evacuation ours = make_evacuation();
    ours.spec.source.policy = "balance";
    controllers::mark_origin_verified(ours);
    server.evacuation["spec"] = api::encode_evacuation(ours)["spec"];
    server.evacuation["status"] = api::encode_status(ours.status);
    put(ours);
  }
  std::ptrdiff_t calls(const std::string& call) const { return std::count(server.log.begin(), server.log.end(), call); }
  std::unique_ptr<controllers::evacuation::Reconciler> reconciler_with(controllers::evacuation::Audit& audit) {
    return std::make_unique<controllers::evacuation::Reconciler>(dependencies(audit));
  }

  const api::ObjectKey key{"shop", "web-1-7c1a8c1e"};
  base::ManualClock clock{kNoon};
  ScriptedServer server;
  kube::Client client{server, nullptr};
  evictors::EvictorRegistry registry = evictors::EvictorRegistry::builtin();
  kube::Store<api::Evacuation> evacuations;
  kube::Store<api::Pod> pods;
  kube::Store<api::PodDisruptionBudget> pdbs;
  controllers::AdmissionQueue admission{{}, clock, [](const api::ObjectKey&, base::Duration) {}};
  bool leads = true;
  std::vector<std::string> events;
  std::vector<std::string> answers;
  controllers::evacuation::Reconciler reconciler{dependencies()};
};

}  // namespace evacuation_reconciler_fixture
