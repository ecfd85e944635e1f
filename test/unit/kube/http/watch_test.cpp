#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "kube/config/process_environment.hpp"
#include "kube/http/transport.hpp"
#include "kube/request.hpp"
#include "test_server.hpp"

namespace kube {
namespace http_watch_test {

using base::ErrorCode;
using base::milliseconds;
using ::testing::HasSubstr;
using testing::http_answer;
using testing::Peer;
using testing::ServerRequest;
using testing::ServerTls;
using testing::TestCa;
using testing::TestServer;

constexpr milliseconds kLong{20'000};
const std::string kHead = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";

std::string chunk(const std::string& text) {
  char size[20];
  std::snprintf(size, sizeof size, "%zx\r\n", text.size());
  return size + text + "\r\n";
}

class HttpWatchTest : public ::testing::TestWithParam<bool> {
 protected:
  std::unique_ptr<WatchStream> open(TestServer::Handler handler) {
    auto opened = try_open(std::move(handler));
    if (!opened) ADD_FAILURE() << opened.error().message;
    return opened ? *std::move(opened) : nullptr;
  }
  base::Result<std::unique_ptr<WatchStream>> try_open(TestServer::Handler handler) {
    prepare_process();
    static const TestCa authority;
    static const ServerTls tls{authority.issue({"127.0.0.1"}), ""};
    server = std::make_unique<TestServer>(std::move(handler), GetParam() ? &tls : nullptr);
    Config config;
    config.server = server->url();
    config.ca_pem = authority.pem();
    config.source = "the test";
    config.credentials = static_credentials({"Bearer secret", "", ""});
    auto made = HttpTransport::create(std::move(config), options);
    if (!made) return made.error();
    transport = *std::move(made);
    Request request = watch_request(kPods, {}, base::seconds(60));
    request.timeout = timeout;
    return transport->watch(request);
  }
  static std::string line_of(WatchStream& stream) {
    const auto next = stream.next(kLong);
    if (!next) return "error: " + next.error().message;
    return next->value_or("nothing");
  }

  HttpTransportOptions options;
  milliseconds timeout = kLong;
  std::unique_ptr<TestServer> server;
  std::unique_ptr<HttpTransport> transport;
};
INSTANTIATE_TEST_SUITE_P(Http, HttpWatchTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "Tls" : "Plain"; });

TEST_P(HttpWatchTest, GivesLinesAsTheyCome) {
  std::atomic<bool> go_on = false;
  const auto stream = open([&](Peer& peer, const ServerRequest&) {
    peer.send(kHead + chunk("{\"n\":1}\n{\"n\":2}\n{\"n\""));
    while (!go_on) std::this_thread::yield();
    peer.send(chunk(":3}\n"));
    peer.await_end();
    return false;
  });
  EXPECT_EQ(line_of(*stream), "{\"n\":1}");
  EXPECT_EQ(line_of(*stream), "{\"n\":2}");
  const auto nothing = stream->next(milliseconds(0));
  ASSERT_TRUE(nothing);
  EXPECT_EQ(*nothing, std::nullopt);
  go_on = true;
  EXPECT_EQ(line_of(*stream), "{\"n\":3}");
  EXPECT_THAT(server->requests()[0].target, HasSubstr("watch=true"));
  EXPECT_EQ(server->requests()[0].headers.at("authorization"), "Bearer secret");
}

TEST_P(HttpWatchTest, EndsAfterTheLastLineWhenTheServerEnds) {
  const auto stream = open([](Peer& peer, const ServerRequest&) {
    peer.send(kHead + chunk("a\n") + chunk("b\n") + "0\r\n\r\n");
    return false;
  });
  EXPECT_EQ(line_of(*stream), "a");
  EXPECT_EQ(line_of(*stream), "b");
  const auto end = stream->next(kLong);
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().code, ErrorCode::kUnavailable);
  EXPECT_FALSE(stream->next(kLong)) << "it stays ended";
}

struct Refusal {
  int status;
  ErrorCode want;
};

TEST_P(HttpWatchTest, ClassifiesARefusal) {
  for (const auto& [status, want] : {Refusal{410, ErrorCode::kGone}, Refusal{403, ErrorCode::kForbidden},
                                     Refusal{401, ErrorCode::kUnauthorized}, Refusal{404, ErrorCode::kNotFound},
                                     Refusal{500, ErrorCode::kUnavailable}, Refusal{204, ErrorCode::kUnavailable}}) {
    const auto got = try_open([status = status](Peer& peer, const ServerRequest&) {
      return peer.send(http_answer(status, status == 204 ? "" : R"({"kind":"Status","message":"because"})"));
    });
    ASSERT_FALSE(got) << status;
    EXPECT_EQ(base::to_string(got.error().code), base::to_string(want)) << status << got.error().message;
    EXPECT_EQ(got.error().message == "because", status != 204) << got.error().message;
  }
}

TEST_P(HttpWatchTest, TellsABreak) {
  for (const bool hard : {false, true}) {
    auto opened = try_open([hard](Peer& peer, const ServerRequest&) {
      peer.send(kHead + chunk("a\n") + "ff\r\n{\"half");
      if (hard) peer.reset();  // may overtake what was sent before
      return false;
    });
    ErrorCode code = opened ? ErrorCode::kInvalid : opened.error().code;
    while (opened && code == ErrorCode::kInvalid) {
      const auto next = (*opened)->next(kLong);
      if (!next) code = next.error().code;
    }
    EXPECT_EQ(base::to_string(code), "Unavailable");
  }
}

TEST_P(HttpWatchTest, TellsASilentServer) {
  options.watch_idle = milliseconds(60);
  const auto stream = open([](Peer& peer, const ServerRequest&) {
    peer.send(kHead + chunk("a\n"));
    peer.await_end();
    return false;
  });
  EXPECT_EQ(line_of(*stream), "a");
  const auto end = stream->next(kLong);
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(end.error().message, HasSubstr("nothing came"));
}

TEST_P(HttpWatchTest, DoesNotWaitForEverForTheHeader) {
  timeout = milliseconds(80);
  const auto got = try_open([](Peer& peer, const ServerRequest&) {
    peer.await_end();
    return false;
  });
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(got.error().message, HasSubstr("no answer in time"));
}

TEST_P(HttpWatchTest, CancelWakesTheReader) {
  const auto stream = open([](Peer& peer, const ServerRequest&) {
    peer.send(kHead);
    peer.await_end();
    return false;
  });
  std::jthread reader([&] { EXPECT_EQ(stream->next(kLong).error().code, ErrorCode::kCancelled); });
  stream->cancel();
  reader.join();
  stream->cancel();
  EXPECT_EQ(stream->next(milliseconds(0)).error().code, ErrorCode::kCancelled);
}

TEST_P(HttpWatchTest, CancelDropsLinesThatNobodyRead) {
  const auto stream = open([](Peer& peer, const ServerRequest&) {
    peer.send(kHead + chunk("a\nb\nc\n"));
    peer.await_end();
    return false;
  });
  EXPECT_EQ(line_of(*stream), "a");
  stream->cancel();
  EXPECT_EQ(stream->next(milliseconds(0)).error().code, ErrorCode::kCancelled);
}

TEST_P(HttpWatchTest, RefusesAnEndlessLine) {
  options.max_watch_line = 1 << 20;
  const auto stream = open([](Peer& peer, const ServerRequest&) {
    bool open = peer.send(kHead);
    while (open) open = peer.send(chunk(std::string(1 << 16, 'x')));
    return false;
  });
  const auto end = stream->next(kLong);
  ASSERT_FALSE(end);
  EXPECT_THAT(end.error().message, HasSubstr("longer than allowed"));
}

TEST_P(HttpWatchTest, LeavesTheSocketAloneWhenNobodyReads) {
  constexpr int kLines = 2000;
  options.watch_queue_bytes = 1 << 20;
  std::atomic<int> sent = 0;
  const auto stream = open([&](Peer& peer, const ServerRequest&) {
    bool open = peer.send(kHead);
    const std::string line(1 << 15, 'x');  // 64 MiB in all
    for (; open && sent < kLines; ++sent) open = peer.send(chunk(line + "\n"));
    if (open) peer.send("0\r\n\r\n");
    return false;
  });
  server->await_stall();
  EXPECT_LT(sent, kLines / 2) << "the client must not read ahead without bound";
  int got = 0;
  for (auto next = stream->next(kLong); next; next = stream->next(kLong)) got += next->has_value();
  EXPECT_EQ(got, kLines) << "and must go on where it stopped";
}

TEST_P(HttpWatchTest, IsCancelledWithItsTransport) {
  const auto stream = open([](Peer& peer, const ServerRequest&) {
    peer.send(kHead);
    peer.await_end();
    return false;
  });
  std::jthread reader([&] { EXPECT_EQ(stream->next(kLong).error().code, ErrorCode::kCancelled); });
  transport->shut_down();
  reader.join();
  transport.reset();
  EXPECT_EQ(stream->next(milliseconds(0)).error().code, ErrorCode::kCancelled) << "a stream may outlive its transport";
}

TEST_P(HttpWatchTest, ManyRunBesideTheRequests) {
  options.max_connections = 2;
  auto first = open([](Peer& peer, const ServerRequest& request) {
    if (request.target.find("watch=true") == std::string::npos) return peer.send(http_answer(200, "{}"));
    peer.send(kHead + chunk("x\n"));
    peer.await_end();
    return false;
  });
  std::vector<std::unique_ptr<WatchStream>> streams;
  for (int i = 0; i < 20; ++i) {
    auto next = transport->watch(watch_request(kPods, {}, base::seconds(60)));
    ASSERT_TRUE(next) << next.error().message;
    streams.push_back(*std::move(next));
  }
  for (const auto& stream : streams) EXPECT_EQ(line_of(*stream), "x");
  EXPECT_TRUE(transport->round_trip(get_request(kPods, {"a", "b"})));
}

}  // namespace http_watch_test
}  // namespace kube
