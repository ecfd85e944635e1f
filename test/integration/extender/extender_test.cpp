// The extender over real connections: requests of kube-scheduler, and requests of an attacker.

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "api/core/codec.hpp"
#include "cmd/extender/hint_giver.hpp"
#include "cmd/extender/service.hpp"
#include "controllers/evacuation/origin/spec_hash.hpp"
#include "http_server/certificates.hpp"
#include "http_server/server.hpp"
#include "kube/http/transport.hpp"
#include "test/unit/kube/http/test_server.hpp"

namespace integration {
namespace extender_test {

using api::Json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const base::TimePoint kNow{base::seconds(1'763'726'400)};

std::shared_ptr<const api::Node> node(const std::string& name) {
  api::Node made;
  made.meta.name = name;
  made.allocatable = {{"cpu", api::Quantity::from_milli(4'000)}};
  made.conditions.push_back({.type = "Ready", .status = api::ConditionStatus::kTrue, .reason = {}, .message = {}});
  return std::make_shared<const api::Node>(std::move(made));
}

/// Usage of the cores: a 20 %, b 60 %, c 95 %.
scheduling::MeasuredUsage usage(base::TimePoint time = kNow) {
  scheduling::MeasuredUsage measured;
  measured.source = "m";
  measured.resources = {{"cpu", false}};
  for (const auto& [name, used] : {std::pair("a", 800), std::pair("b", 2'400), std::pair("c", 3'800)}) {
    scheduling::MeasuredUsage::Node entry;
    entry.name = name;
    entry.time = time;
    entry.now = {used};
    measured.nodes.push_back(std::move(entry));
  }
  return measured;
}

class Extender : public ::testing::Test {
 protected:
  explicit Extender(bool with_tls = false, const std::string& client_ca_pem = {}) {
    for (const char* name : {"a", "b", "c"}) nodes_.put(node(name));
    http_server::ServerOptions options = cmd::extender_server_options(config_);
    kube::Config client;
    client.credentials = kube::static_credentials({});
    if (with_tls) {
      const auto identity = http_server::make_server_identity({"127.0.0.1"}, base::SystemClock().now());
      options.certificate =
          http_server::Certificate{identity->certificate + identity->ca, identity->key, client_ca_pem};
      client.ca_pem = ca_pem_ = identity->ca;
    }
    server_ = std::make_unique<http_server::Server>(
        std::move(options), [this](const http_server::Request& request) { return service_.answer(request); });
    if (const auto started = server_->start(); !started) throw std::runtime_error(started.error().message);
    client.server = std::string(with_tls ? "https" : "http") + "://127.0.0.1:" + std::to_string(server_->port());
    kube::HttpTransportOptions how;
    how.engine = kube::HttpEngine::kBeast;
    transport_ = *kube::HttpTransport::create(std::move(client), how);
  }
  /// Uses this client certificate for all further requests.
  void show(const kube::testing::Pem& identity) {
    kube::Config client;
    client.server = "https://127.0.0.1:" + std::to_string(server_->port());
    client.ca_pem = ca_pem_;
    client.credentials = kube::static_credentials(
        {.authorization = {}, .client_certificate_pem = identity.certificate, .client_key_pem = identity.key});
    kube::HttpTransportOptions how;
    how.engine = kube::HttpEngine::kBeast;
    transport_ = *kube::HttpTransport::create(std::move(client), how);
  }

  void measure(scheduling::MeasuredUsage measured) {
    poller_.replace(extender::make_load_model(std::make_shared<const scheduling::MeasuredUsage>(std::move(measured)),
                                              poller_.resources(), nodes_.list(), pods_.list()),
                    kNow);
  }

  base::Result<kube::Response> post(const std::string& path, std::string body) {
    kube::Request request;
    request.method = "POST";
    request.path = path;
    request.content_type = "application/json";
    request.body = std::move(body);
    return transport_->round_trip(request);
  }
  Json ask(const std::string& path, const Json& args) {
    const auto answer = post(path, args.dump());
    if (!answer || answer->status != 200) {
      ADD_FAILURE() << path << ": " << (answer ? answer->body : answer.error().message);
      return {};
    }
    return Json::parse(answer->body);
  }
  static Json pod(const std::string& name) {
    return {
        {"metadata",
         {{"name", name},
          {"namespace", "shop"},
          {"uid", "uid-" + name},
          {"ownerReferences", Json::array({{{"apiVersion", "apps/v1"},
                                            {"kind", "ReplicaSet"},
                                            {"name", "web"},
                                            {"uid", "rs"},
                                            {"controller", true}}})}}},
        {"spec", {{"containers", Json::array({{{"name", "c"}, {"resources", {{"requests", {{"cpu", "400m"}}}}}}})}}}};
  }
  static Json args(const std::string& name = "web-1", const Json& names = {"a", "b", "c"}) {
    return {{"Pod", pod(name)}, {"Nodes", nullptr}, {"NodeNames", names}};
  }
  std::map<std::string, int> scores(const Json& asked = args()) {
    std::map<std::string, int> found;
    for (const Json& each : ask("/prioritize", asked)) found[each["Host"]] = each["Score"];
    return found;
  }
  /// Adds a pod of the workload that is expected on `node`.
  void hint(const std::string& node, api::PlacementPolicy policy) {
    api::Evacuation made;
    made.meta.ns = "shop";
    made.meta.name = "e1";
    made.meta.uid = "e1-uid";
    made.spec.placement = api::PlacementHint{{node}, policy, base::seconds(600)};
    made.status.phase = api::EvacuationPhase::kEvicting;
    made.status.started_at = kNow;
    made.status.pod_owner = api::OwnerReference{"apps/v1", "ReplicaSet", "web", "rs", true};
    made.status.spec_hash = controllers::spec_hash(made.spec);
    evacuations_.put(std::make_shared<const api::Evacuation>(std::move(made)));
  }

  extender::ExtenderConfig config_ = [] {
    extender::ExtenderConfig made;
    made.address = "127.0.0.1:0";
    made.rules = {extender::ScoreRule{}};
    made.max_body_bytes = 65'536;
    return made;
  }();
  base::ManualClock clock_{kNow};
  base::Metrics metrics_;
  kube::Store<api::Node> nodes_;
  kube::Store<api::Pod> pods_;
  kube::Store<api::Evacuation> evacuations_;
  cmd::HintAssigner hints_{evacuations_, pods_, nodes_, clock_, clock_};
  extender::LoadPoller poller_{config_.resources()};
  cmd::ExtenderService service_{config_, poller_,  [this](const api::Pod& pod) { return hints_.hint_for(pod); },
                                clock_,  metrics_, {}};
  std::unique_ptr<http_server::Server> server_;
  std::unique_ptr<kube::HttpTransport> transport_;
  std::string ca_pem_;
};

class ExtenderOverTls : public Extender {
 protected:
  ExtenderOverTls() : Extender(true) {}
};

const kube::testing::TestCa& scheduler_ca() {
  static const kube::testing::TestCa ca;
  return ca;
}

class ExtenderForCertificates : public Extender {
 protected:
  ExtenderForCertificates() : Extender(true, scheduler_ca().pem()) {}
};

TEST_F(ExtenderForCertificates, AnswersOnlyClientsWithItsCertificates) {
  measure(usage());
  EXPECT_FALSE(post("/prioritize", args().dump()).ok()) << "none";
  show(kube::testing::TestCa().issue({"kube-scheduler"}));
  EXPECT_FALSE(post("/prioritize", args().dump()).ok()) << "somebody else's";
  show(scheduler_ca().issue({"kube-scheduler"}, -7200, -3600));
  EXPECT_FALSE(post("/prioritize", args().dump()).ok()) << "expired";
  EXPECT_THAT(metrics_.render(), Not(HasSubstr("evacuator_extender_requests_total")));
  show(scheduler_ca().issue({"kube-scheduler"}));
  EXPECT_EQ(scores().at("a"), 10);
  EXPECT_EQ(scores().at("a"), 10) << "again, on the same connection or a resumed one";
}

TEST_F(ExtenderForCertificates, TakesOverAnotherAuthority) {
  measure(usage());
  const kube::testing::TestCa another;
  const auto identity = http_server::make_server_identity({"127.0.0.1"}, base::SystemClock().now());
  ca_pem_ = identity->ca;
  const std::string chain = identity->certificate + identity->ca;
  ASSERT_TRUE(server_->reload({chain, identity->key, another.pem()}).ok());
  show(scheduler_ca().issue({"kube-scheduler"}));
  EXPECT_FALSE(post("/prioritize", args().dump()).ok());
  show(another.issue({"kube-scheduler"}));
  EXPECT_EQ(scores().at("a"), 10);
  EXPECT_FALSE(server_->reload({chain, identity->key, "nonsense"}).ok());
  EXPECT_EQ(scores().at("a"), 10) << "as before";
}

TEST_F(Extender, PrefersNodesWithLowLoad) {
  measure(usage());
  const auto found = scores();
  EXPECT_EQ(found.at("a"), 10);
  EXPECT_EQ(found.at("c"), 0);
  EXPECT_GT(found.at("b"), 0);
  EXPECT_LT(found.at("b"), 10);
}

TEST_F(ExtenderOverTls, AnswersOverHttps) {
  measure(usage());
  EXPECT_EQ(scores().at("a"), 10);
}

TEST_F(Extender, IsNeutralBeforeSomethingIsMeasured) {
  EXPECT_EQ(scores(), (std::map<std::string, int>{{"a", 5}, {"b", 5}, {"c", 5}}));
  EXPECT_EQ(ask("/filter", args())["NodeNames"], Json({"a", "b", "c"}));
  EXPECT_THAT(metrics_.render(), HasSubstr("evacuator_extender_neutral_nodes_total 3"));
}

TEST_F(Extender, ANodeWhoseSampleIsStaleIsNeutral) {
  auto measured = usage();
  measured.nodes[0].problem = "its newest sample is 7m old";
  measure(measured);
  const auto found = scores();
  EXPECT_EQ(found.at("b"), 10);
  EXPECT_EQ(found.at("c"), 0);
  EXPECT_EQ(found.at("a"), 5);
}

TEST_F(Extender, FiltersCriticalNodesByNameAndAsObjects) {
  measure(usage());
  const Json by_name = ask("/filter", args());
  EXPECT_EQ(by_name["NodeNames"], Json({"a", "b"}));
  EXPECT_EQ(by_name["FailedNodes"], Json({{"c", "measured cpu is critical (above 90 %)"}}));
  EXPECT_FALSE(by_name.contains("FailedAndUnresolvableNodes"));

  Json items = Json::array();
  for (const char* name : {"a", "c"})
    items.push_back({{"metadata", {{"name", name}}}, {"spec", {{"podCIDR", "10.0.0.0/24"}}}});
  const Json whole = ask("/filter", {{"Pod", pod("web-1")}, {"Nodes", {{"items", items}}}, {"NodeNames", nullptr}});
  EXPECT_EQ(whole["Nodes"]["items"], Json::array({items[0]}));
}

TEST_F(Extender, AllowsAllNodesIfAllAreCriticalAndReportsIt) {
  measure(usage());
  EXPECT_EQ(ask("/filter", args("web-1", {"c"}))["NodeNames"], Json({"c"}));
  EXPECT_THAT(metrics_.render(), HasSubstr("evacuator_extender_all_critical_total 1"));
}

TEST_F(Extender, PodsThatWereJustPlacedCount) {
  measure(usage());
  for (int i = 0; i < 8; ++i) {  // eight pods of 400m fill node a before the usage shows them
    const Json asked = args("burst-" + std::to_string(i));
    const Json list = ask("/prioritize", asked);
    EXPECT_EQ(list.size(), 3U);
  }
  const auto expected = poller_.loads({"a", "b"}, api::Pod(), false, kNow);
  EXPECT_NEAR(expected[0]->mean.front(), expected[1]->mean.front(), 11) << "not all of them to the emptiest";
  clock_.advance(extender::LoadPoller::kExpectedFor);
  EXPECT_DOUBLE_EQ(poller_.loads({"a"}, api::Pod(), false, clock_.now())[0]->mean.front(), 20);
}

TEST_F(Extender, ARequiredHintKeepsThePodForItsNode) {
  measure(usage());
  hint("b", api::PlacementPolicy::kRequired);
  const Json first = ask("/filter", args("web-1"));
  EXPECT_EQ(first["NodeNames"], Json({"b"}));
  EXPECT_THAT(first["FailedNodes"]["a"].get<std::string>(), HasSubstr("Evacuation shop/e1 requires node b"));
  EXPECT_EQ(first["FailedAndUnresolvableNodes"], first["FailedNodes"]) << "nobody is to be preempted for it elsewhere";
  EXPECT_EQ(ask("/filter", args("web-2"))["NodeNames"], Json({"a", "b"})) << "one hint is for one pod";
  EXPECT_EQ(ask("/filter", args("web-1"))["NodeNames"], Json({"b"})) << "the same answer again";
}

TEST_F(Extender, APodWaitsForItsHintsNodeAsLongAsTheHintIsOpen) {
  measure(usage());
  hint("b", api::PlacementPolicy::kRequired);
  EXPECT_EQ(ask("/filter", args("web-1", {"a"}))["NodeNames"], Json::array());
  clock_.advance(base::seconds(601));
  EXPECT_EQ(ask("/filter", args("web-1", {"a"}))["NodeNames"], Json({"a"}));
}

TEST_F(Extender, AUsedHintIsNotUsedAgain) {
  measure(usage());
  hint("b", api::PlacementPolicy::kPreferred);
  EXPECT_EQ(scores(args("web-1")).at("b"), 10);
  api::Pod bound = *api::decode_pod(pod("web-1").dump());
  bound.node_name = {"b"};
  pods_.put(std::make_shared<const api::Pod>(bound));
  clock_.advance(base::minutes(2));
  EXPECT_EQ(scores(args("web-2")).at("a"), 10) << "long after the hint was given";
}

TEST_F(Extender, RefusesInvalidRequests) {
  EXPECT_EQ(post("/filter", "{")->status, 400);
  EXPECT_EQ(post("/prioritize", R"({"Pod": {}, "NodeNames": [1]})")->status, 400);
  EXPECT_EQ(post("/other", "{}")->status, 404);
  const auto huge = post("/filter", std::string(1 << 20, ' '));
  EXPECT_TRUE(!huge || huge->status == 413) << huge->status;
  measure(usage());
  EXPECT_EQ(scores().at("a"), 10) << "and goes on";
  EXPECT_THAT(metrics_.render(), HasSubstr(R"(evacuator_extender_requests_total{result="invalid",verb="filter"} 1)"));
}

}  // namespace extender_test
}  // namespace integration
