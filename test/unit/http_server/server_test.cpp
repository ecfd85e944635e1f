#include "http_server/server.hpp"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <future>
#include <mutex>
#include <thread>

#include "http_server/certificates.hpp"
#include "test/fakes/tls_client.hpp"

namespace http_server {
namespace server_test {

using base::milliseconds;
using testing::HasSubstr;
using testing::StartsWith;

/// Raw TCP client that can send invalid data.
class Peer {
 public:
  /// `from` is another loopback address to connect from, nullptr for the default.
  explicit Peer(std::uint16_t port, const char* from = nullptr) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in own{};
    own.sin_family = AF_INET;
    if (from != nullptr && ::inet_pton(AF_INET, from, &own.sin_addr) == 1) {
      EXPECT_EQ(::bind(socket_, reinterpret_cast<sockaddr*>(&own), sizeof own), 0);
    }
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = ::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  }
  ~Peer() { close(); }
  bool connected() const { return connected_; }
  void send(const std::string& text) {
    EXPECT_EQ(::send(socket_, text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
  }
  /// Reads until `until` has been received, the peer has closed, or ten seconds have passed.
  std::string read(const std::string& until) {
    std::string all;
    while (all.find(until) == std::string::npos) {
      pollfd waiting{socket_, POLLIN, 0};
      if (poll(&waiting, 1, 10'000) <= 0) return all + "<timeout>";
      char bytes[4096];
      const ssize_t got = ::recv(socket_, bytes, sizeof bytes, 0);
      if (got <= 0) return all + "<closed>";
      all.append(bytes, static_cast<std::size_t>(got));
    }
    return all;
  }
  std::string read_to_end() { return read("\x01 never sent"); }
  void close() {
    if (socket_ >= 0) ::close(socket_);
    socket_ = -1;
  }

 private:
  int socket_;
  bool connected_ = false;
};

Reply echo(const Request& request) {
  if (request.path == "/throw") throw std::runtime_error("boom");
  if (request.path == "/drop") return Response{.body = {}, .drop = true};
  return Response{.body = request.method + " " + request.path + "?" + request.query + " " + request.body};
}

class ServerTest : public testing::Test {
 protected:
  Server& start(Handler handler = echo, ServerOptions options = {}) {
    server_.emplace(std::move(options), std::move(handler));
    const auto started = server_->start();
    EXPECT_TRUE(started.ok());
    return *server_;
  }
  std::optional<Server> server_;
};

TEST_F(ServerTest, AnswersARequest) {
  Peer peer(start().port());
  peer.send("POST /a/b?c=d HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello");
  EXPECT_THAT(peer.read("hello"), testing::AllOf(StartsWith("HTTP/1.1 200 OK"), HasSubstr("POST /a/b?c=d hello")));
}

TEST_F(ServerTest, KeepsTheConnectionAndAnswersPipelinedRequestsInOrder) {
  Peer peer(start().port());
  peer.send("GET /1 HTTP/1.1\r\nHost: x\r\n\r\nGET /2 HTTP/1.1\r\nHost: x\r\n\r\n");
  const std::string both = peer.read("GET /2");
  EXPECT_LT(both.find("GET /1"), both.find("GET /2"));
}

TEST_F(ServerTest, TurnsAHandlersExceptionInto500) {
  Peer peer(start().port());
  peer.send("GET /throw HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(peer.read("internal error"), StartsWith("HTTP/1.1 500"));
}

TEST_F(ServerTest, DropsTheConnectionOnRequestOfTheHandler) {
  Peer peer(start().port());
  peer.send("GET /drop HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(peer.read_to_end(), "<closed>");
}

struct HostileCase {
  const char* name;
  std::string sent;
  const char* answer;  ///< Beginning of the answer
};
class HostileTest : public ServerTest, public testing::WithParamInterface<HostileCase> {};
TEST_P(HostileTest, IsRefusedClosedAndReported) {
  std::promise<int> told;
  ServerOptions options;
  options.on_end = [&](int status, const std::string& from) {
    EXPECT_THAT(from, StartsWith("127.0.0.1:"));
    told.set_value(status);
  };
  Peer peer(start(echo, std::move(options)).port());
  peer.send(GetParam().sent);
  EXPECT_THAT(peer.read_to_end(), testing::AllOf(StartsWith(GetParam().answer), testing::EndsWith("<closed>")));
  EXPECT_EQ(std::string(GetParam().answer), "HTTP/1.1 " + std::to_string(told.get_future().get()));
}
INSTANTIATE_TEST_SUITE_P(
    Server, HostileTest,
    testing::Values(HostileCase{"HugeHeader", "GET / HTTP/1.1\r\nX: " + std::string(20'000, 'a'), "HTTP/1.1 431"},
                    HostileCase{"HugeBody", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n\r\n",
                                "HTTP/1.1 413"},
                    HostileCase{"NoHttp", "this is not http\r\n\r\n", "HTTP/1.1 400"},
                    HostileCase{"BadLength", "POST / HTTP/1.1\r\nContent-Length: -4\r\n\r\n", "HTTP/1.1 400"}),
    [](const auto& test) { return test.param.name; });

TEST_F(ServerTest, DropsClientsWithASlowHeaderAndReportsThem) {
  std::promise<int> told;
  ServerOptions options{.header_timeout = milliseconds(50)};
  options.on_end = [&](int status, const std::string&) { told.set_value(status); };
  Peer peer(start(echo, std::move(options)).port());
  peer.send("GET / HTTP/1.1\r\nHos");
  EXPECT_EQ(peer.read_to_end(), "<closed>");
  EXPECT_EQ(told.get_future().get(), http_server::kNoResponse);
}

/// Load balancers connect without a request to check whether the port is open.
TEST_F(ServerTest, ReportsAnAnswerButNotABareConnection) {
  std::vector<int> told;
  ServerOptions options;
  options.on_end = [&](int status, const std::string&) { told.push_back(status); };  // Called by one thread
  const auto port = start(echo, std::move(options)).port();
  { const Peer looks(port); }
  Peer peer(port);
  peer.send("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(peer.read_to_end(), StartsWith("HTTP/1.1 200"));
  server_->stop();
  EXPECT_EQ(told, std::vector<int>{200});
}

TEST_F(ServerTest, DropsClientsWithASlowBody) {
  Peer peer(start(echo, {.body_timeout = milliseconds(50)}).port());
  peer.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc");
  EXPECT_EQ(peer.read_to_end(), "<closed>");
}

TEST_F(ServerTest, DropsIdleConnections) {
  Peer peer(start(echo, {.idle_timeout = milliseconds(50)}).port());
  EXPECT_EQ(peer.read_to_end(), "<closed>");
}

std::string post_of(std::size_t length, const std::string& more = "") {
  return "POST / HTTP/1.1\r\nHost: x\r\n" + more + "Content-Length: " + std::to_string(length) + "\r\n\r\n";
}

TEST_F(ServerTest, ClosesTheSlowestBodiesToAcceptANewOne) {
  Server& server = start(echo, {.max_all_body_bytes = 100});
  Peer idle(server.port());
  idle.send("GET /1 HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(idle.read("GET /1"), HasSubstr("200"));
  Peer slow(server.port());
  slow.send(post_of(60, "Expect: 100-continue\r\n"));
  EXPECT_THAT(slow.read("Continue\r\n\r\n"), StartsWith("HTTP/1.1 100"));
  Peer later(server.port());
  later.send(post_of(40, "Expect: 100-continue\r\n"));
  EXPECT_THAT(later.read("Continue\r\n\r\n"), StartsWith("HTTP/1.1 100"));
  idle.send(post_of(50) + std::string(50, 'i'));
  EXPECT_THAT(idle.read("iii"), StartsWith("HTTP/1.1 200"));
  EXPECT_EQ(slow.read_to_end(), "<closed>");
  later.send(std::string(40, 's'));
  EXPECT_THAT(later.read("sss"), StartsWith("HTTP/1.1 200")) << "one of the two did";
}

TEST_F(ServerTest, RefusesABodyBeyondTheTotalLimit) {
  std::promise<void> release;
  std::promise<void> begun;
  auto released = release.get_future().share();
  Server& server = start(
      [&](const Request& request) -> Reply {
        if (request.path == "/hold") {
          begun.set_value();
          released.wait();
        }
        return Response{.body = "done"};
      },
      {.max_all_body_bytes = 100});
  Peer holder(server.port());
  holder.send("POST /hold HTTP/1.1\r\nHost: x\r\nContent-Length: 60\r\n\r\n" + std::string(60, 'h'));
  begun.get_future().wait();
  Peer second(server.port());
  second.send(post_of(41));
  EXPECT_THAT(second.read_to_end(), StartsWith("HTTP/1.1 503"));
  release.set_value();
  EXPECT_THAT(holder.read("done"), StartsWith("HTTP/1.1 200"));
  Peer third(server.port());
  third.send(post_of(100) + std::string(100, 't'));
  EXPECT_THAT(third.read("done"), StartsWith("HTTP/1.1 200")) << "what was answered counts no more";
}

TEST_F(ServerTest, CountsABodyOfUnknownLengthAsTheMaximum) {
  Server& server = start(echo, {.max_body_bytes = 50, .max_all_body_bytes = 49});
  Peer peer(server.port());
  peer.send("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n");
  EXPECT_THAT(peer.read_to_end(), StartsWith("HTTP/1.1 503"));
}

TEST_F(ServerTest, ClosesTheLongestIdleConnectionForANewOneBeyondItsLimit) {
  Server& server = start(echo, {.max_connections = 2});
  Peer first(server.port());
  first.send("GET /1 HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(first.read("GET /1"), HasSubstr("200"));
  Peer second(server.port());
  second.send("GET /2 HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(second.read("GET /2"), HasSubstr("200"));
  first.send("GET /1 HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(first.read("GET /1"), HasSubstr("200"));  // Now the second connection has been idle for longer
  Peer third(server.port());
  third.send("GET /3 HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(third.read("GET /3"), HasSubstr("200"));
  EXPECT_EQ(second.read_to_end(), "<closed>");
  first.send("GET /1 HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(first.read("GET /1"), HasSubstr("200"));
}

Reply endless(const Request& request) {
  const bool huge = request.path == "/huge";
  return Response{.body = huge ? std::string(std::size_t{64} << 20, 'x') : "small " + request.path};
}

TEST_F(ServerTest, ClosesClientsThatDoNotReadTheirAnswersForANewOneBeyondItsLimit) {
  Server& server = start(endless, {.max_connections = 2});
  Peer first(server.port());
  Peer second(server.port());
  first.send("GET /huge HTTP/1.1\r\nHost: x\r\n\r\n");
  second.send("GET /huge HTTP/1.1\r\nHost: x\r\n\r\n");
  std::string answer;
  // Shorter than the timeout of the answers.
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  while (answer.find("small /new") == std::string::npos && std::chrono::steady_clock::now() < until) {
    Peer other(server.port());  // Closed immediately while the other answers are being created
    other.send("GET /new HTTP/1.1\r\nHost: x\r\n\r\n");
    answer = other.read("small /new");
  }
  EXPECT_THAT(answer, HasSubstr("200"));
}

TEST_F(ServerTest, LimitsTheTotalTimeOfAnAnswer) {
  Server& server = start(endless, {.response_timeout = milliseconds(50)});
  Peer peer(server.port());
  peer.send("GET /huge HTTP/1.1\r\nHost: x\r\n\r\n");
  peer.read("200");
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  while (server.connections() > 0 && std::chrono::steady_clock::now() < until) std::this_thread::yield();
  EXPECT_EQ(server.connections(), 0U) << "write_timeout alone is longer";
  EXPECT_LT(peer.read_to_end().size(), std::size_t{64} << 20);
}

TEST_F(ServerTest, KeepsConnectionsWithARequestInProgressBeyondItsLimit) {
  std::promise<void> release;
  std::promise<void> entered;
  auto released = release.get_future().share();
  Server& server = start(
      [released, &entered](const Request&) -> Reply {
        entered.set_value();
        released.wait();
        return Response{.body = "done"};
      },
      {.max_connections = 1});
  Peer busy(server.port());
  busy.send("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n");
  entered.get_future().wait();
  Peer other(server.port());
  EXPECT_EQ(other.read_to_end(), "<closed>");
  release.set_value();
  EXPECT_THAT(busy.read("done"), HasSubstr("200"));
}

TEST_F(ServerTest, ServesOthersWhileAHandlerIsSlow) {
  std::promise<void> release;
  auto released = release.get_future().share();
  Server& server = start([released](const Request& request) -> Reply {
    if (request.path == "/slow") released.wait();
    return Response{.body = "done " + request.path};
  });
  Peer slow(server.port());
  slow.send("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n");
  Peer quick(server.port());
  quick.send("GET /quick HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(quick.read("done"), HasSubstr("200"));
  release.set_value();
  EXPECT_THAT(slow.read("done /slow"), HasSubstr("200"));
}

/// One peer with many connections competes with a peer that sends a single request.
TEST_F(ServerTest, PeersTakeTurnsForTheHandlers) {
  constexpr std::size_t kFlood = 20;
  std::promise<void> release;
  auto released = release.get_future().share();
  std::mutex mutex;
  std::vector<std::string> order;
  ServerOptions options;
  options.handler_threads = 1;
  Server& server = start(
      [&](const Request& request) -> Reply {
        released.wait();
        const std::scoped_lock lock(mutex);
        order.push_back(request.path);
        return Response{.body = "done"};
      },
      options);
  std::vector<std::unique_ptr<Peer>> flood;
  for (std::size_t i = 0; i <= kFlood; ++i) {
    flood.push_back(std::make_unique<Peer>(server.port()));
    flood.back()->send("GET /flood HTTP/1.1\r\nHost: x\r\n\r\n");
  }
  Peer honest(server.port(), "127.0.0.2");
  honest.send("GET /honest HTTP/1.1\r\nHost: x\r\n\r\n");
  while (server.queued() < kFlood + 1) std::this_thread::yield();  // all but the one that has the thread
  release.set_value();
  EXPECT_THAT(honest.read("done"), HasSubstr("200"));
  for (const auto& each : flood) EXPECT_THAT(each->read("done"), HasSubstr("200"));
  const auto at = std::ranges::find(order, "/honest") - order.begin();
  EXPECT_LE(at, 4) << "not behind the whole flood";
}

TEST_F(ServerTest, StreamsChunksUntilTheProducerEnds) {
  Server& server = start([](const Request&) -> Reply {
    return Stream{.produce = [](StreamWriter& writer) {
      writer.write("one\n");
      writer.write("two\n");
    }};
  });
  Peer peer(server.port());
  peer.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(peer.read_to_end(), testing::AllOf(HasSubstr("4\r\none\n\r\n"), HasSubstr("0\r\n\r\n<closed>")));
}

TEST_F(ServerTest, NotifiesTheProducerThatThePeerIsGone) {
  std::promise<void> noticed;
  Server& server = start([&](const Request&) -> Reply {
    return Stream{.produce = [&](StreamWriter& writer) {
      while (writer.write("tick\n")) {
      }
      noticed.set_value();
    }};
  });
  Peer peer(server.port());
  peer.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  peer.read("tick");
  peer.close();
  EXPECT_EQ(noticed.get_future().wait_for(std::chrono::seconds(20)), std::future_status::ready);
}

TEST_F(ServerTest, StopsWhileStreaming) {
  Server& server = start([](const Request&) -> Reply {
    return Stream{.produce = [](StreamWriter& writer) {
      while (writer.write("tick\n")) {
      }
    }};
  });
  Peer peer(server.port());
  peer.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  peer.read("tick");
  server.stop();
  server.stop();  // stop() is idempotent
  EXPECT_FALSE(Peer(server.port()).connected());
}

TEST_F(ServerTest, ReportsTheAddressThatIsInUse) {
  const std::uint16_t taken = start().port();
  Server second({.port = taken}, echo);
  const auto started = second.start();
  ASSERT_FALSE(started.ok());
  EXPECT_THAT(started.error().message, HasSubstr(std::to_string(taken)));
}

TEST_F(ServerTest, ServesTlsAndReloadsItsCertificate) {
  const auto first = *make_server_identity({"127.0.0.1"}, base::SystemClock().now());
  const auto second = *make_server_identity({"127.0.0.1"}, base::SystemClock().now());
  Server& server = start(echo, {.certificate = Certificate{first.certificate, first.key}});
  const auto before = fakes::tls_get(server.port(), "/x");
  EXPECT_THAT(before.body, HasSubstr("GET /x"));
  EXPECT_EQ(fakes::tls_get(server.port(), "/x").serial, before.serial);
  ASSERT_TRUE(server.reload({second.certificate, second.key}).ok());
  EXPECT_NE(fakes::tls_get(server.port(), "/x").serial, before.serial);
}

TEST_F(ServerTest, RefusesAnInvalidCertificate) {
  Server server({.certificate = Certificate{"nonsense", "nonsense"}}, echo);
  EXPECT_EQ(server.start().error().code, base::ErrorCode::kInvalid);
}

TEST(SplitAddress, ReadsHostsAndPorts) {
  EXPECT_EQ(split_address("127.0.0.1:80"), (std::pair<std::string, std::uint16_t>("127.0.0.1", 80)));
  EXPECT_EQ(split_address(":0"), (std::pair<std::string, std::uint16_t>("", 0)));
  EXPECT_EQ(split_address("[::1]:443"), (std::pair<std::string, std::uint16_t>("::1", 443)));
  EXPECT_EQ(split_address("localhost"), std::nullopt);
  EXPECT_EQ(split_address("x:99999"), std::nullopt);
  EXPECT_EQ(split_address("x:"), std::nullopt);
}

}  // namespace server_test
}  // namespace http_server
