// End-to-end scenario 4: the two-way handoff protocol from a user's point of view.

#include "test/e2e/peers/handoff.hpp"

#include <algorithm>
#include <sstream>

#include "test/e2e/harness/process.hpp"
#include "test/e2e/harness/scenario.hpp"

namespace e2e {
namespace handoff_test {

const std::map<std::string, std::string> kAsksFirst{{"handoff.evacuator.dev/mode", "required"}};
const Json kImpatient = {{"timeouts", {{"acknowledgeSeconds", 4}, {"abortSeconds", 4}}},
                         {"retry", {{"maxAttempts", 1}, {"backoffSeconds", 1}, {"backoffMaxSeconds", 1}}}};

constexpr const char* kOurKeys[] = {"request", "request-phase", "request-deadline", "request-reason", "abort"};

class Handoff : public Scenario {
 protected:
  Json pod(const PodInfo& info) const { return api().get(path::pods(info.ns, info.name)); }

  /// Starts `kubectl get evac -w`. Returns once it is listening, since it would miss earlier changes.
  std::unique_ptr<Process> start_watch() const {
    api().create(path::evacuations(ns()), manifest::evacuation(ns(), "listening", "nobody", {}, {{"suspend", true}}));
    auto watch = kubectl().start({"get", "evac", "-n", ns(), "-w"}, folder() / "watch.txt");
    await("kubectl's watch to begin", [&](std::string& seen) {
      seen = read_file(watch->log());
      return seen.find("listening") != std::string::npos;
    });
    return watch;
  }

  /// Expects the original pod without any annotation of the operator.
  void expect_untouched(const PodInfo& info) const {
    await(
        "our annotations to be gone",
        [&](std::string& seen) {
          const Json annotations = pod(info).at("metadata").value("annotations", Json::object());
          seen = annotations.dump(2);
          return std::none_of(std::begin(kOurKeys), std::end(kOurKeys), [&](const char* key) {
            return annotations.contains(std::string("handoff.evacuator.dev/") + key);
          });
        },
        std::chrono::seconds(10));
    const Json now = pod(info);
    EXPECT_EQ(text_at(now, "/metadata/uid"), info.uid);
    EXPECT_FALSE(now.at("metadata").contains("deletionTimestamp"));
    EXPECT_TRUE(pod_calls().empty()) << "the pod was to be evicted";
  }
};

const std::set<std::string> kPhases{"Pending",  "Preparing", "Requesting", "InProgress", "Evicting", "Verifying",
                                    "Aborting", "Backoff",   "Succeeded",  "Failed",     "Cancelled"};

/// Returns PHASE and PROGRESS of each line of `kubectl get evac -w`. Its columns shift with longer cells, so the cells
/// are identified by content: the word that is a phase, and the number after it.
std::vector<std::pair<std::string, int>> watched(const std::string& text) {
  std::vector<std::pair<std::string, int>> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    std::istringstream words(line);
    for (std::string word; words >> word;) {
      if (!kPhases.contains(word)) continue;
      int progress = -1;
      std::string next;
      words >> next;
      if (!next.empty() && next.back() == '%') next.pop_back();
      if (!next.empty() && std::all_of(next.begin(), next.end(), [](char c) { return c >= '0' && c <= '9'; }))
        progress = std::stoi(next);
      lines.emplace_back(word, progress);
      break;
    }
  }
  return lines;
}

TEST_F(Handoff, ProgressIsSeenFromZeroToHundredThenThePodLeaves) {
  start_operator();
  const PodInfo primary = deploy({.ns = ns(), .name = "db", .replicas = 1, .annotations = kAsksFirst}).at(0);
  const auto watch = start_watch();
  const HandoffOperator workload_operator(api(), ns(), {{"db", {}}});
  const Recorder pods(api(), path::pods(ns()));

  const std::string name = evacuate(primary);
  const Json done = await_phase(ns(), name, kFinished);
  ASSERT_EQ(phase_of(done), "Succeeded") << done.at("status").dump(2);
  EXPECT_EQ(text_at(done, "/status/evictor"), "annotation");

  // The pod left after its operator had confirmed this request with ready-to-evict.
  const Json leaving = await_leaving(pods, primary);
  EXPECT_EQ(text_at(leaving, "/metadata/annotations/handoff.evacuator.dev~1ready-to-evict"),
            text_at(leaving, "/metadata/annotations/handoff.evacuator.dev~1request"));

  std::vector<int> progress;
  await("kubectl's watch to show the end", [&](std::string& seen) {
    seen = read_file(watch->log());
    progress.clear();
    bool ended = false;
    for (const auto& [phase, percent] : watched(seen)) {
      if (percent >= 0 && (progress.empty() || progress.back() != percent)) progress.push_back(percent);
      ended = ended || phase == "Succeeded";
    }
    return ended;
  });
  EXPECT_EQ(progress, (std::vector<int>{0, 25, 50, 75, 100})) << read_file(watch->log());
  expect_no_misdeeds();
}

TEST_F(Handoff, WithoutAnAcknowledgementItIsCalledOffAndCleanedUp) {
  start_operator();
  const PodInfo mute = deploy({.ns = ns(), .name = "mute", .replicas = 1, .annotations = kAsksFirst}).at(0);
  const Recorder pods(api(), path::pods(ns()));

  const std::string name = evacuate(mute, kImpatient);
  const Json done = await_phase(ns(), name, kFinished);

  EXPECT_NE(phase_of(done), "Succeeded");
  EXPECT_NE(done.at("status").dump().find("AcknowledgeTimeout"), std::string::npos) << done.at("status").dump(2);
  const auto events = pods.events();
  EXPECT_TRUE(std::any_of(events.begin(), events.end(), [](const WatchEvent& event) {
    return !text_at(event.object, "/metadata/annotations/handoff.evacuator.dev~1request").empty();
  })) << "the pod was never asked";
  expect_untouched(mute);
}

TEST_F(Handoff, TheUserCancelsHalfWay) {
  start_operator();
  const PodInfo primary = deploy({.ns = ns(), .name = "slow", .replicas = 1, .annotations = kAsksFirst}).at(0);
  const HandoffOperator workload_operator(api(), ns(), {{"slow", {.progress = {0, 25, 50}, .says_ready = false}}});
  const std::string name = evacuate(primary);
  await("half of the way", [&](std::string& seen) {
    const Json now = evacuation(ns(), name);
    seen = now.value("status", Json()).dump();
    return number_at(now, "/status/progress", -1) == 50;
  });

  kubectl()({"patch", "evac", name, "-n", ns(), "--type=merge", "-p",
             R"({"spec":{"cancel":{"requested":true,"reason":"not today"}}})"});
  const Json done = await_phase(ns(), name, kFinished);

  EXPECT_EQ(phase_of(done), "Cancelled") << done.at("status").dump(2);
  EXPECT_EQ(text_at(condition(done, "RollbackComplete"), "/status"), "True") << done.at("status").dump(2);
  EXPECT_EQ(text_at(condition(done, "Complete"), "/status"), "True");
  expect_untouched(primary);
  const Json annotations = pod(primary).at("metadata").at("annotations");
  EXPECT_FALSE(annotations.value("handoff.evacuator.dev/aborted", "").empty())
      << "its operator was not told: " << annotations.dump(2);
}

TEST_F(Handoff, DeletingTheEvacuationCancelsIt) {
  start_operator();
  const PodInfo primary = deploy({.ns = ns(), .name = "slow", .replicas = 1, .annotations = kAsksFirst}).at(0);
  const HandoffOperator workload_operator(api(), ns(), {{"slow", {.progress = {0, 25}, .says_ready = false}}});
  const std::string name = evacuate(primary);
  await("the handoff to be under way", [&](std::string& seen) {
    const Json now = evacuation(ns(), name);
    seen = now.value("status", Json()).dump();
    return number_at(now, "/status/progress", -1) == 25;
  });

  kubectl()({"delete", "evac", name, "-n", ns(), "--timeout=60s"});

  EXPECT_FALSE(api().find(path::evacuations(ns(), name)));
  expect_untouched(primary);
}

}  // namespace handoff_test
}  // namespace e2e
