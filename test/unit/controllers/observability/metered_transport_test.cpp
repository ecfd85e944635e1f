#include "controllers/observability/metered_transport.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <fstream>

#include "controllers/observability/process_metrics.hpp"
#include "test/fakes/temp_folder.hpp"

namespace metered_transport_test {

using testing::HasSubstr;
using testing::Not;

struct SilentWatch : kube::WatchStream {
  base::Result<std::optional<std::string>> next(base::milliseconds) override { return std::optional<std::string>(); }
  void cancel() override {}
};

/// Returns the configured response or error after 200 ms.
struct Scripted : kube::Transport {
  explicit Scripted(base::ManualClock& of) : clock(of) {}
  base::Result<kube::Response> round_trip(const kube::Request&) override {
    clock.advance(base::milliseconds(200));
    if (error) return *error;
    return response;
  }
  base::Result<std::unique_ptr<kube::WatchStream>> watch(const kube::Request&) override {
    if (error) return *error;
    return std::unique_ptr<kube::WatchStream>(std::make_unique<SilentWatch>());
  }
  base::ManualClock& clock;
  kube::Response response{.status = 200, .body = {}, .retry_after = {}, .content_type = "application/json"};
  std::optional<base::Error> error;
};

class MeteredTransportTest : public testing::Test {
 protected:
  void ask(const std::string& method, const std::string& path, kube::Flow flow = kube::Flow::kWrite) {
    kube::Request request;
    request.method = method;
    request.path = path;
    request.flow = flow;
    static_cast<void>(transport.round_trip(request));
  }
  void answer(int status, const std::string& content_type = "application/json") {
    inner.response.status = status;
    inner.response.content_type = content_type;
  }
  std::string count_of(const std::string& labels) const {
    const std::string series = "evacuator_api_request_duration_seconds_count{" + labels + "} ";
    const std::string text = metrics.render();
    const auto at = text.find(series);
    return at == std::string::npos ? "none" : text.substr(at + series.size(), text.find('\n', at) - at - series.size());
  }

  base::ManualClock clock{base::TimePoint(std::chrono::seconds(1'000'000))};
  base::Metrics metrics;
  Scripted inner{clock};
  controllers::MeteredTransport transport{inner, metrics, clock, clock};
};

TEST_F(MeteredTransportTest, CountsByVerbAndCode) {
  ask("GET", "/api/v1/nodes/n", kube::Flow::kRead);
  ask("GET", "/api/v1/nodes", kube::Flow::kList);
  ask("POST", "/apis/evacuator.dev/v1alpha1/namespaces/shop/evacuations");
  ask("PATCH", "/api/v1/nodes/n");
  ask("DELETE", "/api/v1/nodes/n");
  answer(201);
  ask("POST", "/api/v1/namespaces/shop/pods/web/eviction");
  inner.error = base::unavailable("no connection");
  ask("PUT", "/apis/coordination.k8s.io/v1/namespaces/a/leases/b");
  inner.error = base::Error{base::ErrorCode::kCancelled, "shutting down"};
  ask("PUT", "/apis/coordination.k8s.io/v1/namespaces/a/leases/b");
  for (const char* labels : {R"(code="200",verb="get")", R"(code="200",verb="list")", R"(code="200",verb="create")",
                             R"(code="200",verb="patch")", R"(code="200",verb="delete")", R"(code="201",verb="evict")",
                             R"(code="error",verb="update")"})
    EXPECT_EQ(count_of(labels), "1") << labels;
  EXPECT_THAT(metrics.render(), HasSubstr(R"(_bucket{code="200",verb="get",le="0.1"} 0)"));
  EXPECT_THAT(metrics.render(), HasSubstr(R"(_bucket{code="200",verb="get",le="0.25"} 1)"));
}

TEST_F(MeteredTransportTest, NoServerMakesManySeries) {
  for (int status : {0, 7, 99, 600, 1234, 98765}) {
    answer(status);
    ask("BREW", "/api/v1/nodes/n");
  }
  EXPECT_EQ(count_of(R"(code="other",verb="other")"), "6");
}

TEST_F(MeteredTransportTest, FairnessIsNoBudget) {
  answer(429);
  ask("POST", "/api/v1/namespaces/shop/pods/web/eviction");
  EXPECT_THAT(metrics.render(), Not(HasSubstr("evacuator_api_fairness_rejections_total")));
  ask("GET", "/api/v1/nodes", kube::Flow::kList);
  answer(429, "text/plain; charset=utf-8");
  ask("POST", "/api/v1/namespaces/shop/pods/web/eviction");
  EXPECT_THAT(metrics.render(), HasSubstr(R"(evacuator_api_fairness_rejections_total{verb="list"} 1)"));
  EXPECT_THAT(metrics.render(), HasSubstr(R"(evacuator_api_fairness_rejections_total{verb="evict"} 1)"));
}

TEST_F(MeteredTransportTest, KnowsWhichWatchesAreOpen) {
  kube::Request request;
  request.path = "/api/v1/pods";
  {
    const auto first = transport.watch(request);
    const auto second = transport.watch(request);
    EXPECT_THAT(metrics.render(), HasSubstr(R"(evacuator_watches_open{kind="pods"} 2)"));
  }
  inner.error = base::unavailable("no connection");
  EXPECT_FALSE(transport.watch(request));
  EXPECT_THAT(metrics.render(), HasSubstr(R"(evacuator_watches_open{kind="pods"} 0)"));
  EXPECT_THAT(metrics.render(), HasSubstr(R"(evacuator_watch_opens_total{kind="pods",result="opened"} 2)"));
  EXPECT_THAT(metrics.render(), HasSubstr(R"(evacuator_watch_opens_total{kind="pods",result="failed"} 1)"));
  EXPECT_THAT(metrics.render(), HasSubstr(R"(evacuator_watch_opened_timestamp_seconds{kind="pods"} 1000000)"));
}

TEST(ProcessMetrics, ReportsThisProcess) {
  base::Metrics metrics;
  controllers::ProcessMetrics process(metrics);
  process.refresh();
  const std::string text = metrics.render();
  for (const char* family : {"process_cpu_seconds_total ", "process_resident_memory_bytes ", "process_threads ",
                             "process_start_time_seconds ", "process_open_fds ", "process_max_fds "})
    EXPECT_THAT(text, HasSubstr(std::string("\n") + family));
}

TEST(ProcessMetrics, ReadsStatOfAProgramWithAnUnusualName) {
  const fakes::TempFolder folder;
  std::filesystem::create_directories(folder.file("self/fd"));
  std::ofstream(folder.file("self/stat"))
      << "7 (a) b (c) S 1 1 1 0 -1 0 0 0 0 0 300 100 0 0 20 0 9 0 5000 1000000 512 0 0\n";
  std::ofstream(folder.file("stat")) << "cpu 1 2\nbtime 1000000\n";
  base::Metrics metrics;
  controllers::ProcessMetrics process(metrics, folder.file(""));
  process.refresh();
  process.refresh();  // no CPU time used since
  const std::string text = metrics.render();
  EXPECT_THAT(text, HasSubstr("\nprocess_cpu_seconds_total 4\n"));
  EXPECT_THAT(text, HasSubstr("\nprocess_threads 9\n"));
  EXPECT_THAT(text, HasSubstr("\nprocess_start_time_seconds 1000050\n"));
}

TEST(ProcessMetrics, ReportsNothingWithoutProc) {
  base::Metrics metrics;
  controllers::ProcessMetrics(metrics, "/nowhere").refresh();
  EXPECT_THAT(metrics.render(), Not(HasSubstr("process_cpu_seconds_total")));
}

}  // namespace metered_transport_test
