#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "controllers/admission/queue.hpp"
#include "test/builders/origin.hpp"
#include "test/unit/controllers/evacuation/phases/life.hpp"

/// The admission queue, and short descriptions of the Evacuations that ask it.
namespace admission_queue_fixture {

using namespace evacuation_test;
using controllers::Admission;
using controllers::AdmissionQueue;
using controllers::AdmissionRequest;
using controllers::NodeFacts;
using Phase = EvacuationPhase;

inline api::IntOrPercent number(std::int64_t value) { return {value, false}; }
inline api::IntOrPercent percent(std::int64_t value) { return {value, true}; }

inline api::InFlightLimits limits(std::optional<api::IntOrPercent> total, std::optional<api::IntOrPercent> node = {},
                                  std::optional<api::IntOrPercent> workload = {},
                                  std::optional<api::IntOrPercent> ns = {}) {
  return {total, node, ns, workload};
}

/// Describes one Evacuation by its number n: pod "pod-<n>", created n seconds after noon.
struct Candidate {
  int n = 0;
  std::string node = "node-a";
  std::string workload{};
  std::int32_t priority = 0;
  std::string policy{};
  std::string pod_uid{};
  std::optional<std::int32_t> size{};
  std::string target{};
};

inline api::Evacuation object(const Candidate& candidate, Phase phase = Phase::kPending, std::int32_t attempt = 0) {
  api::Evacuation evacuation;
  evacuation.meta.ns = "shop";
  evacuation.meta.name = fmt::format("evac-{:05}", candidate.n);
  evacuation.meta.uid = fmt::format("uid-{}", candidate.n);
  evacuation.meta.creation_timestamp = kNoon + base::seconds(candidate.n);
  evacuation.spec.pod_ref = {fmt::format("pod-{}", candidate.n),
                             {candidate.pod_uid.empty() ? fmt::format("pod-uid-{}", candidate.n) : candidate.pod_uid}};
  evacuation.spec.node_name = {candidate.node};
  evacuation.spec.priority = candidate.priority;
  builders::set_policy(evacuation, candidate.policy);
  evacuation.status.phase = phase;
  evacuation.status.attempt = attempt;
  evacuation.status.workload_group = candidate.workload;
  if (!candidate.target.empty()) {
    evacuation.status.target_node = {candidate.target};
  }
  return evacuation;
}

inline AdmissionRequest request(const Candidate& candidate, std::int32_t attempt = 1) {
  api::Evacuation of = object(candidate, Phase::kPending, attempt - 1);
  of.spec.concurrency_group = candidate.workload;
  return controllers::admission_request(of, nullptr, candidate.size);
}

class Admissions : public testing::Test {
 protected:
  explicit Admissions(const api::InFlightLimits& cluster = limits(number(5), number(2), number(1)))
      : queue({cluster}, clock, [this](const api::ObjectKey& key, base::Duration after) {
          if (after > base::Duration::zero()) {
            alarms[key.name] = clock.now() + after;
          } else {
            woken.push_back(key.name);
          }
        }) {}

  bool granted(const Candidate& candidate, std::int32_t attempt = 1) {
    last = queue.request(request(candidate, attempt));
    return last.slot.state == Slot::State::kGranted;
  }
  std::string waits_for(const Candidate& candidate) {
    EXPECT_FALSE(granted(candidate));
    return last.slot.limit ? last.slot.limit->name : "";
  }
  void show(const Candidate& candidate, Phase phase, std::int32_t attempt = 1) {
    const api::Evacuation now = object(candidate, phase, attempt);
    queue.observe(nullptr, &now);
  }

  void finish(const Candidate& candidate) {
    api::Evacuation done = object(candidate, Phase::kSucceeded, 1);
    done.spec.concurrency_group = candidate.workload;
    done.status.finished_at = clock.now();
    done.status.outcome = api::EvacuationOutcome{api::OutcomeKind::kEvicted, {}, {}};
    queue.observe(nullptr, &done);
  }
  void add_nodes(int from, int to, const std::string& zone = "", std::int64_t max_pods = 110) {
    for (int i = from; i < to; ++i) queue.set_node(fmt::format("node-{}", i), NodeFacts{zone, max_pods});
  }

  void set_limits(const api::InFlightLimits& in_flight) { queue.set_cluster_limits({in_flight}); }

  base::ManualClock clock{kNoon};
  std::vector<std::string> woken;
  std::map<std::string, base::TimePoint> alarms;  ///< next request per Evacuation, by name
  AdmissionQueue queue;
  Admission last;
};

}  // namespace admission_queue_fixture
