#include "controllers/observability/tracing/exporter.hpp"

#include <gmock/gmock.h>

#include <atomic>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "api/json/json.hpp"
#include "http_server/server.hpp"
#include "test/fakes/temp_folder.hpp"

namespace exporter_test {

using api::Json;
using base::seconds;
using controllers::SpanExporter;
using controllers::TracingConfig;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

tracing::Span span_of(const std::string& name) {
  const std::string trace = tracing::trace_id_of(name);
  return {.trace_id = trace, .id = tracing::span_id_of(trace, name), .name = name};
}

Json spans_in(const std::string& body) {
  return Json::parse(body).at("resourceSpans").at(0).at("scopeSpans").at(0).at("spans");
}

class SpanExporterTest : public testing::Test {
 protected:
  SpanExporter& start(double percent = 100) {
    exporter_.emplace(
        SpanExporter::Dependencies{.steady = clock,
                                   .metrics = metrics,
                                   .log = {},
                                   .resource = {"0.1.0", "evacuator-system", "replica-1"},
                                   .post = [this](const std::string& body) -> base::Result<kube::Response> {
                                     posts.push_back(body);
                                     if (meanwhile) meanwhile();
                                     if (answers.empty()) return answer(200);
                                     auto next = answers.front();
                                     if (answers.size() > 1) answers.erase(answers.begin());
                                     return next;
                                   },
                                   .sampling_percent = percent});
    return *exporter_;
  }
  static kube::Response answer(int status, std::optional<seconds> retry_after = {}, std::string body = "{}") {
    return {.status = status, .body = std::move(body), .retry_after = retry_after, .content_type = {}};
  }
  /// Runs step() until nothing is pending. Returns the pauses in seconds.
  std::vector<std::int64_t> play() {
    std::vector<std::int64_t> pauses;
    for (auto due = exporter_->step(); due; due = exporter_->step()) {
      pauses.push_back(std::chrono::duration_cast<seconds>(*due - clock.now()).count());
      EXPECT_EQ(exporter_->step(), due) << "not before its time";
      clock.advance(*due - clock.now());
    }
    return pauses;
  }
  std::string counted(const std::string& result) const {
    const std::string text = metrics.render();
    const std::string series = "evacuator_trace_spans_total{result=\"" + result + "\"} ";
    const auto at = text.find(series);
    if (at == std::string::npos) return "0";
    return text.substr(at + series.size(), text.find('\n', at) - at - series.size());
  }

  base::ManualClock clock{*base::parse_time("2026-11-25T12:00:00Z")};
  base::Metrics metrics;
  std::vector<std::string> posts;
  std::vector<base::Result<kube::Response>> answers;  ///< consumed in order, the last one repeats; 200 if empty
  std::function<void()> meanwhile;
  std::optional<SpanExporter> exporter_;
};

TEST_F(SpanExporterTest, CollectsSpansBrieflyAndSendsThemTogether) {
  SpanExporter& exporter = start();
  exporter.add(span_of("one"));
  EXPECT_TRUE(posts.empty()) << "add() sends nothing by itself";
  exporter.add(span_of("two"));
  EXPECT_THAT(play(), ElementsAre(2));
  ASSERT_EQ(posts.size(), 1U);
  EXPECT_EQ(spans_in(posts[0]).size(), 2U);
  EXPECT_EQ(counted("sent"), "2");
}

TEST_F(SpanExporterTest, AFullBatchDoesNotWait) {
  SpanExporter& exporter = start();
  for (std::size_t i = 0; i < SpanExporter::kMaxAtOnce + 1; ++i) exporter.add(span_of(std::to_string(i)));
  const auto due = exporter.step();
  ASSERT_EQ(posts.size(), 1U);
  EXPECT_EQ(spans_in(posts[0]).size(), SpanExporter::kMaxAtOnce);
  EXPECT_EQ(due, clock.now() + SpanExporter::kBatchDelay) << "the one that is left waits for others";
}

TEST_F(SpanExporterTest, RetriesWithIncreasingDelaysAndHonorsRetryAfter) {
  start().add(span_of("one"));
  answers = {answer(503), answer(429, seconds(40)), base::unavailable("no connection"), answer(502), answer(200)};
  EXPECT_THAT(play(), ElementsAre(2, 1, 40, 4, 8));
  EXPECT_EQ(posts.size(), 5U);
  EXPECT_EQ(posts.front(), posts.back()) << "the same ids: a collector may tell that it has them";
  EXPECT_EQ(counted("sent"), "1");
}

TEST_F(SpanExporterTest, RetryAfterIsBounded) {
  start().add(span_of("one"));
  answers = {answer(429, seconds(1'000'000)), answer(200)};
  EXPECT_THAT(play(), ElementsAre(2, 300));
}

struct Refusal {
  const char* name;
  int status;
  std::size_t posts;
};
class SpansRefused : public SpanExporterTest, public testing::WithParamInterface<Refusal> {};

TEST_P(SpansRefused, AreGivenUpAndCounted) {
  start().add(span_of("one"));
  answers = {answer(GetParam().status)};
  play();
  EXPECT_EQ(posts.size(), GetParam().posts);
  EXPECT_EQ(counted("failed"), "1");
  EXPECT_EQ(counted("sent"), "0");
}

INSTANTIATE_TEST_SUITE_P(With, SpansRefused,
                         testing::Values(Refusal{"BadRequest", 400, 1}, Refusal{"Forbidden", 403, 1},
                                         Refusal{"TooLarge", 413, 1}, Refusal{"ServerError", 500, 1},
                                         Refusal{"ARedirect", 302, 1},
                                         Refusal{"Unavailable", 503, SpanExporter::kMaxTries},
                                         Refusal{"TooMany", 429, SpanExporter::kMaxTries}),
                         [](const auto& test) { return test.param.name; });

TEST_F(SpanExporterTest, CountsRejectedSpansOfABatch) {
  SpanExporter& exporter = start();
  for (int i = 0; i < 5; ++i) exporter.add(span_of(std::to_string(i)));
  answers = {answer(200, {}, R"({"partialSuccess":{"rejectedSpans":"2"}})")};
  play();
  EXPECT_EQ(counted("sent"), "3");
  EXPECT_EQ(counted("rejected"), "2");
  exporter.add(span_of("more"));
  answers = {answer(200, {}, R"({"partialSuccess":{"rejectedSpans":"999"}})")};
  play();
  EXPECT_EQ(counted("rejected"), "3") << "no more than were sent";
}

TEST_F(SpanExporterTest, AFloodIsBoundedAndCounted) {
  SpanExporter& exporter = start();
  answers = {base::unavailable("no connection")};
  for (std::size_t i = 0; i < SpanExporter::kMaxPending + 100; ++i) exporter.add(span_of("one"));
  EXPECT_EQ(counted("dropped"), "100");
}

TEST_F(SpanExporterTest, AddDoesNotBlockDuringAPost) {
  SpanExporter& exporter = start();
  exporter.add(span_of("one"));
  meanwhile = [&] {  // called during the post: a lock held here would deadlock
    if (posts.size() == 1) std::thread([&] { exporter.add(span_of("two")); }).join();
  };
  play();
  ASSERT_EQ(posts.size(), 2U);
  EXPECT_EQ(spans_in(posts[1])[0].at("name"), "two");
}

TEST_F(SpanExporterTest, ATraceIsSentWholeOrNotAtAll) {
  SpanExporter& exporter = start(20);
  std::size_t wanted = 0;
  for (int i = 0; i < 400; ++i) {
    const auto span = span_of(std::to_string(i));
    wanted += exporter.wants(span.trace_id);
    exporter.add(span);
    exporter.add(span);
  }
  play();
  std::size_t sent = 0;
  for (const std::string& each : posts) sent += spans_in(each).size();
  EXPECT_EQ(sent, 2 * wanted);
  EXPECT_GT(wanted, 20U);
  EXPECT_LT(wanted, 200U);
}

TEST_F(SpanExporterTest, ShutdownSendsPendingSpansWithoutBlocking) {
  SpanExporter& exporter = start();
  const auto end = [&] {
    std::jthread thread([&](std::stop_token stop) { exporter.run(stop); });
    thread.request_stop();
    thread.join();
  };
  for (std::size_t i = 0; i < 2 * SpanExporter::kMaxAtOnce; ++i) exporter.add(span_of(std::to_string(i)));
  end();
  EXPECT_EQ(counted("sent"), std::to_string(2 * SpanExporter::kMaxAtOnce));
  posts.clear();
  answers = {answer(503)};
  for (std::size_t i = 0; i < 2 * SpanExporter::kMaxAtOnce; ++i) exporter.add(span_of(std::to_string(i)));
  end();
  EXPECT_LE(posts.size(), 3U) << "it does not try on and on";
}

struct Headers {
  const char* name;
  const char* text;
  const char* problem;  ///< nullptr if two headers are read
};
class HeadersFile : public testing::TestWithParam<Headers> {};

TEST_P(HeadersFile, IsReadStrictly) {
  const auto read = controllers::parse_headers(GetParam().text);
  ASSERT_EQ(read.ok(), GetParam().problem == nullptr);
  if (read) {
    EXPECT_EQ(read->size(), 2U);
    return;
  }
  EXPECT_THAT(read.error().message, HasSubstr(GetParam().problem));
  EXPECT_THAT(read.error().message, Not(HasSubstr("SECRET")));
}

INSTANTIATE_TEST_SUITE_P(
    With, HeadersFile,
    testing::Values(Headers{"TwoLines", "Authorization: Bearer SECRET\nx-scope-orgid: team\n", nullptr},
                    Headers{"CommentsAndBlanks", "# of the vendor\n\n a: b \r\n\nc:d", nullptr},
                    Headers{"NoColon", "a: b\nSECRET\n", "line 2"}, Headers{"NoValue", "SECRET:\n", "line 1"},
                    Headers{"ABlankInTheName", "SECRET key: x\n", "line 1"},
                    Headers{"AControlCharacter", "a: SECRET\x01\n", "line 1"},
                    Headers{"OneThatWeWrite", "a: b\nHOST: SECRET\n", "line 2"},
                    Headers{"OneThatEndsTheRequest", "Content-Length: 0\n", "line 1"},
                    Headers{"NoAscii", "a: SECRET\xc3\xa4\n", "line 1"}),
    [](const auto& test) { return test.param.name; });

/// A local collector with real HTTP.
class CollectorTest : public testing::Test {
 protected:
  CollectorTest() {
    EXPECT_TRUE(server.start());
    config.endpoint = "http://127.0.0.1:" + std::to_string(server.port()) + "/v1/traces";
  }

  http_server::Reply respond(const http_server::Request& request) {
    const std::scoped_lock lock(mutex);
    seen.push_back(request);
    if (stalls) std::this_thread::sleep_for(std::chrono::milliseconds(1500));  // longer than the client's timeout
    return reply;
  }

  fakes::TempFolder folder;
  base::SystemClock clock;
  std::mutex mutex;
  std::vector<http_server::Request> seen;
  http_server::Response reply{.status = 200, .content_type = "application/json", .body = "{}"};
  std::atomic<bool> stalls = false;
  http_server::Server server{{}, [this](const http_server::Request& request) { return respond(request); }};
  TracingConfig config;
};

TEST_F(CollectorTest, GetsBodiesWithTheHeadersOfTheFileAsItIsNow) {
  config.headers_file = folder.write("headers", "Authorization: Bearer first\n");
  folder.write("for", "http://127.0.0.1:" + std::to_string(server.port()));
  controllers::OtlpPost post(config, clock);
  ASSERT_TRUE(post("{\"resourceSpans\":[]}"));
  std::ofstream(config.headers_file) << "Authorization: Bearer second\n";
  ASSERT_TRUE(post("{}"));
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_EQ(seen[0].method + " " + seen[0].path + " " + seen[0].body, "POST /v1/traces {\"resourceSpans\":[]}");
  EXPECT_EQ(seen[0].header("content-type"), "application/json");
  EXPECT_EQ(seen[0].header("authorization"), "Bearer first");
  EXPECT_EQ(seen[1].header("authorization"), "Bearer second");
  std::ofstream(config.headers_file) << "SECRET";
  const auto refused = post("{}");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, testing::AllOf(HasSubstr("headersFile"), Not(HasSubstr("SECRET"))));
  EXPECT_EQ(seen.size(), 2U) << "nothing is sent without them";
}

TEST_F(CollectorTest, GetsNoHeadersOfASecretThatIsForAnother) {
  config.headers_file = folder.write("headers", "Authorization: Bearer SECRET\n");
  controllers::OtlpPost post(config, clock);
  for (const char* servers : {"", "https://127.0.0.1:" /* not over http */, "http://collector.example:"}) {
    const std::string port = std::to_string(server.port());
    folder.write("for", *servers == '\0' ? std::string() : servers + port);
    const auto refused = post("{}");
    ASSERT_FALSE(refused) << servers;
    EXPECT_THAT(refused.error().message,
                testing::AllOf(HasSubstr("tracing.headersFile: "), HasSubstr("http://127.0.0.1:" + port),
                               Not(HasSubstr("SECRET"))));
  }
  EXPECT_TRUE(seen.empty());
}

TEST_F(CollectorTest, ThatStallsHoldsUpNothingButItsOwnThread) {
  stalls = true;
  config.timeout = seconds(1);
  controllers::OtlpPost post(config, clock);
  base::Metrics metrics;
  SpanExporter exporter(
      {.steady = clock, .metrics = metrics, .log = {}, .resource = {}, .post = [&](const std::string& body) {
         return post(body);
       }});
  std::jthread thread([&](std::stop_token stop) { exporter.run(stop); });
  for (std::size_t i = 0; i < SpanExporter::kMaxAtOnce; ++i) exporter.add(span_of(std::to_string(i)));
  const auto reached = [&] {
    const std::scoped_lock lock(mutex);
    return !seen.empty();
  };
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!reached() && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  ASSERT_TRUE(reached());
  const auto before = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < 2 * SpanExporter::kMaxPending; ++i) exporter.add(span_of("more"));
  EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::milliseconds(900)) << "while the call hangs";
  EXPECT_THAT(metrics.render(), HasSubstr("evacuator_trace_spans_total{result=\"dropped\"}"));
  stalls = false;
}

TEST_F(CollectorTest, MaySayAnythingAtAll) {
  controllers::OtlpPost post(config, clock);
  base::Metrics metrics;
  base::ManualClock virtual_clock(*base::parse_time("2026-11-25T12:00:00Z"));
  SpanExporter exporter(
      {.steady = virtual_clock, .metrics = metrics, .log = {}, .resource = {}, .post = [&](const std::string& body) {
         return post(body);
       }});
  const auto send = [&](http_server::Response next) {
    reply = std::move(next);
    exporter.add(span_of("one"));
    virtual_clock.advance(seconds(3));
    exporter.step();
  };
  send({.status = 200, .content_type = "text/html", .body = "<html>\xff\xfe</html>"});
  // exceeds the size limit of a response
  send({.status = 200, .content_type = "application/json", .body = std::string(1 << 20, '[')});
  send({.status = 404, .content_type = "text/plain", .body = "no such page"});
  EXPECT_THAT(metrics.render(), HasSubstr("evacuator_trace_spans_total{result=\"sent\"} 1"));
  EXPECT_EQ(seen.size(), 3U);
}

TEST_F(CollectorTest, IsNotReachedInPlainHttpUnlessThatIsAllowed) {
  config.endpoint = "http://collector.example:4318/v1/traces";
  EXPECT_THAT(controllers::OtlpPost(config, clock)("{}").error().message, HasSubstr("http is allowed only"));
}

}  // namespace exporter_test
