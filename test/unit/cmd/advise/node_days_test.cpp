#include "cmd/advise/node_days.hpp"

#include <gmock/gmock.h>

namespace advise_node_days_test {

using testing::ElementsAre;
using testing::IsEmpty;

/// Answers every query with the same series.
class OneAnswer final : public kube::Transport {
 public:
  explicit OneAnswer(std::string series) : series_(std::move(series)) {}
  base::Result<kube::Response> round_trip(const kube::Request&) override {
    return kube::Response{200,
                          R"({"status":"success","data":{"resultType":"vector","result":[)" + series_ + "]}}",
                          {},
                          "application/json"};
  }
  base::Result<std::unique_ptr<kube::WatchStream>> watch(const kube::Request&) override {
    return base::unavailable("no watches here");
  }

 private:
  std::string series_;
};

class NodeDays : public testing::Test {
 protected:
  advisor::NodeDays read(const std::string& series) {
    cmd::plugin::Io io{.out = [](std::string_view) {},
                       .err = [](std::string_view) {},
                       .nap = [](base::milliseconds) { return false; },
                       .ask = [](std::string_view) { return std::nullopt; },
                       .clock = clock_};
    cmd::advise::PrometheusOptions options;
    options.url = "http://prometheus";
    auto session = cmd::advise::PrometheusSession::open(options, {}, io, [&](kube::Config, kube::HttpTransportOptions) {
      return base::Result<std::unique_ptr<kube::Transport>>(std::make_unique<OneAnswer>(series));
    });
    if (!session) throw std::runtime_error(session.error().message);
    const usage::NodeMatcher matcher({{"n1", {"10.0.0.1"}}, {"n2", {"10.0.0.2"}}});
    auto days = cmd::advise::read_node_days(**session, {20000, 20001}, matcher, problems_);
    if (!days) throw std::runtime_error(days.error().message);
    return *days;
  }
  static std::string series(const std::string& labels, const std::string& value) {
    return R"({"metric":{)" + labels + R"(},"value":[1,")" + value + R"("]})";
  }

  const base::ManualClock clock_{*base::parse_time("2026-11-21T12:00:00Z")};
  std::vector<std::string> problems_;
};

TEST_F(NodeDays, AreFoundByNameAndAddress) {
  const auto days = read(series(R"("node":"n1")", "5") + "," + series(R"("instance":"10.0.0.2:10250")", "7"));
  EXPECT_EQ(days.at("n1").at(20000).at(advisor::NodeMetric::kSamples), 5);
  EXPECT_EQ(days.at("n2").at(20000).at(advisor::NodeMetric::kPressureIo), 7);
  EXPECT_THAT(problems_, IsEmpty());
}

/// Two jobs that scrape one kubelet, or two clusters in one Prometheus.
TEST_F(NodeDays, AreUnknownIfSeveralSeriesMatch) {
  const std::string other = series(R"("node":"n2")", "7");
  for (const std::string& twice :
       {series(R"("node":"n1","instance":"a")", "5") + "," + series(R"("node":"n1","instance":"b")", "9"),
        series(R"("node":"n1")", "5") + "," + series(R"("instance":"10.0.0.1:9100")", "9"),
        series(R"("node":"n1")", "NaN")}) {
    problems_.clear();
    const auto days = read(twice + "," + other);
    EXPECT_TRUE(std::isnan(days.at("n1").at(20000).at(advisor::NodeMetric::kRootCpu))) << twice;
    EXPECT_EQ(days.at("n2").at(20000).at(advisor::NodeMetric::kRootCpu), 7);
    EXPECT_THAT(problems_, ElementsAre("1 nodes have more than one series for a metric, or a series without a number: "
                                       "these metrics are ignored (n1); select the series with --prometheus-matchers"));
  }
}

TEST_F(NodeDays, OfStrangersAreCounted) {
  EXPECT_THAT(read(series(R"("node":"n3")", "5")), IsEmpty());
  EXPECT_THAT(problems_, ElementsAre("11 values belong to nodes that are not in the cluster"));
}

}  // namespace advise_node_days_test
