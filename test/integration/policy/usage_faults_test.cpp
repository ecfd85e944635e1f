#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "api/core/codec.hpp"
#include "api/meta/condition.hpp"
#include "simulator/objects.hpp"
#include "test/integration/rig/rig.hpp"
#include "usage/sources/make_source.hpp"

/// A Prometheus that first answers correctly and then fails, and what the policy's condition reports.
namespace usage_faults_test {

using api::Json;
using base::minutes;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

using Answer = std::function<kube::Response(const kube::Request& request)>;

kube::Response response(int status, std::string body) { return {status, std::move(body), {}, "application/json"}; }

bool asks_for(const kube::Request& request, const char* what) {
  return request.query.find(std::string("query=") + what) != std::string::npos;
}

/// Answers all connections to the server.
class Wire final : public kube::Transport {
 public:
  explicit Wire(const Answer& answer) : answer_(answer) {}
  base::Result<kube::Response> round_trip(const kube::Request& request) override { return answer_(request); }
  base::Result<std::unique_ptr<kube::WatchStream>> watch(const kube::Request&) override {
    return base::unavailable("no watches here");
  }

 private:
  const Answer& answer_;
};

class FaultySource : public integration::Rig {
 protected:
  void begin() {
    namespace objects = simulator::objects;
    add(objects::name_space("shop"));
    for (const char* node : {"node-a", "node-b", "node-c"}) add(objects::node(node, "8", "16Gi"));
    answer = [this](const kube::Request& request) { return good(request); };
    usage_sources = [this](const api::UsageSource& source) {
      usage::Dependencies dependencies{
          &nobody_, &clock, "evacuator-system",
          [this](const kube::Config&,
                 const kube::HttpTransportOptions&) -> base::Result<std::unique_ptr<kube::Transport>> {
            return std::unique_ptr<kube::Transport>(std::make_unique<Wire>(answer));
          }};
      return usage::make_source(source, dependencies);
    };
    start_operator();
    add(policy());
    run_for(minutes(2));
    ASSERT_EQ(told(), "FreshSamples: 1 of 1 sources have recent samples of enough nodes");
  }
  static Json policy() {
    const Json queries = Json::array({{{"resource", "cpu"}, {"query", "cpu"}},
                                      {{"resource", "memory"}, {"query", "memory"}},
                                      {{"resource", "cpu"}, {"of", "Pod"}, {"query", "pods"}}});
    const Json source = {{"name", "prom"},
                         {"type", "Prometheus"},
                         {"prometheus", {{"url", "http://prometheus:9090"}, {"queries", queries}}}};
    const Json args = {{"usage", {{"source", "prom"}}},
                       {"thresholds", {{"cpu", 20}, {"memory", 20}}},
                       {"targetThresholds", {{"cpu", 50}, {"memory", 50}}}};
    return {{"apiVersion", "evacuator.dev/v1alpha1"},
            {"kind", "DeschedulerPolicy"},
            {"metadata", {{"name", "level"}}},
            {"spec",
             {{"schedule", {{"interval", "1m"}}},
              {"usageSources", Json::array({source})},
              {"strategies", Json::array({{{"name", "LowNodeUtilization"}, {"args", args}}})}}}};
  }
  Json series(Json labels) const {
    const auto now = std::chrono::duration_cast<base::seconds>(clock.now().time_since_epoch()).count();
    return {{"metric", std::move(labels)}, {"value", Json::array({now, "1"})}};
  }
  Json vector_of(const std::vector<std::string>& nodes) const {
    Json result = Json::array();
    for (const std::string& node : nodes) result.push_back(series({{"node", node}}));
    return {{"status", "success"}, {"data", {{"resultType", "vector"}, {"result", result}}}};
  }
  kube::Response good(const kube::Request& request) const {
    Json body = vector_of({"node-a", "node-b", "node-c"});
    if (asks_for(request, "pods"))
      body["data"]["result"] = Json::array({series({{"namespace", "shop"}, {"pod", "web"}})});
    return response(200, body.dump());
  }
  /// Answers all further requests of this query with `status` and `body`, and the other queries as before.
  void answer_with(const char* query, int status, std::function<std::string()> body) {
    answer = [this, query, status, body = std::move(body)](const kube::Request& request) {
      return asks_for(request, query) ? response(status, body()) : good(request);
    };
  }
  std::string told() const { return policy_words("level", "UsageAvailable"); }
  void expect_recovery() {
    answer = [this](const kube::Request& request) { return good(request); };
    run_for(minutes(3));
    EXPECT_EQ(told(), "FreshSamples: 1 of 1 sources have recent samples of enough nodes");
  }

  Answer answer;

 private:
  const Answer refusal_ = [](const kube::Request&) { return response(404, ""); };
  Wire wire_{refusal_};
  kube::Client nobody_{wire_, nullptr};
};

/// A failure of every query: the condition reports it at once, and it becomes an error once the samples are too old.
struct FailureCase {
  std::string name;
  int status;
  std::string body;
  std::string says;
};

class FailingSource : public FaultySource, public testing::WithParamInterface<FailureCase> {};

TEST_P(FailingSource, IsNamedWithItsLastAnswer) {
  begin();
  answer = [](const kube::Request&) { return response(GetParam().status, GetParam().body); };
  run_for(minutes(1));
  EXPECT_THAT(told(),
              HasSubstr("FreshSamples: 1 of 1 sources have recent samples of enough nodes; prom: last answer: " +
                        GetParam().says));
  run_for(minutes(5));
  EXPECT_THAT(told(), AllOf(HasSubstr("SourceFailing: prom: 3 of 3 nodes have no usable sample, the maximum is 30 %: "
                                      "node-a: its newest sample is "),
                            HasSubstr("; last answer: " + GetParam().says)));
  expect_recovery();
}

INSTANTIATE_TEST_SUITE_P(
    With, FailingSource,
    testing::Values(FailureCase{"Http401", 401, "go away",
                                "query cpu: HTTP 401: the credentials are missing, wrong or expired"},
                    FailureCase{"Html", 200, "<!DOCTYPE html><html>Log in</html>",
                                "query cpu of pods: the response is HTML or XML"},
                    FailureCase{"Http503", 503, "", "query cpu: HTTP 503"}),
    [](const auto& test) { return test.param.name; });

/// A failure of one query only.
struct FaultCase {
  std::string name;
  const char* query;
  std::string body;  ///< nodes in the answer, or the complete answer
  std::vector<std::string> says;
};

class PartlyFaultySource : public FaultySource, public testing::WithParamInterface<FaultCase> {};

TEST_P(PartlyFaultySource, IsNamedWithItsFaults) {
  begin();
  const Json nodes = Json::parse(GetParam().body, nullptr, false);
  const bool is_refusal = GetParam().body.find("bad_data") != std::string::npos;
  answer_with(GetParam().query, is_refusal ? 400 : 200,
              [&] { return nodes.is_array() ? vector_of(nodes).dump() : GetParam().body; });
  run_for(minutes(2));
  for (const std::string& text : GetParam().says) EXPECT_THAT(told(), HasSubstr(text));
  expect_recovery();
}

const std::string kNoVector = R"("data":{"resultType":"vector","result":[]})";
const std::string kBadQuery = R"({"status":"error","errorType":"bad_data","error":"parse error"})";

INSTANTIATE_TEST_SUITE_P(
    With, PartlyFaultySource,
    testing::Values(
        FaultCase{"Duplicates",
                  "cpu",
                  R"(["node-a", "node-a", "node-b", "node-c"])",
                  {"SamplesMissing: prom: 1 of 3 nodes have no usable value of cpu, the maximum is 30 %: node-a",
                   "query cpu: more than one value for node-a"}},
        FaultCase{"NoData",
                  "memory",
                  "[]",
                  {"SamplesMissing: prom: 3 of 3 nodes have no usable value of memory, the maximum is 30 %: node-a, "
                   "node-b, node-c",
                   "query memory: no data"}},
        FaultCase{"ABadQuery",
                  "memory",
                  kBadQuery,
                  {"SamplesMissing: prom: 3 of 3 nodes have no usable value of memory",
                   "query memory: the server reports bad_data: parse error"}},
        FaultCase{"UnknownNodes",
                  "cpu",
                  R"(["node-a", "node-b", "node-c", "stranger"])",
                  {"FreshSamples: ", "prom: 1 of 4 are not nodes of this cluster: stranger"}},
        FaultCase{"ATalkativeServer",
                  "pods",
                  R"({"status":"success","warnings":["store-1 is away"],)" + kNoVector + "}",
                  {"FreshSamples: ", "query cpu of pods: the server warns: store-1 is away",
                   "no pod is measured: pods get a share of the node's usage"}},
        FaultCase{"NoPods",
                  "pods",
                  kBadQuery,
                  {"FreshSamples: ", "no pod is measured: pods get a share of the node's usage",
                   "query cpu of pods: the server reports bad_data: parse error"}}),
    [](const auto& test) { return test.param.name; });

TEST_F(FaultySource, CannotMakeTheConditionGrowWithoutBounds) {
  begin();
  const Json talk = {{"status", "error"}, {"errorType", "bad_data"}, {"error", std::string(100'000, 'x')}};
  answer_with("memory", 400, [&] { return talk.dump(); });
  run_for(minutes(2));
  EXPECT_THAT(told(), HasSubstr("the server reports bad_data: xxx"));
  EXPECT_LT(told().size(), 1500U);
}

}  // namespace usage_faults_test
