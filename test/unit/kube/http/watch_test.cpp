#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "api/core/codec.hpp"
#include "api/core/protobuf/cursor.hpp"
#include "api/core/protobuf/envelope.hpp"
#include "kube/config/process_environment.hpp"
#include "kube/http/stream_splitter.hpp"
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
                         [](const auto& test) { return test.param ? "Tls" : "Plain"; });

TEST_P(HttpWatchTest, ReturnsLinesAsTheyArrive) {
  std::atomic<bool> advance_switchover = false;
  const auto stream = open([&](Peer& peer, const ServerRequest&) {
    peer.send(kHead + chunk("{\"n\":1}\n{\"n\":2}\n{\"n\""));
    while (!advance_switchover) std::this_thread::yield();
    peer.send(chunk(":3}\n"));
    peer.await_end();
    return false;
  });
  EXPECT_EQ(line_of(*stream), "{\"n\":1}");
  EXPECT_EQ(line_of(*stream), "{\"n\":2}");
  const auto nothing = stream->next(milliseconds(0));
  ASSERT_TRUE(nothing);
  EXPECT_EQ(*nothing, std::nullopt);
  advance_switchover = true;
  EXPECT_EQ(line_of(*stream), "{\"n\":3}");
  EXPECT_THAT(server->requests()[0].target, HasSubstr("watch=true"));
  EXPECT_EQ(server->requests()[0].headers.at("authorization"), "Bearer secret");
}

TEST_P(HttpWatchTest, NotifiesOfNewsAndOfItsEnd) {
  std::atomic<int> step = 0;
  const auto stream = open([&](Peer& peer, const ServerRequest&) {
    peer.send(kHead + chunk("a\n"));
    while (step < 1) std::this_thread::yield();
    peer.send(chunk("b\n"));
    while (step < 2) std::this_thread::yield();
    peer.send("0\r\n\r\n");
    return false;
  });
  EXPECT_EQ(line_of(*stream), "a");
  auto* const source = dynamic_cast<ReadinessSource*>(stream.get());
  ASSERT_NE(source, nullptr);
  std::atomic<int> told = 0;
  ASSERT_TRUE(source->on_news([&] { ++told; }));
  EXPECT_EQ(told, 0) << "there is nothing now";
  step = 1;
  while (told < 1) std::this_thread::yield();
  EXPECT_EQ(line_of(*stream), "b");
  step = 2;
  while (told < 2) std::this_thread::yield();
  EXPECT_FALSE(stream->next(milliseconds(0)));
}

TEST_P(HttpWatchTest, NotifiesImmediatelyOfBufferedLinesAndNeverAfterDestruction) {
  auto stream = open([](Peer& peer, const ServerRequest&) {
    peer.send(kHead + chunk("a\nb\n"));
    peer.await_end();
    return false;
  });
  EXPECT_EQ(line_of(*stream), "a");
  std::atomic<int> told = 0;
  ASSERT_TRUE(dynamic_cast<ReadinessSource&>(*stream).on_news([&] { ++told; }));
  EXPECT_EQ(told, 1);
  stream.reset();
  transport.reset();  // Runs all of its pending callbacks
  EXPECT_EQ(told, 1);
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

TEST_P(HttpWatchTest, ReportsABrokenConnection) {
  for (const bool hard : {false, true}) {
    auto opened = try_open([hard](Peer& peer, const ServerRequest&) {
      peer.send(kHead + chunk("a\n") + "ff\r\n{\"half");
      if (hard) peer.reset();  // The RST may overtake the data sent before it
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
  EXPECT_THAT(end.error().message, HasSubstr("timed out without new data"));
}

TEST_P(HttpWatchTest, DoesNotWaitForEverForTheHeader) {
  timeout = milliseconds(80);
  const auto got = try_open([](Peer& peer, const ServerRequest&) {
    peer.await_end();
    return false;
  });
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(got.error().message, HasSubstr("no response in time"));
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

TEST_P(HttpWatchTest, CancelDropsUnreadLines) {
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
  EXPECT_THAT(end.error().message, HasSubstr("exceeds the maximum length"));
}

TEST_P(HttpWatchTest, StopsReadingTheSocketWithoutAReader) {
  constexpr int kLines = 2000;
  options.watch_queue_bytes = 1 << 20;
  std::atomic<int> sent = 0;
  const auto stream = open([&](Peer& peer, const ServerRequest&) {
    bool open = peer.send(kHead);
    const std::string line(1 << 15, 'x');  // 64 MiB in total
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

TEST_P(HttpWatchTest, ManyRunInParallelWithRequests) {
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

// --- protobuf

std::string head_of(const std::string& type) {
  return "HTTP/1.1 200 OK\r\nContent-Type: " + type + "\r\nTransfer-Encoding: chunked\r\n\r\n";
}
const std::string kListType = "application/vnd.kubernetes.protobuf";

std::string pod_list() {
  std::string meta;
  api::protobuf::put_bytes(meta, 2, "77");
  std::string list;
  api::protobuf::put_bytes(list, 1, meta);
  api::protobuf::put_bytes(list, 2, "first");
  api::protobuf::put_bytes(list, 2, std::string(300, 'x'));
  return api::protobuf::seal("v1", "PodList", list);
}

class HttpListTest : public HttpWatchTest {
 protected:
  base::Result<std::unique_ptr<WatchStream>> list(TestServer::Handler handler) {
    auto first = try_open([handler](Peer& peer, const ServerRequest& request) {
      if (request.target.find("watch=true") == std::string::npos) return handler(peer, request);
      peer.send(kHead);
      peer.await_end();
      return false;
    });
    if (!first) return first.error();
    ListOptions wanted;
    wanted.protobuf = true;
    return transport->list(list_request(kPods, wanted));
  }
  static std::string kind_of(const std::string& envelope) {
    const auto opened = api::protobuf::open(envelope);
    return opened ? opened->kind : opened.error().message;
  }
};
INSTANTIATE_TEST_SUITE_P(Http, HttpListTest, ::testing::Bool(),
                         [](const auto& test) { return test.param ? "Tls" : "Plain"; });

TEST_P(HttpListTest, ReturnsItemsAsTheyArrive) {
  const auto stream = list([](Peer& peer, const ServerRequest& request) {
    EXPECT_EQ(request.headers.at("accept"), "application/vnd.kubernetes.protobuf,application/json");
    peer.send(head_of(kListType));
    const std::string bytes = pod_list();
    for (std::size_t at = 0; at < bytes.size(); at += 50) peer.send(chunk(bytes.substr(at, 50)));
    peer.send("0\r\n\r\n");
    return false;
  });
  ASSERT_TRUE(stream);
  EXPECT_EQ(kind_of(line_of(**stream)), "Pod");
  EXPECT_EQ(kind_of(line_of(**stream)), "Pod");
  const auto end = api::decode_list_meta(line_of(**stream));
  ASSERT_TRUE(end);
  EXPECT_EQ(end->resource_version, "77");
}

TEST_P(HttpListTest, TellsAListThatIsCut) {
  const auto stream = list([](Peer& peer, const ServerRequest&) {
    peer.send(head_of(kListType) + chunk(pod_list().substr(0, 60)) + "0\r\n\r\n");
    return false;
  });
  ASSERT_TRUE(stream);
  EXPECT_EQ(kind_of(line_of(**stream)), "Pod");
  const auto next = (*stream)->next(kLong);
  ASSERT_FALSE(next);
  EXPECT_EQ(next.error().code, ErrorCode::kUnavailable);
}

TEST_P(HttpListTest, RefusesAnAnswerThatIsNotProtobuf) {
  for (const char* type : {"application/json", "text/html"}) {
    const auto stream = list([type](Peer& peer, const ServerRequest&) {
      return peer.send(head_of(type) + chunk("{\"items\":[]}") + "0\r\n\r\n");
    });
    ASSERT_FALSE(stream);
    EXPECT_EQ(stream.error().code, ErrorCode::kUnsupported) << stream.error().message;
  }
  const auto forbidden = list([](Peer& peer, const ServerRequest&) {
    return peer.send(http_answer(403, api::protobuf::seal("v1", "Status", "\x1a\x02no"), "", kListType));
  });
  ASSERT_FALSE(forbidden);
  EXPECT_EQ(forbidden.error().code, ErrorCode::kForbidden);
  EXPECT_EQ(forbidden.error().message, "no");
}

TEST_P(HttpListTest, TellsBytesThatAreNoList) {
  const auto stream = list([](Peer& peer, const ServerRequest&) {
    peer.send(head_of(kListType) + chunk("{}"));
    return false;
  });
  // The error may arrive before the caller has the stream.
  const auto next = stream ? (*stream)->next(kLong) : base::Result<std::optional<std::string>>(stream.error());
  ASSERT_FALSE(next);
  EXPECT_THAT(next.error().message, HasSubstr("does not begin as one"));
}

TEST_P(HttpWatchTest, ReturnsFramesOfProtobuf) {
  const auto stream = open([](Peer& peer, const ServerRequest&) {
    const std::string two("\0\0\0\3abc\0\0\0\2de", 13);
    peer.send(head_of(kListType + ";stream=watch") + chunk(two.substr(0, 2)) + chunk(two.substr(2, 8)) +
              chunk(two.substr(10)));
    peer.await_end();
    return false;
  });
  EXPECT_EQ(line_of(*stream), "abc");
  EXPECT_EQ(line_of(*stream), "de");
}

TEST(Frames, TruncatedAnywhereYieldOnlyCompleteEvents) {
  const std::string two("\0\0\0\3abc\0\0\0\2de", 13);
  for (std::size_t at = 0; at <= two.size(); ++at) {
    const auto splitter = make_splitter(StreamKind::kWatch, kListType + ";stream=watch", 100);
    std::vector<std::string> events;
    ASSERT_TRUE(splitter->feed(two.substr(0, at), events));
    EXPECT_EQ(events.size(), at < 7 ? 0U : at < 13 ? 1U : 2U) << at;
    ASSERT_TRUE(splitter->feed(two.substr(at), events));
    EXPECT_EQ(events, (std::vector<std::string>{"abc", "de"})) << at;
  }
}

TEST_P(HttpWatchTest, FailsAtAFrameThatIsTooLong) {
  const auto stream = open([](Peer& peer, const ServerRequest&) {
    peer.send(head_of(kListType + ";stream=watch") + chunk("\xff\xff\xff\xff"));
    peer.await_end();
    return false;
  });
  const auto next = stream->next(kLong);
  ASSERT_FALSE(next);
  EXPECT_THAT(next.error().message, HasSubstr("exceeds the maximum length"));
}

}  // namespace http_watch_test
}  // namespace kube
