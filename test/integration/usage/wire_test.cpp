#include <gmock/gmock.h>

#include <future>
#include <optional>
#include <thread>

#include "base/time/steady_clock.hpp"
#include "controllers/policy/usage/collector.hpp"
#include "test/unit/kube/http/test_server.hpp"
#include "usage/sources/make_source.hpp"

/// Usage sources over real connections: servers that answer correctly, stall, send slowly, or answer too late.
namespace usage_wire_test {

using base::milliseconds;
using base::seconds;
using kube::testing::http_answer;
using kube::testing::Peer;
using kube::testing::ServerRequest;
using kube::testing::TestServer;
using testing::HasSubstr;

// --- answers of servers

constexpr std::int64_t kMeasuredAt = 1763726400;
const base::TimePoint kNow{seconds(kMeasuredAt + 10)};

std::string node_name(int number) { return "node-" + std::to_string(10'000 + number); }

/// Returns an answer in the format of paypal/load-watcher.
std::string load_watcher_answer(int nodes, const std::string& cpu) {
  std::string map;
  for (int i = 0; i < nodes; ++i) {
    map += (i == 0 ? "\"" : ",\"") + node_name(i) +
           R"(":{"metrics":[{"name":"instance:node_cpu:ratio","type":"CPU","operator":"AVG","rollup":"15m","value":)" +
           cpu +
           R"(},{"name":"","type":"CPU","operator":"STD","rollup":"15m","value":3.5},{"name":"","type":"Memory",)" +
           R"("operator":"Latest","rollup":"15m","value":40}],"tags":{},"metadata":{"dataCenter":""}})";
  }
  return R"({"timestamp":1763726460,"window":{"duration":"15m","start":1763725500,"end":1763726400},)"
         R"("source":"Prometheus","data":{"NodeMetricsMap":{)" +
         map + "}}}";
}

std::string prometheus_answer(int nodes) {
  std::string series;
  for (int i = 0; i < nodes; ++i)
    series += (i == 0 ? R"({"metric":{"node":")" : R"(,{"metric":{"node":")") + node_name(i) +
              R"("},"value":[1763726400.123,"1.5"]})";
  return R"({"status":"success","data":{"resultType":"vector","result":[)" + series + "]}}";
}

bool stall(Peer& peer, const ServerRequest&) { return peer.await_end(), false; }

/// Sends an endless answer, a few bytes at a time.
bool drip(Peer& peer, const ServerRequest&) {
  bool goes_on = peer.send("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n{");
  while (goes_on) {
    peer.dawdle();
    goes_on = peer.send(" ");
  }
  return false;
}

// --- one source

class UsageOverTheWire : public testing::Test {
 protected:
  api::UsageSource source(api::UsageSourceType type, const TestServer& server,
                          base::Duration timeout = seconds(30)) const {
    api::UsageSource made;
    made.name = "source";
    made.type = type;
    made.endpoint.url = server.url();
    made.endpoint.timeout = timeout;
    if (type == api::UsageSourceType::kPrometheus) made.queries = {{.resource = "cpu", .query = "cpu"}};
    return made;
  }
  std::unique_ptr<usage::Source> make(const api::UsageSource& settings) {
    return usage::make_source(settings, {&nobody_, &clock_, "evacuator-system"});
  }

  base::ManualClock clock_{kNow};

 private:
  /// None of these sources needs the API server.
  class Unreachable final : public kube::Transport {
   public:
    base::Result<kube::Response> round_trip(const kube::Request&) override { return base::unavailable("nobody"); }
    base::Result<std::unique_ptr<kube::WatchStream>> watch(const kube::Request&) override {
      return base::unavailable("nobody");
    }
  };
  Unreachable unreachable_;
  kube::Client nobody_{unreachable_, nullptr};
};

TEST_F(UsageOverTheWire, SpeaksLoadWatchersFormat) {
  TestServer server([](Peer& peer, const ServerRequest& request) {
    return peer.send(request.target == "/watcher" ? http_answer(200, load_watcher_answer(3, "62.5"))
                                                  : http_answer(404, "not found"));
  });
  const auto samples = make(source(api::UsageSourceType::kLoadWatcher, server))->sample();
  ASSERT_TRUE(samples) << samples.error().message;
  ASSERT_EQ(samples->nodes.size(), 3U);
  EXPECT_EQ(samples->nodes[2].name, node_name(2));
  EXPECT_EQ(samples->nodes[2].time, base::TimePoint(seconds(kMeasuredAt)));
  EXPECT_THAT(samples->nodes[2].values, testing::ElementsAre(62.5, 40));
  EXPECT_THAT(samples->problems, testing::IsEmpty());
}

TEST_F(UsageOverTheWire, TakesTenThousandNodesInOneAnswer) {
  TestServer server([](Peer& peer, const ServerRequest& request) {
    return peer.send(
        http_answer(200, request.target == "/watcher" ? load_watcher_answer(10'000, "50") : prometheus_answer(10'000)));
  });
  for (const auto type : {api::UsageSourceType::kLoadWatcher, api::UsageSourceType::kPrometheus}) {
    const auto samples = make(source(type, server))->sample();
    ASSERT_TRUE(samples) << samples.error().message;
    ASSERT_EQ(samples->nodes.size(), 10'000U);
    EXPECT_EQ(samples->nodes.back().name, node_name(9'999));
    EXPECT_THAT(samples->problems, testing::IsEmpty());
  }
}

TEST_F(UsageOverTheWire, GivesUpOnAServerThatStalls) {
  TestServer server(stall);
  const auto samples = make(source(api::UsageSourceType::kLoadWatcher, server, milliseconds(100)))->sample();
  ASSERT_FALSE(samples);
  EXPECT_THAT(samples.error().message, HasSubstr("no complete response in time"));
}

TEST_F(UsageOverTheWire, GivesUpOnAServerThatDrips) {
  TestServer server(drip);
  const auto samples = make(source(api::UsageSourceType::kPrometheus, server, milliseconds(100)))->sample();
  ASSERT_FALSE(samples);
  EXPECT_THAT(samples.error().message, HasSubstr("no complete response in time"));
}

TEST_F(UsageOverTheWire, IsNotMisledByWhatIsCutOff) {
  TestServer server([](Peer& peer, const ServerRequest&) {
    const std::string whole = http_answer(200, load_watcher_answer(100, "50"));
    return peer.send(whole.substr(0, whole.size() / 2)), false;
  });
  EXPECT_FALSE(make(source(api::UsageSourceType::kLoadWatcher, server))->sample());
}

// --- the operator's collector

class CollectedOverTheWire : public UsageOverTheWire {
 protected:
  std::string problem_of(std::size_t place) { return collector_.figures("policy").measured.at(place)->problem; }

  base::Metrics metrics_;
  base::SteadyClock steady_;
  kube::WorkQueue queue_{steady_};
  controllers::UsageCollector collector_{
      {.make_source = [this](const api::UsageSource& settings) { return make(settings); },
       .clock = clock_,
       .log = base::Log(),
       .metrics = metrics_},
      queue_};
};

TEST_F(CollectedOverTheWire, AnAnswerAfterTheCycleIsForTheNextOne) {
  std::promise<void> cycle_is_over;
  TestServer server([over = cycle_is_over.get_future().share()](Peer& peer, const ServerRequest&) {
    over.wait();
    return peer.send(http_answer(200, load_watcher_answer(3, "50")));
  });
  collector_.set("policy", {{"source", source(api::UsageSourceType::kLoadWatcher, server)}});
  std::jthread worker([&] { ASSERT_TRUE(collector_.collect(queue_.try_take().value())); });
  server.await_requests(1);
  EXPECT_EQ(problem_of(0), "the source has not responded yet") << "and the cycle did not wait";
  cycle_is_over.set_value();
  worker.join();
  EXPECT_EQ(problem_of(0), "");
  EXPECT_EQ(collector_.figures("policy").measured.at(0)->nodes.size(), 3U);
}

/// Number of the operator's workers.
constexpr int kWorkers = 4;

TEST_F(CollectedOverTheWire, FiveSourcesThatStallDoNotHoldUpOneThatAnswers) {
  TestServer good_server(
      [](Peer& peer, const ServerRequest&) { return peer.send(http_answer(200, load_watcher_answer(3, "50"))); });
  std::optional<TestServer> bad_server(std::in_place, stall);
  api::UsageSource good = source(api::UsageSourceType::kLoadWatcher, good_server);
  good.interval = milliseconds(1);
  std::vector<controllers::WantedUsage> wanted = {{"good", good}};
  collector_.set("policy", wanted);
  std::vector<std::jthread> workers;
  for (int i = 0; i < kWorkers; ++i) {
    workers.emplace_back([this](const std::stop_token& stop) {
      while (const auto key = queue_.take(stop)) {
        const auto again = collector_.collect(*key);
        queue_.done(*key);
        if (again && again->after) queue_.add_after(*key, *again->after);
      }
    });
  }
  good_server.await_requests(2);  // the first answer was received
  for (int i = 0; i < 5; ++i) {
    api::UsageSource bad = source(api::UsageSourceType::kPrometheus, *bad_server, std::chrono::minutes(10));
    bad.interval = seconds(1000 + i);  // distinct sources
    wanted.push_back({"bad-" + std::to_string(i), bad});
  }
  collector_.set("policy", wanted);
  bad_server->await_requests(3);  // none of them is ever answered
  good_server.await_requests(good_server.requests().size() + 50);
  EXPECT_EQ(bad_server->requests().size(), 3U) << "a worker is left";
  for (std::jthread& worker : workers) worker.request_stop();
  bad_server.reset();  // otherwise the workers would wait for it
}

}  // namespace usage_wire_test
