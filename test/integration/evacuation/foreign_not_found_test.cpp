#include <nlohmann/json.hpp>

#include "simulator/eviction_request/native_eviction.hpp"
#include "test/integration/rig/rig.hpp"

/// A 404 does not always mean that an object does not exist: a proxy's error page and a kind that is temporarily not
/// served are 404, too. Success is reported only after a live read has shown that the pod is gone (I16).
namespace foreign_not_found_test {

using base::minutes;
using integration::Rig;
using Phase = api::EvacuationPhase;

struct Foreign404 {
  const char* name;
  const char* content_type;
  const char* body;
};

class ForeignNotFound : public Rig, public testing::WithParamInterface<Foreign404> {
 protected:
  void begin() {
    stage();
    start_operator();
    pod_ = pods().front();
  }
  /// Answers all further requests whose path contains `part` with the foreign 404.
  void interpose(const std::string& part, const std::string& method = "") {
    replica->transport.lie = [part, method](const kube::Request& request) -> std::optional<kube::Response> {
      const bool meant = request.path.find(part) != std::string::npos && (method.empty() || method == request.method);
      if (!meant) return std::nullopt;
      return kube::Response{404, GetParam().body, {}, GetParam().content_type};
    };
  }
  void expect_to_go_on(const std::string& name) {
    EXPECT_FALSE(api::is_terminal(phase(name))) << reason(name);
    EXPECT_TRUE(pod_exists(pod_));
    EXPECT_EQ(granted(), 0U);
    replica->transport.lie = nullptr;
    ASSERT_TRUE(run_to_end(name, minutes(20)));
    EXPECT_EQ(reason(name), "Evicted");
    EXPECT_EQ(granted(), 1U);
  }

  std::string pod_;
};

TEST_P(ForeignNotFound, ForThePodIsNoEvictedPod) {
  begin();
  interpose("/pods/" + pod_, "GET");
  const std::string name = evacuate(pod_);
  run_for(minutes(3));
  expect_to_go_on(name);
}

TEST_P(ForeignNotFound, ForTheEvacuationDoesNotLoseIt) {
  begin();
  interpose("/evacuations/");
  const std::string name = evacuate(pod_);
  run_for(minutes(3));
  expect_to_go_on(name);
}

TEST_P(ForeignNotFound, ForTheEvictionIsAskedAgain) {
  begin();
  interpose("/eviction", "POST");
  const std::string name = evacuate(pod_);
  run_for(minutes(3));
  EXPECT_EQ(phase(name), Phase::kRequesting);
  expect_to_go_on(name);
}

/// The responders act although their API is not readable for some time.
TEST_P(ForeignNotFound, ForTheEvictionRequestApiDoesNotLeadToAPlainEviction) {
  responds = true;
  responders = api::Json::array({{{"name", "acme.io/db"}, {"priority", 10000}}});
  simulator::eviction_request::serve(*server, {});
  simulator::eviction_request::run(*cluster, *server, {}, {});
  begin();
  interpose("/apis/lifecycle.k8s.io/v1alpha1", "GET");
  const std::string name = evacuate(pod_);
  run_for(minutes(3));
  EXPECT_FALSE(api::is_terminal(phase(name))) << reason(name);
  EXPECT_TRUE(evictions().empty());
  EXPECT_TRUE(pod_exists(pod_));
  replica->transport.lie = nullptr;
  ASSERT_TRUE(run_to_end(name, std::chrono::hours(6))) << reason(name);
  EXPECT_EQ(get(name).status.evictor, "eviction-request");
}

INSTANTIATE_TEST_SUITE_P(
    By, ForeignNotFound,
    testing::Values(Foreign404{"AProxysPage", "text/html", "<html><body>404 Not Found</body></html>"},
                    Foreign404{"APathThatIsNotServed", "text/plain", "404 page not found\n"},
                    Foreign404{"AKindThatIsNotServed", "application/json",
                               R"({"kind":"Status","status":"Failure","code":404,"reason":"NotFound","details":{},
                                   "message":"the server could not find the requested resource"})"},
                    Foreign404{"AWordAboutSomethingElse", "application/json",
                               R"({"kind":"Status","status":"Failure","code":404,"reason":"NotFound",
                                   "message":"namespaces \"shop\" not found","details":{"name":"shop"}})"}),
    [](const auto& test) { return test.param.name; });

}  // namespace foreign_not_found_test
