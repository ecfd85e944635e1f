#include <gmock/gmock.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "controllers/observability/notifications/notifier.hpp"
#include "controllers/observability/tracing/exporter.hpp"
#include "controllers/operator/http_services.hpp"
#include "controllers/policy/gates/answers.hpp"
#include "controllers/policy/gates/client.hpp"
#include "evictors/classify.hpp"
#include "evictors/handoff/stateful_handoff.hpp"
#include "evictors/webhook/contract.hpp"
#include "kube/request.hpp"
#include "test/builders/origin.hpp"
#include "test/fakes/temp_folder.hpp"
#include "test/unit/evictors/objects.hpp"
#include "test/unit/kube/http/test_server.hpp"
#include "usage/sources/make_source.hpp"

/// Every request that the operator sends to a server other than the core API, against a server that accepts exactly
/// what the real one accepts: method, path, Host, Accept, Content-Type, Content-Length, no body on GET.
namespace strict_double_test {

using kube::testing::http_answer;
using kube::testing::Peer;
using kube::testing::ServerRequest;
using kube::testing::TestServer;
using testing::AnyOf;
using testing::HasSubstr;

/// What a server accepts, and how it answers.
struct Contract {
  std::string method;
  std::string path;      ///< "/…/" for everything below it
  std::string takes;     ///< content type of the request's body, empty if none
  std::string produces;  ///< content type of the answer
  std::string answer;    ///< empty for 204 without a body
};

bool accepts(const std::string& accept, const std::string& type) {
  std::size_t from = 0;
  while (from < accept.size()) {
    const auto end = std::min(accept.find(',', from), accept.size());
    std::string range = accept.substr(from, end - from);
    range = range.substr(0, range.find(';'));
    range.erase(0, range.find_first_not_of(' '));
    if (range == "*/*" || range == type || range == type.substr(0, type.find('/')) + "/*") return true;
    from = end + 1;
  }
  return false;
}

class StrictDouble {
 public:
  explicit StrictDouble(Contract contract)
      : contract_(std::move(contract)),
        server_([this](Peer& peer, const ServerRequest& request) { return respond(peer, request); }) {}

  std::string url() const { return server_.url(); }
  std::size_t requests() const { return server_.requests().size(); }
  void refuse(int status, std::string body) { refusal_ = {status, std::move(body)}; }
  std::string complaint;  ///< complaint about the last request

 private:
  static std::string header(const ServerRequest& request, const std::string& name) {
    const auto found = request.headers.find(name);
    return found == request.headers.end() ? std::string() : found->second;
  }
  bool serves(const std::string& path) const {
    const bool is_folder = contract_.path.size() > 1 && contract_.path.ends_with('/');
    return is_folder ? path.starts_with(contract_.path) : path == contract_.path;
  }
  std::pair<int, std::string> judge(const ServerRequest& request) const {
    const bool is_get = request.method == "GET" || request.method == "HEAD";
    if ("http://" + header(request, "host") != server_.url()) return {400, "Host: " + header(request, "host")};
    if (!serves(request.target.substr(0, request.target.find('?')))) return {404, "path " + request.target};
    if (request.method != contract_.method) return {405, "method " + request.method};
    if (request.headers.contains("transfer-encoding")) return {501, "Transfer-Encoding"};
    if (is_get && (!request.body.empty() || request.headers.contains("content-length")))
      return {400, "a body on " + request.method};
    if (!is_get && header(request, "content-length") != std::to_string(request.body.size()))
      return {411, "Content-Length: " + header(request, "content-length")};
    if (header(request, "content-type") != contract_.takes)
      return {415, "Content-Type: " + header(request, "content-type")};
    if (request.body.empty() != contract_.takes.empty()) return {400, "an empty body"};
    if (!accepts(header(request, "accept"), contract_.produces)) return {406, "Accept: " + header(request, "accept")};
    if (header(request, "user-agent").empty()) return {400, "no User-Agent"};
    return {0, ""};
  }
  bool respond(Peer& peer, const ServerRequest& request) {
    const auto [status, why] = judge(request);
    complaint = why;
    if (status != 0) return peer.send(http_answer(status, why, {}, "text/plain"));
    if (refusal_.first != 0) return peer.send(http_answer(refusal_.first, refusal_.second, {}, "text/plain"));
    if (contract_.answer.empty()) return peer.send("HTTP/1.1 204 No Content\r\n\r\n");
    return peer.send(http_answer(200, contract_.answer, {}, contract_.produces));
  }

  const Contract contract_;
  std::pair<int, std::string> refusal_{0, ""};
  TestServer server_;
};

// --- callers; each returns its human-readable problem, empty on success

const base::TimePoint kNow{base::seconds(1763726400)};

class Callers {
 public:
  std::string ask_source(const std::string& url, api::UsageSource source) {
    source.name = "source";
    source.endpoint.url = url;
    return told(usage::make_source(source, dependencies(url))->sample());
  }
  std::string ask_gate(const std::string& url, api::PolicyGate gate) {
    gate.name = "gate";
    api::UsageEndpoint endpoint;
    endpoint.url = url;
    const auto client =
        controllers::http_gate_clients(dependencies(url))(endpoint, controllers::max_answer_bytes(gate.type));
    return told(controllers::ask_gate(*client, "balance", gate, endpoint));
  }
  std::string notify(const std::string& url, controllers::NotificationFormat format) {
    controllers::HttpPost post(clock_);
    struct Inner : kube::EventSink {
      void publish(kube::Event) override {}
    } inner;
    base::Metrics metrics;
    return logged([&](const base::Log& log) {
      controllers::Notifier notifier(
          {inner, clock_, clock_, metrics, log, "operator-0", std::ref(post)},
          {{.name = "ops", .format = format, .url_file = folder_.write("url", url + "/hook")}});
      auto event = kube::Event::warning(api::EventReason::kFailed, "why");
      event.regarding = kube::event_object(kube::kEvacuations, {"shop", "web"}, "uid");
      notifier.publish(std::move(event));
      notifier.step();
    });
  }
  std::string trace(const std::string& url) {
    controllers::TracingConfig config;
    config.endpoint = url + "/v1/traces";
    controllers::OtlpPost post(config, clock_);
    base::Metrics metrics;
    return logged([&](const base::Log& log) {
      controllers::SpanExporter exporter({.steady = clock_,
                                          .metrics = metrics,
                                          .log = log,
                                          .resource = {"1", "evacuator-system", "operator-0"},
                                          .post = [&](const std::string& body) { return post(body); }});
      exporter.add({.trace_id = tracing::trace_id_of("a"), .id = tracing::span_id_of("a", "b"), .name = "b"});
      clock_.advance(base::minutes(1));
      exporter.step();
    });
  }
  std::string call_service(const std::string& url, const kube::Request& request) {
    controllers::ServiceConfig mover;
    mover.name = "mover";
    mover.url = url;
    mover.namespaces = {"shop"};
    mover.uses = {"webhook"};
    const auto answer = send(mover, request);
    if (!answer) return answer.error().message;
    return answer->status < 300 ? "" : evictors::service_refusal("mover", *answer);
  }
  /// Runs a step of stateful-handoff, which interprets the answer itself.
  std::string call_by_handoff(const std::string& url, const evictors::EvictorContext& context) {
    const evictors::handoff::StatefulHandoff evictor;
    const auto plan = evictor.plan(context);
    if (!plan.action) return "nothing to call: " + plan.why;
    controllers::ServiceConfig mover;
    mover.name = "mover";
    mover.url = url;
    mover.namespaces = {"shop"};
    mover.uses = {std::string(plan.action->service_use)};
    const bool by_service = !plan.action->service.empty();
    const auto answer = by_service ? send(mover, plan.action->request) : send_to_api_server(url, plan.action->request);
    const auto meaning = evictor.classify(context, *plan.action, answer);
    return meaning.answer == evictors::ResponseClass::kApplied ? "" : meaning.message;
  }
  base::Result<kube::Response> send_to_api_server(const std::string& url, const kube::Request& request) {
    dependencies(url);
    return api_transport_->round_trip(request);
  }

 private:
  base::Result<kube::Response> send(const controllers::ServiceConfig& service, const kube::Request& request) {
    const auto services = controllers::HttpServices::create({service}, clock_);
    if (!services) return services.error();
    return (*services)->send({service.name, service.uses.front(), "shop"}, request);
  }
  template <typename T>
  static std::string told(const base::Result<T>& result) {
    return result ? std::string() : result.error().message;
  }
  static std::string logged(const std::function<void(const base::Log&)>& act) {
    testing::internal::CaptureStderr();
    act(base::Log::to_stderr(base::LogLevel::kWarning, base::LogFormat::kText));
    return testing::internal::GetCapturedStderr();
  }
  usage::Dependencies dependencies(const std::string& url) {
    kube::Config config;
    config.server = url;
    config.source = "the API server";
    kube::HttpTransportOptions options;
    options.engine = kube::HttpEngine::kBeast;
    api_transport_ = *kube::HttpTransport::create(config, options);
    api_.emplace(*api_transport_, nullptr);
    return {&*api_, &clock_, "evacuator-system"};
  }

  base::ManualClock clock_{kNow};
  const fakes::TempFolder folder_;
  std::unique_ptr<kube::HttpTransport> api_transport_;
  std::optional<kube::Client> api_;
};

api::UsageSource source_of(api::UsageSourceType type, const std::string& query = "") {
  api::UsageSource source;
  source.type = type;
  if (query.empty()) return source;
  source.queries.resize(1);
  source.queries[0].resource = "cpu";
  source.queries[0].query = query;
  return source;
}

api::PolicyGate gate_of(api::GateType type) {
  api::PolicyGate gate;
  gate.type = type;
  gate.query = "up == 0";
  return gate;
}

// --- moves by stateful-handoff

using api::Json;

Json member(const std::string& name, const char* node) {
  return {{"metadata",
           {{"name", name}, {"namespace", "shop"}, {"labels", {{"spilo-role", "replica"}, {"role", "replica"}}}}},
          {"spec", {{"nodeName", node}}},
          {"status", {{"phase", "Running"}, {"conditions", Json::array({{{"type", "Ready"}, {"status", "True"}}})}}}};
}

/// web-1 on node-a is the primary of a cluster, or its policy has a hook.
class Handoff {
 public:
  explicit Handoff(std::vector<std::pair<std::string, std::string>> labels) {
    of_.status.evictor = "stateful-handoff";
    target_.meta.labels = api::StringMap(std::move(labels));
    target_.node_name = {"node-a"};
    parameters_ = {{"switchover", "true"}};
    documents_ = {{"instances", 200, Json{{"items", Json::array({member("web-2", "node-b")})}}.dump()}};
  }
  static Handoff with_hook() {
    Handoff made({});
    made.of_.status.phase = api::EvacuationPhase::kPreparing;
    made.of_.spec.evictors = {{"stateful-handoff", {}}};
    builders::set_policy(made.of_, "safe");
    const Json hooks = {{"pre", {{"webhook", {{"service", "mover"}}}}}};
    const Json policy = {
        {"kind", "DeschedulerPolicy"},
        {"metadata", {{"name", "safe"}}},
        {"spec", {{"evacuation", {{"evictors", Json::array({{{"name", "stateful-handoff"}}})}, {"hooks", hooks}}}}}};
    made.documents_ = {{"policy", 200, policy.dump()}};
    return made;
  }
  Handoff& by_service() { return parameters_.emplace_back("service", "mover"), *this; }

  evictors::EvictorContext look() const {
    auto context = evictors_test::context(of_, target_, kNow);
    context.parameters = parameters_;
    context.documents = documents_;
    context.services = services_;
    return context;
  }
  /// Returns the request that reads the members' status.
  kube::Request status_read() const {
    for (const auto& each : evictors::handoff::StatefulHandoff().reads(look())) {
      if (each.optional) return each.request;
    }
    return {};
  }

 private:
  api::Evacuation of_ = evictors_test::evacuation();
  api::Pod target_ = evictors_test::pod();
  std::vector<std::pair<std::string, std::string>> parameters_;
  std::vector<evictors::Document> documents_;
  std::vector<std::string> services_ = {"mover"};
};

Handoff patroni_primary() { return Handoff({{"cluster-name", "pg"}, {"spilo-role", "master"}}); }

// --- cases

struct Row {
  const char* name;
  Contract contract;
  std::function<std::string(Callers&, const std::string& url)> call;
  std::map<int, std::string> settings;  ///< settings that the message names, by status; 0 for all other status codes
};

const std::string kJson = "application/json";
const std::string kForm = "application/x-www-form-urlencoded";
const std::string kVector =
    R"({"status":"success","data":{"resultType":"vector","result":[{"metric":{"node":"a"},"value":[1763726400,"1"]}]}})";
const std::string kNodeList = R"({"kind":"NodeMetricsList","items":[]})";
const std::map<int, std::string> kEndpointFields = {{401, "bearerToken"}, {403, "bearerToken"}, {0, "check that url"}};
const std::map<int, std::string> kServiceFields = {{401, "tokenFile"}, {403, "tokenFile"}, {0, "services[mover]"}};
const std::map<int, std::string> kUrlFile = {{0, "urlFile"}};
const std::map<int, std::string> kTracing = {
    {401, "tracing.headersFile"}, {403, "tracing.headersFile"}, {0, "tracing.endpoint"}};
const std::map<int, std::string> kMetricsApi = {
    {401, "ServiceAccount token or kubeconfig"}, {403, "config/optional/usage-metrics-server.yaml"}, {0, "APIService"}};
const std::map<int, std::string> kKoordinatorApi = {
    {401, "ServiceAccount token or kubeconfig"}, {403, "config/optional/usage-koordinator.yaml"}, {0, "APIService"}};

const Row kRows[] = {
    {"PrometheusQuery",
     {"GET", "/api/v1/query", "", kJson, kVector},
     [](Callers& by, const std::string& url) {
       return by.ask_source(url, source_of(api::UsageSourceType::kPrometheus, "load"));
     },
     kEndpointFields},
    {"PrometheusLongQuery",
     {"POST", "/api/v1/query", kForm, kJson, kVector},
     [](Callers& by, const std::string& url) {
       return by.ask_source(url, source_of(api::UsageSourceType::kPrometheus, "load" + std::string(5000, ' ') + "+ 0"));
     },
     kEndpointFields},
    {"LoadWatcher",
     {"GET", "/watcher", "", kJson,
      R"({"timestamp":1763726460,"window":{"duration":"15m","start":1763725500,"end":1763726400},"source":"x",)"
      R"("data":{"NodeMetricsMap":{}}})"},
     [](Callers& by, const std::string& url) {
       return by.ask_source(url, source_of(api::UsageSourceType::kLoadWatcher));
     },
     kEndpointFields},
    {"MetricsServer",
     {"GET", "/apis/metrics.k8s.io/v1beta1/", "", kJson, kNodeList},
     [](Callers& by, const std::string& url) {
       return by.ask_source(url, source_of(api::UsageSourceType::kMetricsServer));
     },
     kMetricsApi},
    {"Koordinator",
     {"GET", "/apis/slo.koordinator.sh/v1alpha1/nodemetrics", "", kJson, kNodeList},
     [](Callers& by, const std::string& url) {
       return by.ask_source(url, source_of(api::UsageSourceType::kKoordinator));
     },
     kKoordinatorApi},
    {"GateByQuery",
     {"GET", "/api/v1/query", "", kJson, kVector},
     [](Callers& by, const std::string& url) { return by.ask_gate(url, gate_of(api::GateType::kPrometheus)); },
     kEndpointFields},
    {"GateByAlerts",
     {"GET", "/api/v2/alerts", "", kJson, "[]"},
     [](Callers& by, const std::string& url) { return by.ask_gate(url, gate_of(api::GateType::kAlertmanager)); },
     kEndpointFields},
    {"GateByWebhook",
     {"POST", "/", kJson, kJson, R"({"hold":false})"},
     [](Callers& by, const std::string& url) { return by.ask_gate(url, gate_of(api::GateType::kWebhook)); },
     kEndpointFields},
    {"NotificationToAWebhook",
     {"POST", "/hook", kJson, kJson, ""},
     [](Callers& by, const std::string& url) { return by.notify(url, controllers::NotificationFormat::kWebhook); },
     kUrlFile},
    {"NotificationToSlack",
     {"POST", "/hook", kJson, "text/html", "ok"},
     [](Callers& by, const std::string& url) { return by.notify(url, controllers::NotificationFormat::kSlack); },
     kUrlFile},
    {"Traces",
     {"POST", "/v1/traces", kJson, kJson, R"({"partialSuccess":{}})"},
     [](Callers& by, const std::string& url) { return by.trace(url); },
     kTracing},
    {"ServiceBegins",
     {"POST", "/v1/evacuations/u.1", kJson, kJson, "{}"},
     [](Callers& by, const std::string& url) {
       return by.call_service(url, evictors::webhook::start_request("u.1", {{"token", "u.1"}}));
     },
     kServiceFields},
    {"ServiceReports",
     {"GET", "/v1/evacuations/u.1", "", kJson, "{}"},
     [](Callers& by, const std::string& url) { return by.call_service(url, evictors::webhook::status_request("u.1")); },
     kServiceFields},
    {"ServiceTakesBack",
     {"DELETE", "/v1/evacuations/u.1", "", "text/plain", ""},
     [](Callers& by, const std::string& url) { return by.call_service(url, evictors::webhook::abort_request("u.1")); },
     kServiceFields},
    {"HookOfAPolicy",
     {"POST", "/v1/hooks/pre", kJson, kJson, R"({"done":true})"},
     [](Callers& by, const std::string& url) { return by.call_by_handoff(url, Handoff::with_hook().look()); },
     kServiceFields},
    {"PatroniByService",
     {"POST", "/switchover", kJson, "text/html", "Successfully switched over to \"web-2\""},
     [](Callers& by, const std::string& url) { return by.call_by_handoff(url, patroni_primary().by_service().look()); },
     kServiceFields},
};

class StrictServer : public testing::TestWithParam<Row> {
 protected:
  StrictServer() : server(GetParam().contract) {}
  std::string call() { return GetParam().call(callers, server.url()); }
  static std::string setting(int status) {
    const auto& settings = GetParam().settings;
    const auto found = settings.find(status);
    return found == settings.end() ? settings.at(0) : found->second;
  }

  StrictDouble server;
  Callers callers;
};

TEST_P(StrictServer, TakesTheRequest) {
  EXPECT_EQ(call(), "") << server.complaint;
  EXPECT_EQ(server.complaint, "");
  EXPECT_GE(server.requests(), 1U);
}

TEST_P(StrictServer, RefusalNamesTheSettingToLookAt) {
  for (const int status : {401, 403, 406, 415}) {
    for (const char* body : {"", "access denied", "<html><body>no</body></html>"}) {
      server.refuse(status, body);
      const std::string told = call();
      EXPECT_EQ(server.complaint, "");
      EXPECT_THAT(told, HasSubstr(setting(status))) << status << " with \"" << body << '"';
      EXPECT_THAT(told, HasSubstr(std::to_string(status)));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Outbound, StrictServer, testing::ValuesIn(kRows),
                         [](const auto& row) { return row.param.name; });

/// The API server passes these requests to a pod unchanged.
TEST(StrictPod, TakesASwitchoverOfPatroni) {
  StrictDouble pod({"POST", "/api/v1/namespaces/shop/pods/http:web-1:8008/proxy/switchover", kJson, "text/html",
                    "Successfully switched over to \"web-2\""});
  Callers callers;
  const Handoff primary = patroni_primary();
  EXPECT_EQ(callers.call_by_handoff(pod.url(), primary.look()), "") << pod.complaint;
  EXPECT_EQ(pod.requests(), 1U);
}

TEST(StrictPod, ShowsTheStatusOfACloudNativePgInstance) {
  StrictDouble pod({"GET", "/api/v1/namespaces/shop/pods/https:web-2:8000/proxy/pg/status", "", kJson,
                    R"({"isWalReceiverActive":true})"});
  Callers callers;
  const Handoff primary({{"cnpg.io/cluster", "pg"}, {"cnpg.io/podRole", "instance"}, {"role", "primary"}});
  const auto answer = callers.send_to_api_server(pod.url(), primary.status_read());
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->status, 200) << pod.complaint;
}

/// The token of a Secret is not sent to a redirect target.
TEST(Redirect, IsNotFollowed) {
  TestServer other([](Peer& peer, const ServerRequest&) { return peer.send(http_answer(200, kVector)); });
  TestServer first([&](Peer& peer, const ServerRequest&) {
    return peer.send(http_answer(307, "", "Location: " + other.url() + "/api/v1/query\r\n"));
  });
  Callers callers;
  EXPECT_THAT(callers.ask_source(first.url(), source_of(api::UsageSourceType::kPrometheus, "load")),
              HasSubstr("it redirects, which is not supported"));
  EXPECT_THAT(callers.ask_gate(first.url(), gate_of(api::GateType::kWebhook)), HasSubstr("it redirects"));
  EXPECT_THAT(callers.notify(first.url(), controllers::NotificationFormat::kSlack), HasSubstr("it redirects"));
  EXPECT_THAT(callers.trace(first.url()), HasSubstr("it redirects"));
  EXPECT_THAT(callers.call_service(first.url(), evictors::webhook::status_request("u.1")), HasSubstr("it redirects"));
  EXPECT_THAT(callers.ask_source(first.url(), source_of(api::UsageSourceType::kMetricsServer)),
              HasSubstr("redirects, which is not supported"));
  EXPECT_EQ(other.connections(), 0);
}

}  // namespace strict_double_test
