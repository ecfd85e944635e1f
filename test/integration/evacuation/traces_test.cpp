/// An Evacuation is one trace and a planning cycle is one trace, across leader changes.

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "telemetry/tracing/otlp.hpp"
#include "test/integration/rig/rig.hpp"

namespace traces_test {

using api::Json;
using base::minutes;
using base::seconds;
using integration::Rig;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using tracing::Span;

struct RecordedSpans : controllers::SpanSink {
  bool wants(std::string_view trace_id) const override { return tracing::is_sampled(trace_id, percent); }
  void add(Span span) override { all.push_back(std::move(span)); }

  double percent = 100;
  std::vector<Span> all;
};

std::optional<std::string> text_of(const Span& span, const std::string& key) {
  for (const auto& each : span.attributes) {
    if (each.key == key && std::holds_alternative<std::string>(each.value)) return std::get<std::string>(each.value);
  }
  return std::nullopt;
}

class Traces : public Rig {
 protected:
  Traces() { spans = &kept; }

  std::vector<Span> of(const std::string& trace) const {
    std::vector<Span> some;
    for (const Span& each : kept.all) {
      if (each.trace_id == trace) some.push_back(each);
    }
    return some;
  }
  std::vector<Span> named(const std::string& name) const {
    std::vector<Span> some;
    for (const Span& each : kept.all) {
      if (each.name == name) some.push_back(each);
    }
    return some;
  }
  static std::vector<std::string> names(const std::vector<Span>& of) {
    std::vector<std::string> all;
    for (const Span& each : of) all.push_back(each.name);
    return all;
  }
  std::string trace_of(const std::string& evacuation) const { return tracing::trace_id_of(get(evacuation).meta.uid); }

  /// Expects one root, existing parents, no span that begins after its end, and no span ID with different contents.
  static void expect_whole(const std::vector<Span>& trace) {
    std::map<std::string, Span> by_id;
    std::size_t roots = 0;
    for (const Span& each : trace) {
      const auto [known, is_new] = by_id.emplace(each.id, each);
      EXPECT_EQ(known->second, each) << each.name << " is told twice, and differently";
      roots += is_new && each.parent.empty();
      EXPECT_LE(each.start, each.end) << each.name;
    }
    EXPECT_EQ(roots, 1U);
    for (const auto& [id, each] : by_id) {
      EXPECT_TRUE(each.parent.empty() || by_id.contains(each.parent)) << each.name << " has no parent";
    }
  }

  void policy(const std::string& name, const Json& strategies) {
    add({{"apiVersion", "evacuator.dev/v1alpha1"},
         {"kind", "DeschedulerPolicy"},
         {"metadata", {{"name", name}}},
         {"spec", {{"mode", "Automatic"}, {"schedule", {{"interval", "1h"}}}, {"strategies", strategies}}}});
  }

  RecordedSpans kept;
};

TEST_F(Traces, AnEvacuationIsOneTraceFromItsCreationToItsVerdict) {
  stage();
  start_operator();
  const std::string pod = pods().front();
  const std::string name = evacuate(pod);
  ASSERT_TRUE(run_to_end(name));
  const auto trace = of(trace_of(name));
  expect_whole(trace);
  EXPECT_THAT(names(trace), AllOf(Contains("evacuation"), Contains("Pending"), Contains("Preparing"),
                                  Contains("Requesting"), Contains("Verifying"), Contains("PostEviction")));
  const Span life = named("evacuation").at(0);
  EXPECT_EQ(life.start, get(name).meta.creation_timestamp);
  EXPECT_EQ(life.end, get(name).status.finished_at);
  EXPECT_EQ(text_of(life, "k8s.pod.name"), pod);
  EXPECT_EQ(text_of(life, "evacuator.result"), "Succeeded");
  EXPECT_EQ(life.problem, "");
  const Span call = named("PostEviction").at(0);
  EXPECT_EQ(call.kind, tracing::SpanKind::kClient);
  EXPECT_EQ(call.parent, named("Requesting").at(0).id);
  EXPECT_THAT(replica->metrics.render_openmetrics(), HasSubstr("# {trace_id=\"" + life.trace_id + "\"}"));
}

TEST_F(Traces, ARetryIsAnotherCallOfTheSameTrace) {
  stage();
  budget("web", "web", 3);
  start_operator();
  const std::string name = evacuate(pods().front());
  ASSERT_TRUE(run_until([&] { return named("PostEviction").size() >= 2; }, minutes(10)));
  const Span refused = named("PostEviction").at(0);
  EXPECT_NE(refused.id, named("PostEviction").at(1).id);
  EXPECT_NE(refused.problem, "");
  edit(kube::kPdbs, "web", [](Json& pdb) { pdb["spec"]["minAvailable"] = 1; });
  ASSERT_TRUE(run_to_end(name));
  expect_whole(of(trace_of(name)));
}

/// The API server's spans of a call are children of the operator's span of that call.
TEST_F(Traces, OnlyCallsSendTheirSpanToTheServer) {
  stage();
  budget("web", "web", 3);
  start_operator();
  std::vector<std::string> told;
  replica->transport.before_each_call = [&](const kube::Request& request) {
    const bool evicts = request.path.ends_with("/eviction");
    if (evicts) told.push_back(request.traceparent);
    EXPECT_EQ(request.traceparent.empty(), !evicts) << request.path;
  };
  const std::string name = evacuate(pods().front());
  ASSERT_TRUE(run_until([&] { return named("PostEviction").size() >= 2; }, minutes(10)));
  std::vector<std::string> sent;
  for (const Span& each : named("PostEviction")) sent.push_back(tracing::traceparent_of(trace_of(name), each.id));
  EXPECT_EQ(told, sent) << "a retry is a span of its own";
}

TEST_F(Traces, WithoutTracingNoCallHasATraceHeader) {
  kept.percent = 0;
  stage();
  start_operator();
  int calls = 0;
  replica->transport.before_each_call = [&](const kube::Request& request) {
    calls += request.path.ends_with("/eviction");
    EXPECT_EQ(request.traceparent, "") << request.path;
  };
  ASSERT_TRUE(run_to_end(evacuate(pods().front())));
  EXPECT_GT(calls, 0);
}

TEST_F(Traces, ARestartContinuesTheTrace) {
  stage();
  budget("web", "web", 3);
  start_operator("replica-1");
  const std::string name = evacuate(pods().front());
  ASSERT_TRUE(run_until([&] { return !named("PostEviction").empty(); }, minutes(5)));
  stop_operator();
  run_for(seconds(20));
  edit(kube::kPdbs, "web", [](Json& pdb) { pdb["spec"]["minAvailable"] = 1; });
  start_operator("replica-2");
  ASSERT_TRUE(run_to_end(name));
  const auto trace = of(trace_of(name));
  expect_whole(trace);
  const auto marks = named("taken over");
  ASSERT_THAT(marks, SizeIs(1));
  EXPECT_EQ(marks[0].parent, named("evacuation").at(0).id);
  EXPECT_EQ(text_of(marks[0], "evacuator.replica"), "replica-2");
}

/// The process crashes right after the verdict is stored. The next leader sends the spans that are missing.
TEST_F(Traces, TheVerdictIsNotLostWithItsProcess) {
  stage();
  start_operator("replica-1");
  const std::string name = evacuate(pods().front());
  ASSERT_TRUE(run_until([&] { return api::is_terminal(phase(name)); }, minutes(10)));
  const Span life = named("evacuation").at(0);
  const Span verifying = named("Verifying").at(0);
  stop_operator();
  kept.all.clear();
  start_operator("replica-2");
  run_for(seconds(5));
  EXPECT_THAT(kept.all, AllOf(Contains(life), Contains(verifying))) << "word for word, so that nobody counts it twice";
}

TEST_F(Traces, AFailureSaysSo) {
  stage();
  budget("web", "web", 3);
  start_operator();
  const std::string name = evacuate(pods().front(), [](Json& spec) {
    spec["timeouts"] = {{"blockedSeconds", 60}};
    spec["retry"] = {{"maxAttempts", 1}};
  });
  ASSERT_TRUE(run_to_end(name));
  ASSERT_EQ(phase(name), api::EvacuationPhase::kFailed);
  expect_whole(of(trace_of(name)));
  EXPECT_EQ(named("evacuation").at(0).problem, reason(name));
}

TEST_F(Traces, ACycleHasSpansOfItsPhasesAndStrategies) {
  stage();
  run_for(minutes(2));
  policy("balance", Json::array({{{"name", "PodLifeTime"}, {"args", {{"maxPodLifeTimeSeconds", 30}}}},
                                 {{"name", "LowNodeUtilization"},
                                  {"args", {{"thresholds", {{"cpu", 1}}}, {"targetThresholds", {{"cpu", 90}}}}}}}));
  start_operator();
  ASSERT_TRUE(run_until([&] { return !named("cycle").empty(); }, minutes(5)));
  const Span cycle = named("cycle").at(0);
  const auto trace = of(cycle.trace_id);
  expect_whole(trace);
  EXPECT_THAT(names(trace), AllOf(Contains("snapshot"), Contains("strategies"), Contains("create"), Contains("status"),
                                  Contains("PodLifeTime"), Contains("LowNodeUtilization")));
  EXPECT_EQ(named("PodLifeTime").at(0).parent, named("strategies").at(0).id);
  EXPECT_EQ(named("strategies").at(0).parent, cycle.id);
  EXPECT_EQ(text_of(cycle, "evacuator.policy"), "balance");
  EXPECT_THAT(replica->metrics.render_openmetrics(),
              HasSubstr("evacuator_policy_cycle_duration_seconds_bucket{policy=\"balance\""));
  ASSERT_THAT(cycle.links, SizeIs(3));
  ASSERT_TRUE(run_until([&] { return named("evacuation").size() == 3; }, minutes(10)));
  const auto is_linked = [&](const Span& life) {
    return std::ranges::find(cycle.links, tracing::SpanLink{life.trace_id, life.id}) != cycle.links.end();
  };
  for (const Span& life : named("evacuation")) EXPECT_TRUE(is_linked(life));
}

TEST_F(Traces, UnsampledEvacuationsHaveNoTraceAndNoExemplar) {
  kept.percent = 0;
  stage();
  start_operator();
  const std::string name = evacuate(pods().front());
  ASSERT_TRUE(run_to_end(name));
  EXPECT_THAT(kept.all, IsEmpty());
  EXPECT_THAT(replica->metrics.render_openmetrics(), Not(HasSubstr("trace_id")));
}

/// No text that a tenant writes into an Evacuation appears in an attribute, except names.
TEST_F(Traces, AttackByTextsOfATenantGetsIntoNoAttribute) {
  stage();
  start_operator();
  const std::string name = evacuate(pods().front(), [](Json& spec) {
    spec["reason"] = "SECRET";
    spec["source"] = {{"policy", "SECRET"}, {"strategy", "SECRET"}, {"requester", "SECRET"}};
  });
  ASSERT_TRUE(run_to_end(name));
  EXPECT_THAT(kept.all, Not(IsEmpty()));
  EXPECT_THAT(tracing::encode_otlp({}, kept.all), Not(HasSubstr("SECRET")));
}

}  // namespace traces_test
