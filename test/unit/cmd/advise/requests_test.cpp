#include <fmt/format.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "advisor/history.hpp"
#include "advisor/rolling/codec.hpp"
#include "cmd/advise/past.hpp"
#include "cmd/cli.hpp"
#include "kube/transport.hpp"
#include "test/unit/cmd/command_fixture.hpp"

/// `advise requests` from its input files to its output, and node days read from Prometheus.
namespace cmd_advise_test {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kDump = R"({"kind":"List","apiVersion":"v1","items":[
{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"namespace":"shop","name":"web"},"spec":{"template":{"spec":
 {"containers":[{"name":"app","resources":{"requests":{"cpu":"1","memory":"1Gi"}}}]}}}},
{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"shop","name":"web-7d4b9c6f5-x2x9z","labels":
 {"pod-template-hash":"7d4b9c6f5"},"ownerReferences":[{"controller":true,"kind":"ReplicaSet","name":"web-7d4b9c6f5"}]},
 "spec":{"containers":[{"name":"app"}]},"status":{"phase":"Running"}}]})";

/// Returns an hourly log of `days` days: 500m at noon, 100m at other times.
std::string top_log(int days) {
  std::string text;
  const base::TimePoint start = *base::parse_time("2026-11-02T00:00:00Z");
  for (int hour = 0; hour < days * 24; ++hour) {
    text += fmt::format("# {}\nNAMESPACE POD NAME CPU(cores) MEMORY(bytes)\n",
                        base::format_time(start + std::chrono::hours(hour)));
    text += fmt::format("shop web-7d4b9c6f5-x2x9z app {}m 200Mi\n", hour % 24 == 12 ? 500 : 100);
  }
  return text;
}

class AdviseRequests : public cmd_test::CommandTest {
 protected:
  int run(std::vector<std::string> args) {
    args.insert(args.begin(), {"advise", "requests", "--snapshot", write("dump.json", kDump)});
    return captured([&] { return cmd::run_evacuator(args); });
  }
};

TEST_F(AdviseRequests, GoFromALogToATableAndPatches) {
  const std::string patches = directory_ + "/patches";
  EXPECT_EQ(
      run({"--top", write("top.log", top_log(4)), "--profile", "Core", "--patches", patches, "--price-core", "10"}), 0)
      << err_;
  EXPECT_THAT(out_, HasSubstr("Profile Core, 2026-10-23 to 2026-11-05"));
  EXPECT_THAT(out_, HasSubstr("1000m → 500m"));
  EXPECT_THAT(out_, HasSubstr("1024Mi → 230Mi"));
  EXPECT_THAT(out_, HasSubstr("96 in 4d"));
  EXPECT_THAT(out_, HasSubstr("SAVING A MONTH"));
  EXPECT_THAT(err_, HasSubstr("1 patches in "));
  EXPECT_TRUE(std::filesystem::exists(patches + "/kustomization.yaml"));
  EXPECT_TRUE(std::filesystem::exists(patches + "/shop/deployment-web.yaml"));
}

TEST_F(AdviseRequests, AWrongClockDisplacesNoDay) {
  EXPECT_EQ(
      run({"--top", write("top.log", top_log(4) + "# 2126-01-01T00:00:00Z\nshop web-7d4b9c6f5-x2x9z app 1m 1Mi\n"),
           "--profile", "Core"}),
      0)
      << err_;
  EXPECT_THAT(out_, HasSubstr("1000m → 500m"));
  EXPECT_THAT(out_, HasSubstr("1 samples or days are in the future and are ignored"));
}

TEST_F(AdviseRequests, ReadsAPipe) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const std::string log = top_log(4);
  ASSERT_EQ(::write(ends[1], log.data(), log.size()), static_cast<ssize_t>(log.size()));
  close(ends[1]);
  EXPECT_EQ(run({"--top", fmt::format("/dev/fd/{}", ends[0]), "--profile", "Core"}), 0) << err_;
  EXPECT_THAT(out_, HasSubstr("1000m → 500m"));
  close(ends[0]);
}

TEST_F(AdviseRequests, SayThatANamespaceHasNothing) {
  EXPECT_EQ(run({"--top", write("top.log", top_log(4)), "-n", "nobody"}), 0) << err_;
  EXPECT_THAT(out_, HasSubstr("there are no pods and no workloads in namespace nobody"));
}

TEST_F(AdviseRequests, ImpossibleDaysGiveNoAdvice) {
  std::string csv = "day,namespace,kind,workload,container,samples,covered,cpu_peak,cpu_mean,memory_peak\n";
  for (int day = 2; day < 6; ++day)
    csv += fmt::format("2026-11-{:02},shop,Deployment,web,app,288,24h,1500000,0.2,inf\n", day);
  EXPECT_EQ(run({"--csv", write("days.csv", csv)}), 0) << err_;
  EXPECT_THAT(out_, HasSubstr("1152 of 1152 samples are negative, implausible, duplicate or out of time order"));
  EXPECT_THAT(out_, Not(HasSubstr("inf")));
}

TEST_F(AdviseRequests, UseTheOperatorsAdvice) {
  advisor::RollingHistory history;
  const base::TimePoint start = *base::parse_time("2026-11-02T00:00:00Z");
  for (int minute = 0; minute < 4 * 24 * 60; minute += 10)
    history.add(start + base::minutes(minute), minute % (24 * 60) == 720 ? 0.5 : 0.1, 200.0 * 1024 * 1024, false);
  const auto dump = [&](const std::string& sketch) {
    api::Json json = api::Json::parse(kDump);
    json["items"].push_back({{"apiVersion", "evacuator.dev/v1alpha1"},
                             {"kind", "ResourceAdvice"},
                             {"metadata", {{"namespace", "shop"}, {"name", "deployment-web"}}},
                             {"status",
                              {{"workload", {{"kind", "Deployment"}, {"name", "web"}}},
                               {"containers", api::Json::array({{{"name", "app"}, {"sketch", sketch}}})}}}});
    return write("kept.json", json.dump());
  };
  const auto advise = [&](const std::string& sketch) {
    return captured([&] {
      return cmd::run_evacuator({"advise", "requests", "--snapshot", dump(sketch), "--resource-advices", "--profile",
                                 "Core", "--until", "2026-11-06T00:00:00Z"});
    });
  };
  EXPECT_EQ(advise(advisor::encode_history(history)), 0) << err_;
  EXPECT_THAT(out_, HasSubstr("1000m → 500m"));
  EXPECT_THAT(out_, HasSubstr("1024Mi → 230Mi"));
  EXPECT_THAT(out_, HasSubstr("576 in 4d"));
  EXPECT_EQ(advise("AAAA"), 0) << err_;
  EXPECT_THAT(out_, HasSubstr("ResourceAdvice shop/deployment-web, container app: its version 0 is unknown"));
  EXPECT_THAT(out_, HasSubstr("no history (0 samples)"));
}

TEST_F(AdviseRequests, SayWhyThereIsNoAdvice) {
  EXPECT_EQ(run({"--top", write("top.log", top_log(2))}), 0) << err_;
  EXPECT_THAT(out_, HasSubstr("2 days of history with at least 12h, 3 are needed (48 samples, 2d in all)"));
  EXPECT_THAT(out_, Not(HasSubstr("→")));
  EXPECT_EQ(run({"--top", write("top.log", top_log(2)), "-o", "json"}), 0) << err_;
  const auto json = nlohmann::json::parse(out_);
  EXPECT_EQ(json["containers"][0]["samples"], 48);
  EXPECT_FALSE(json["containers"][0].contains("recommended"));
}

TEST_F(AdviseRequests, GiveTheSameByCsvAndByJson) {
  std::string csv = "time,namespace,pod,container,cpu,memory\n";
  const base::TimePoint start = *base::parse_time("2026-11-02T00:00:00Z");
  for (int hour = 0; hour < 96; ++hour)
    csv += fmt::format("{},shop,web-7d4b9c6f5-x2x9z,app,{}m,200Mi\n",
                       base::format_time(start + std::chrono::hours(hour)), hour % 24 == 12 ? 500 : 100);
  EXPECT_EQ(run({"--csv", write("a.csv", csv), "-o", "json", "--profile", "Percentile", "--percentile", "50"}), 0)
      << err_;
  const auto json = nlohmann::json::parse(out_);
  EXPECT_EQ(json["containers"][0]["recommended"]["requests"]["cpu"], "100m");
  EXPECT_EQ(json["containers"][0]["recommended"]["limits"]["cpu"], "500m");
  EXPECT_EQ(json["containers"][0]["recommended"]["requests"]["memory"], "230Mi");
  EXPECT_EQ(json["containers"][0]["saving"]["cpuCores"], 0.9);
}

TEST_F(AdviseRequests, RefuseUnreadableInput) {
  EXPECT_EQ(run({}), 1);
  EXPECT_THAT(err_, HasSubstr("no history is given"));
  EXPECT_EQ(run({"--top", write("top.log", "shop web app 1m 1Mi\n")}), 1);
  EXPECT_THAT(err_, HasSubstr("line 1: a sample before the first time"));
  EXPECT_EQ(run({"--csv", directory_ + "/none.csv"}), 1);
  EXPECT_EQ(run({"--top", write("top.log", top_log(1)), "--startup", "soon"}), 1);
  EXPECT_THAT(err_, HasSubstr("--startup"));
  EXPECT_EQ(run({"--prometheus", "http://u:p@h"}), 1);
  EXPECT_THAT(err_, HasSubstr("must not contain a password"));
  EXPECT_EQ(run({"--prometheus", "gopher://h"}), 1);
  EXPECT_EQ(run({"--prometheus", "http://h", "--prometheus-matchers", "a=\"b\"}"}), 1);
  EXPECT_EQ(run({"--prometheus", "http://h", "--prometheus-header", "nonsense"}), 1);
  EXPECT_EQ(run({"--profile", "Best"}), 2);
}

TEST_F(AdviseRequests, RefuseADumpThatHoldsNothing) {
  const std::string log = write("top.log", top_log(4));
  for (const char* dump : {"", R"({"kind":"List","apiVersion":"v1","items":[]})"}) {
    const std::string path = write("nothing.json", dump);
    EXPECT_EQ(captured([&] {
                return cmd::run_evacuator({"advise", "requests", "--snapshot", path, "--top", log});
              }),
              1);
    EXPECT_THAT(err_, HasSubstr("nothing.json: contains no object")) << dump;
  }
  const std::string refused =
      write("refused.json", R"({"kind":"Status","apiVersion":"v1","status":"Failure","message":"pods is forbidden"})");
  EXPECT_EQ(captured([&] {
              return cmd::run_evacuator({"advise", "requests", "--snapshot", refused, "--top", log});
            }),
            1);
  EXPECT_THAT(err_, HasSubstr("refused.json: is not an object, but an error of the API server: \"pods is forbidden\""));
}

/// A line that is written by another user may contain control characters. The output must not.
TEST_F(AdviseRequests, ShowNoControlCharacters) {
  const std::string log = "2026-11-02T00:00:00Z\nshop \x1b[31mweb app 1m 1Mi\n";
  EXPECT_EQ(run({"--top", write("top.log", log)}), 0) << err_;
  EXPECT_THAT(out_, HasSubstr("belong to no existing workload"));
  EXPECT_THAT(out_, Not(HasSubstr("\x1b")));
}

class AdvisePlugin : public cmd_test::CommandTest {
 protected:
  int run(std::vector<std::string> args) {
    out_ = err_ = "";
    const base::SystemClock clock;
    cmd::plugin::Io io{.out = [&](std::string_view text) { out_ += text; },
                       .err = [&](std::string_view text) { err_ += text; },
                       .nap = [](base::milliseconds) { return false; },
                       .ask = [](std::string_view) { return std::nullopt; },
                       .clock = clock};
    return cmd::plugin::run(args, io);
  }
};

TEST_F(AdvisePlugin, IsTheSameCommand) {
  const std::vector<std::string> requests = {
      "advise", "requests", "--snapshot", write("dump.json", kDump), "--top", write("top.log", top_log(4)), "-n",
      "shop",   "-o",       "table"};
  EXPECT_EQ(run(requests), 0) << err_;
  EXPECT_THAT(out_, HasSubstr("96 in 4d"));
  EXPECT_EQ(run({"advise"}), 1);
  EXPECT_EQ(run({"advise", "nodes"}), 1);
  EXPECT_THAT(err_, HasSubstr("set --prometheus"));
  const std::string odd = write("odd.json", R"([{"kind":5},7,{"kind":"Node","metadata":{"name":"n1"}}])");
  EXPECT_EQ(run({"advise", "nodes", "--snapshot", odd, "--prometheus", "http://127.0.0.1:1", "--days", "1"}), 1);
  EXPECT_THAT(err_, HasSubstr("Prometheus, ")) << "the node was read, its past could not be";
  EXPECT_EQ(run({"advise", "nodes", "--snapshot", write("dump.json", kDump), "--prometheus", "http://127.0.0.1:1"}), 1);
  EXPECT_THAT(err_, HasSubstr("contains no nodes"));
}

/// A Prometheus with one container. The answer depends on the subject of the query.
class FakePrometheus final : public kube::Transport {
 public:
  struct State {
    std::vector<std::string> queries;
    std::string broken;  ///< queries that contain this text fail
  };
  explicit FakePrometheus(State& state) : state_(state) {}
  base::Result<kube::Response> round_trip(const kube::Request& request) override {
    const std::string query = request.query + request.body;
    state_.queries.push_back(query);
    if (!state_.broken.empty() && query.find(state_.broken) != std::string::npos)
      return kube::Response{503, "", {}, "text/plain"};
    return kube::Response{200, answer(query), {}, "application/json"};
  }
  base::Result<std::unique_ptr<kube::WatchStream>> watch(const kube::Request&) override {
    return base::unavailable("no watches here");
  }

 private:
  static std::string answer(const std::string& query) {
    const auto has = [&](const char* text) { return query.find(text) != std::string::npos; };
    std::string value = "0.1";
    if (has("query=count%20by") || has("query=count+by")) return vector(R"({"namespace":"shop"})", "1");
    if (has("throttled") || has("oom")) return R"({"status":"success","data":{"resultType":"vector","result":[]}})";
    if (has("count_over_time")) value = "288";
    if (has("memory")) value = has("count_over_time") ? "288" : "209715200";
    if (has("max_over_time") && has("cpu_usage")) value = "0.5";
    return vector(R"({"namespace":"shop","evacuator_series":"web-7d4b9c6f5-x2x9z/app"})", value);
  }
  static std::string vector(const std::string& metric, const std::string& value) {
    return R"({"status":"success","data":{"resultType":"vector","result":[{"metric":)" + metric + R"(,"value":[1,")" +
           value + R"("]}]}})";
  }
  State& state_;
};

class AdvisePrometheus : public cmd_test::CommandTest {
 protected:
  AdvisePrometheus() {
    advisor::InventoryBuilder builder;
    const auto dump = *api::parse_json(kDump);
    for (const auto& object : dump["items"]) builder.add(object);
    inventory_ = std::move(builder).finish("");
    options_.prometheus.url = "http://prometheus";
    options_.until = "2026-11-06T10:00:00Z";
    options_.days = 3;
    options_.cache = directory_ + "/cache";
  }
  base::Result<cmd::advise::Past> read() {
    const base::ManualClock clock(*base::parse_time("2026-11-21T12:00:00Z"));
    cmd::plugin::Io io{.out = [](std::string_view) {},
                       .err = [](std::string_view) {},
                       .nap = [](base::milliseconds) { return false; },
                       .ask = [](std::string_view) { return std::nullopt; },
                       .clock = clock};
    return cmd::advise::read_past(options_, inventory_, io, [this](kube::Config, kube::HttpTransportOptions) {
      return base::Result<std::unique_ptr<kube::Transport>>(std::make_unique<FakePrometheus>(state_));
    });
  }

  advisor::Inventory inventory_;
  cmd::advise::RequestsOptions options_;
  FakePrometheus::State state_;
};

TEST_F(AdvisePrometheus, IsAskedOnceADayAndFigure) {
  const auto past = read();
  ASSERT_TRUE(past) << past.error().message;
  EXPECT_EQ(past->queries, 30U) << "three days of the namespaces and nine figures";
  EXPECT_EQ(past->queries, state_.queries.size());
  const auto advice = advisor::advise_requests(inventory_, past->histories, past->rules);
  ASSERT_EQ(advice.size(), 1U);
  EXPECT_EQ(advice[0].no_advice_reason, "");
  EXPECT_EQ(advice[0].samples, 864U);
  EXPECT_EQ(advice[0].recommended.cpu_limit, 0.5);
  EXPECT_EQ(advice[0].recommended.memory_limit, 230.0 * 1024 * 1024);
}

TEST_F(AdvisePrometheus, ContinuesFromTheCache) {
  state_.broken = "quantile_over_time";
  const auto failed = read();
  ASSERT_FALSE(failed);
  EXPECT_THAT(failed.error().message, HasSubstr("Prometheus, 2026-11-03: cpu_p95: HTTP 503"));
  state_.broken.clear();
  ASSERT_TRUE(read());
  state_.queries.clear();
  const auto again = read();
  ASSERT_TRUE(again);
  EXPECT_EQ(again->queries, 0U) << "all days are there";
  EXPECT_EQ(advisor::advise_requests(inventory_, again->histories, again->rules)[0].recommended.cpu_limit, 0.5);
  std::filesystem::remove(directory_ + "/cache/2026-11-04.csv");
  EXPECT_EQ(read()->queries, 10U) << "one day is missing";
  options_.until = "2026-11-23T10:00:00Z";
  EXPECT_EQ(read()->queries, 10U) << "only the twentieth is over";
  options_.until = "2026-11-06T10:00:00Z";
  options_.prometheus.step = "10m";
  EXPECT_EQ(read()->queries, 30U) << "days that were asked in another way do not count";
}

}  // namespace cmd_advise_test
