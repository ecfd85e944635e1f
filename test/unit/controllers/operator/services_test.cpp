#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "controllers/operator/http_services.hpp"
#include "controllers/operator/operator_config.hpp"
#include "http_server/certificates.hpp"
#include "http_server/server.hpp"
#include "kube/config/process_environment.hpp"
#include "test/fakes/temp_folder.hpp"

namespace controllers {
namespace services_test {

using testing::HasSubstr;

// --- services: in the configuration

TEST(ServicesConfig, ReadsEveryField) {
  const auto config = parse_operator_config(R"(
services:
  - name: mover
    url: https://mover.example.com:8443/base
    caFile: /etc/mover/ca.crt
    tokenFile: /etc/mover/token
    timeout: 5s
    namespaces: [shop, "*"]
    uses: [webhook, hook]
  - name: local
    url: http://127.0.0.1:9000
)");
  ASSERT_TRUE(config) << config.error().message;
  ASSERT_EQ(config->services.size(), 2u);
  EXPECT_EQ(config->services[0], (ServiceConfig{"mover",
                                                "https://mover.example.com:8443/base",
                                                "/etc/mover/ca.crt",
                                                "/etc/mover/token",
                                                "",
                                                "",
                                                base::seconds(5),
                                                {"shop", "*"},
                                                {"webhook", "hook"}}));
  EXPECT_TRUE(config->services[1].namespaces.empty());
  EXPECT_TRUE(config->services[1].uses.empty());
  EXPECT_EQ(config->services[1].timeout, base::seconds(10));
}

TEST(ServicesConfig, NamesTheFieldAndTheFix) {
  struct Row {
    const char* entry;
    const char* complaint;
  };
  const Row rows[] = {
      {"name: Mover, url: 'https://a'", "services[0].name: must be a name"},
      {"url: 'https://a'", "services[0].name: must be a name"},
      {"name: a", "services[0].url: must be a URL"},
      {"name: a, url: 'http://mover.example.com'", "services[0].url: must be https"},
      {"name: a, url: 'http://127.evil.example'", "services[0].url: must be https"},
      {"name: a, url: 'https://user:secret@a'", "services[0].url: must not contain a user name or password"},
      {"name: a, url: 'https://a?x=1'", "services[0].url: the URL must not contain a query"},
      {"name: a, url: 'ftp://a'", "services[0].url:"},
      {"name: a, url: 'https://a', certFile: c", "services[0].keyFile: is required"},
      {"name: a, url: 'https://a', keyFile: k", "services[0].certFile: is required"},
      {"name: a, url: 'https://a', certFile: c, keyFile: k, tokenFile: t",
       "services[0].tokenFile: is mutually exclusive with certFile"},
      {"name: a, url: 'http://localhost:1', caFile: c", "services[0].caFile: requires an https url"},
      {"name: a, url: 'https://a', timeout: 1h", "services[0].timeout: must be from 1s to 30s"},
      {"name: a, url: 'https://a', namespaces: [shop, 'sh*']",
       "services[0].namespaces[1]: must be the name of a namespace, or \"*\", not \"sh*\""},
      {"name: a, url: 'https://a', uses: [hook, hooks]",
       "services[0].uses[1]: must be one of hook, patroni, webhook, not \"hooks\""},
      {"name: a, url: 'https://a', uses: [patroni], namespaces: [shop, bank]",
       "services[0].namespaces: must be the single namespace"},
      {"name: a, url: 'https://a', uses: [patroni], namespaces: ['*']",
       "services[0].namespaces: must be the single namespace"},
      {"name: a, url: 'https://a', insecureSkipVerify: true", "services[0].insecureSkipVerify"},
      {"name: a, url: 'https://a'}, {name: a, url: 'https://b'", "services[1].name: a is listed twice"},
  };
  for (const Row& row : rows) {
    const auto config = parse_operator_config("services: [{" + std::string(row.entry) + "}]");
    ASSERT_FALSE(config) << row.entry;
    EXPECT_THAT(config.error().message, HasSubstr(row.complaint)) << row.entry;
    EXPECT_THAT(config.error().message, testing::Not(HasSubstr("secret"))) << row.entry;
  }
}

TEST(ServicesConfig, DeniesUnlistedUses) {
  ServiceConfig service;
  service.name = "mover";
  EXPECT_EQ(refusal(service, "webhook", "shop"),
            "service mover may not be called as webhook for namespace shop: services[mover].namespaces of the "
            "operator's configuration does not list shop");
  service.namespaces = {"shop"};
  EXPECT_EQ(refusal(service, "webhook", "shop"),
            "service mover may not be called as webhook for namespace shop: services[mover].uses of the operator's "
            "configuration does not list webhook");
  service.uses = {"webhook"};
  EXPECT_EQ(refusal(service, "webhook", "shop"), "");
  EXPECT_THAT(refusal(service, "webhook", "shop2"), HasSubstr("does not list shop2"));
  EXPECT_THAT(refusal(service, "webhook", "*"), HasSubstr("does not list *"));
  EXPECT_THAT(refusal(service, "hook", "shop"), HasSubstr("does not list hook"));
  EXPECT_THAT(refusal(service, "", "shop"), HasSubstr("services[mover].uses"));
  service.namespaces = {"*"};
  EXPECT_EQ(refusal(service, "webhook", "shop2"), "");
}

// --- calls over TLS

const evacuation::ServiceCall kCall{"mover", "webhook", "shop"};

class HttpServicesTest : public testing::Test {
 protected:
  HttpServicesTest() : identity_(*http_server::make_server_identity({"127.0.0.1"}, base::SystemClock().now())) {
    kube::prepare_process();
  }

  void serve(http_server::Handler handler) {
    http_server::ServerOptions options;
    options.certificate = http_server::Certificate{identity_.certificate, identity_.key};
    server_ = std::make_unique<http_server::Server>(options, std::move(handler));
    ASSERT_TRUE(server_->start().ok());
  }
  ServiceConfig config(base::Duration timeout = base::seconds(10)) {
    folder_.write("for", "https://127.0.0.1:" + std::to_string(server_->port()));
    return {"mover",
            "https://127.0.0.1:" + std::to_string(server_->port()) + "/base",
            folder_.write("ca.crt", identity_.ca),
            folder_.write("token", "first"),
            "",
            "",
            timeout,
            {"shop"},
            {"webhook"}};
  }
  std::unique_ptr<HttpServices> connect(const ServiceConfig& config) {
    auto made = HttpServices::create({config}, clock_);
    if (!made) ADD_FAILURE() << made.error().message;
    return made ? *std::move(made) : nullptr;
  }
  static kube::Request get() {
    kube::Request request;
    request.path = "/v1/evacuations/a.1";
    return request;
  }

  base::ManualClock clock_{base::SystemClock().now()};
  const fakes::TempFolder folder_;
  http_server::ServerIdentity identity_;
  std::unique_ptr<http_server::Server> server_;
};

TEST_F(HttpServicesTest, CallsWithTheBasePathAndTheTokenOfTheMoment) {
  std::vector<std::string> seen;
  serve([&](const http_server::Request& request) -> http_server::Reply {
    seen.push_back(request.path + " " + std::string(request.header("authorization")));
    return http_server::Response{200, "application/json", "{}"};
  });
  const auto services = connect(config());
  EXPECT_THAT(services->names(), testing::ElementsAre("mover"));
  EXPECT_EQ(services->send(kCall, get())->status, 200);
  folder_.write("token", "second");
  clock_.advance(base::seconds(31));
  EXPECT_EQ(services->send(kCall, get())->status, 200);
  EXPECT_THAT(seen,
              testing::ElementsAre("/base/v1/evacuations/a.1 Bearer first", "/base/v1/evacuations/a.1 Bearer second"));
}

TEST_F(HttpServicesTest, LooksForANewTokenAfterARefusal) {
  serve([&](const http_server::Request& request) -> http_server::Reply {
    const bool good = request.header("authorization") == "Bearer second";
    return http_server::Response{good ? 200 : 401, "application/json", "{}"};
  });
  const auto services = connect(config());
  EXPECT_EQ(services->send(kCall, get())->status, 401);
  folder_.write("token", "second");
  EXPECT_EQ(services->send(kCall, get())->status, 200);
}

TEST_F(HttpServicesTest, RefusesAServerOfAnotherAuthority) {
  serve([](const http_server::Request&) -> http_server::Reply { return http_server::Response{200, "", "{}"}; });
  ServiceConfig wrong = config();
  wrong.ca_file = folder_.write("other.crt", http_server::make_server_identity({"127.0.0.1"}, clock_.now())->ca);
  const auto answer = connect(wrong)->send(kCall, get());
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, base::ErrorCode::kUnavailable) << answer.error().message;
}

TEST_F(HttpServicesTest, BoundsAnswersAndTime) {
  std::promise<void> end;
  auto ended = end.get_future().share();
  serve([ended](const http_server::Request& request) -> http_server::Reply {
    if (request.path.ends_with("/huge"))
      return http_server::Response{200, "application/json", std::string(3 << 20, 'x')};
    ended.wait();
    return http_server::Response{200, "application/json", "{}"};
  });
  const auto services = connect(config(base::seconds(1)));
  kube::Request huge = get();
  huge.path = "/huge";
  const auto too_much = services->send(kCall, huge);
  ASSERT_FALSE(too_much);
  EXPECT_THAT(too_much.error().message, HasSubstr("larger than 1 MiB"));
  const auto hung = services->send(kCall, get());  // the service's own timeout of 1 s applies, not the request's 34 s
  end.set_value();
  ASSERT_FALSE(hung);
  EXPECT_EQ(hung.error().code, base::ErrorCode::kOutcomeUnknown);
}

TEST_F(HttpServicesTest, SendsNothingForANamespaceThatIsNotListed) {
  int calls = 0;
  serve([&](const http_server::Request&) -> http_server::Reply {
    ++calls;
    return http_server::Response{200, "application/json", "{}"};
  });
  const auto services = connect(config());
  for (const evacuation::ServiceCall& call :
       {evacuation::ServiceCall{"mover", "webhook", "tenant-a"}, evacuation::ServiceCall{"mover", "patroni", "shop"}}) {
    EXPECT_THAT(services->refusal(call), HasSubstr("services[mover]."));
    const auto answer = services->send(call, get());
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().message, services->refusal(call));
  }
  EXPECT_EQ(calls, 0);
}

TEST_F(HttpServicesTest, KnowsOnlyConfiguredNames) {
  serve([](const http_server::Request&) -> http_server::Reply { return http_server::Response{}; });
  const auto answer = connect(config())->send({"other", "webhook", "shop"}, get());
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, base::ErrorCode::kInvalid);
}

}  // namespace services_test
}  // namespace controllers
