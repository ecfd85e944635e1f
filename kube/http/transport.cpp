#include "kube/http/transport.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <condition_variable>
#include <mutex>

#include "kube/config/files.hpp"
#include "kube/http/beast_engine.hpp"
#include "kube/http/cpprest_engine.hpp"

namespace kube {
namespace {

using std::chrono::steady_clock;

constexpr base::seconds kReadCaAgainAfter{10};

/// Rejects spaces and control characters, which could end a line of the request's head early.
bool is_clean(std::string_view text) {
  for (const char c : text) {
    if (static_cast<unsigned char>(c) <= 0x20 || c == 0x7f) return false;
  }
  return true;
}

bool is_one_line(std::string_view text) {
  return std::ranges::none_of(text, [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

std::string head_and_body(const Request& request, const Endpoint& endpoint, const std::string& authorization) {
  std::string text = fmt::format("{} {}{} HTTP/1.1\r\nHost: {}\r\nUser-Agent: {}\r\nAccept: {}\r\n", request.method,
                                 endpoint.server.path, request.target(), endpoint.server.authority(),
                                 endpoint.options.user_agent, request.accept);
  for (const auto& [name, value] : endpoint.options.headers) text += fmt::format("{}: {}\r\n", name, value);
  if (!authorization.empty()) text += "Authorization: " + authorization + "\r\n";
  if (!request.traceparent.empty()) text += "traceparent: " + request.traceparent + "\r\n";
  if (!request.content_type.empty()) text += "Content-Type: " + request.content_type + "\r\n";
  if (!request.body.empty() || request.method != "GET")
    text += fmt::format("Content-Length: {}\r\n", request.body.size());
  return text + "\r\n" + request.body;
}

base::Result<Endpoint> endpoint_of(const Config& config, HttpTransportOptions options) {
  Endpoint endpoint;
  auto server = parse_url(config.server);
  if (!server) return std::move(server).error().during("server of " + config.source);
  endpoint.server = *std::move(server);
  if (!config.proxy_url.empty()) {
    auto proxy = parse_url(config.proxy_url);
    if (!proxy) return std::move(proxy).error().during("proxy-url of " + config.source);
    endpoint.proxy = *std::move(proxy);
  }
  endpoint.tls_name = config.tls_server_name.empty() ? endpoint.server.host : config.tls_server_name;
  endpoint.verify = !config.insecure_skip_tls_verify;
  for (const auto& [name, value] : options.headers) {
    if (name.empty() || !is_clean(name) || name.find(':') != std::string::npos || !is_one_line(value) ||
        is_own_header(name))
      return base::invalid("an invalid header");
  }
  options.max_connections = std::max(options.max_connections, 1);
  endpoint.options = std::move(options);
  return endpoint;
}

/// cpprestsdk re-sends a POST on a stale connection and cannot let leases bypass other requests, so it gets only reads.
bool suits_cpprest(const Request& request) {
  return request.method == "GET" && request.body.empty() && request.flow == Flow::kRead;
}

}  // namespace

bool is_own_header(std::string_view name) {
  constexpr std::array<std::string_view, 12> kOurHeaders = {
      "accept",     "connection", "content-length",    "content-type", "expect",  "host",
      "keep-alive", "te",         "transfer-encoding", "trailer",      "upgrade", "user-agent"};
  std::string lower(name);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::ranges::find(kOurHeaders, lower) != kOurHeaders.end();
}

/// Limits the number of concurrent requests, excluding leases.
class RequestSlots {
 public:
  explicit RequestSlots(int count) : free_(count) {}

  base::Status take(steady_clock::time_point deadline) {
    std::unique_lock lock(mutex_);
    const bool got = freed_.wait_until(lock, deadline, [this] { return free_ > 0 || closed_; });
    if (closed_) return base::Error{base::ErrorCode::kCancelled, "the client is shutting down"};
    if (!got) return base::Error{base::ErrorCode::kTimeout, "no connection became available in time"};
    --free_;
    return base::Done{};
  }
  void give_back() {
    const std::scoped_lock lock(mutex_);
    ++free_;
    freed_.notify_one();
  }
  void close() {
    const std::scoped_lock lock(mutex_);
    closed_ = true;
    freed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable freed_;
  int free_;
  bool closed_ = false;
};

/// Counts the callers inside the transport, so that the destructor can wait for them.
class CallerCount {
 public:
  class Visit {
   public:
    explicit Visit(CallerCount& callers) : callers_(callers) {
      const std::scoped_lock lock(callers_.mutex_);
      ++callers_.inside_;
    }
    ~Visit() {
      const std::scoped_lock lock(callers_.mutex_);
      --callers_.inside_;
      callers_.left_.notify_all();
    }
    Visit(const Visit&) = delete;
    Visit& operator=(const Visit&) = delete;

   private:
    CallerCount& callers_;
  };
  void await_none() {
    std::unique_lock lock(mutex_);
    left_.wait(lock, [this] { return inside_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable left_;
  int inside_ = 0;
};

struct HttpTransport::Impl {
  Impl(Config config_in, Endpoint endpoint_in)
      : config(std::move(config_in)),
        endpoint(std::move(endpoint_in)),
        beast(endpoint),
        slots(endpoint.options.max_connections) {
    const bool is_plain = endpoint.options.headers.empty();
    if (endpoint.options.engine == HttpEngine::kMixed && is_plain && CpprestEngine::can_reach(endpoint))
      rest.emplace(endpoint, [this] { return material(); });
  }

  base::Result<std::string> ca_pem();
  base::Result<TlsMaterial> material();
  base::Result<TlsContext> tls(const Presented& presented);
  base::Result<Presented> present();
  base::Result<TlsMaterial> material_of(const Presented& presented);
  base::Result<Outgoing> prepare(const Request& request, const Presented& presented, steady_clock::time_point deadline);
  base::Result<Response> send(const Request& request, steady_clock::time_point deadline);
  base::Result<std::unique_ptr<WatchStream>> open(const Request& request, StreamKind kind);
  std::uint64_t body_limit(const Request& request) const;
  void note_status(int status);

  const Config config;
  const Endpoint endpoint;
  CallerCount callers;
  BeastEngine beast;
  RequestSlots slots;

  std::mutex mutex;  // guards the next four
  std::string ca;
  steady_clock::time_point ca_read_at{};
  TlsMaterial tls_material;
  TlsContext tls_context;

  std::optional<CpprestEngine> rest;  // last member, because it calls material() until it is destroyed
};

base::Result<std::string> HttpTransport::Impl::ca_pem() {
  if (config.ca_file.empty()) return config.ca_pem;
  const std::scoped_lock lock(mutex);
  const auto now = steady_clock::now();
  if (!ca.empty() && now - ca_read_at < kReadCaAgainAfter) return ca;
  auto read = read_file(config.ca_file);
  if (!read && ca.empty()) return std::move(read).error().during("reading the certificate-authority");
  if (read) ca = *std::move(read);  // the old text stays in use while the file is being replaced
  ca_read_at = now;
  return ca;
}

base::Result<Presented> HttpTransport::Impl::present() {
  auto presented = config.credentials->present();
  if (!presented) return std::move(presented).error().during(config.source);
  return presented;
}

base::Result<TlsMaterial> HttpTransport::Impl::material_of(const Presented& presented) {
  auto roots = config.insecure_skip_tls_verify ? base::Result<std::string>(std::string()) : ca_pem();
  if (!roots) return std::move(roots).error();
  return TlsMaterial{*std::move(roots), config.insecure_skip_tls_verify, presented.client_certificate_pem,
                     presented.client_key_pem};
}

base::Result<TlsMaterial> HttpTransport::Impl::material() {
  const auto presented = present();
  if (!presented) return presented.error();
  return material_of(*presented);
}

/// Returns one context while roots and certificate stay the same. Kept-alive connections of an older context are not
/// reused.
base::Result<TlsContext> HttpTransport::Impl::tls(const Presented& presented) {
  if (!endpoint.server.tls) return TlsContext();
  auto wanted = material_of(presented);
  if (!wanted) return std::move(wanted).error();
  const std::scoped_lock lock(mutex);
  if (tls_context && tls_material == *wanted) return tls_context;
  auto made = make_tls_context(*wanted);
  if (!made) return std::move(made).error().during(config.source);
  tls_material = *std::move(wanted);
  tls_context = *made;
  return made;
}

std::uint64_t HttpTransport::Impl::body_limit(const Request& request) const {
  return request.flow == Flow::kList ? endpoint.options.max_list_bytes : endpoint.options.max_body_bytes;
}

base::Result<Outgoing> HttpTransport::Impl::prepare(const Request& request, const Presented& presented,
                                                    steady_clock::time_point deadline) {
  if (!is_clean(request.method) || !is_clean(request.target()) || request.path.empty() || request.path.front() != '/')
    return base::invalid("not a valid request path: it must be absolute and percent-encoded");
  auto context = tls(presented);
  if (!context) return std::move(context).error();
  Outgoing outgoing;
  outgoing.bytes = head_and_body(request, endpoint, presented.authorization);
  outgoing.is_safe = request.method == "GET";
  outgoing.tls = *std::move(context);
  outgoing.deadline = deadline;
  outgoing.body_limit = body_limit(request);
  return outgoing;
}

void HttpTransport::Impl::note_status(int status) {
  if (status == 401) config.credentials->refused();
}

base::Result<Response> HttpTransport::Impl::send(const Request& request, steady_clock::time_point deadline) {
  const auto presented = present();
  if (!presented) return presented.error();
  auto outgoing = prepare(request, *presented, deadline);
  if (!outgoing) return std::move(outgoing).error();
  if (rest && suits_cpprest(request)) {
    auto answer = rest->get(request, presented->authorization, deadline, body_limit(request));
    if (answer) return *std::move(answer);
  }
  return beast.exchange(*std::move(outgoing));
}

HttpTransport::HttpTransport(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

HttpTransport::~HttpTransport() {
  shut_down();
  impl_->callers.await_none();
}

base::Result<std::unique_ptr<HttpTransport>> HttpTransport::create(Config config, HttpTransportOptions options) {
  auto endpoint = endpoint_of(config, std::move(options));
  if (!endpoint) return std::move(endpoint).error();
  if (!config.credentials) config.credentials = static_credentials({});
  std::unique_ptr<HttpTransport> transport(
      new HttpTransport(std::make_unique<Impl>(std::move(config), *std::move(endpoint))));
  // Reports unreadable roots now. Credentials may need a plugin, which runs on the first request.
  const auto roots =
      transport->impl_->endpoint.server.tls ? transport->impl_->tls({}) : base::Result<TlsContext>(TlsContext());
  if (!roots) return roots.error();
  return transport;
}

base::Result<Response> HttpTransport::round_trip(const Request& request) {
  const CallerCount::Visit visit(impl_->callers);
  const auto deadline = steady_clock::now() + request.timeout;
  const bool waits = request.flow != Flow::kLease;
  if (waits) {
    if (auto slot = impl_->slots.take(deadline); !slot) return slot.error();
  }
  auto answer = impl_->send(request, deadline);
  if (waits) impl_->slots.give_back();
  if (answer) impl_->note_status(answer->status);
  return answer;
}

base::Result<std::unique_ptr<WatchStream>> HttpTransport::Impl::open(const Request& request, StreamKind kind) {
  const CallerCount::Visit visit(callers);
  const auto deadline = steady_clock::now() + request.timeout;
  const auto presented = present();
  if (!presented) return presented.error();
  auto outgoing = prepare(request, *presented, deadline);
  if (!outgoing) return std::move(outgoing).error();
  auto stream = beast.open(*std::move(outgoing), kind);
  if (!stream && stream.error().code == base::ErrorCode::kUnauthorized) note_status(401);
  return stream;
}

base::Result<std::unique_ptr<WatchStream>> HttpTransport::watch(const Request& request) {
  return impl_->open(request, StreamKind::kWatch);
}

base::Result<std::unique_ptr<WatchStream>> HttpTransport::list(const Request& request) {
  return impl_->open(request, StreamKind::kList);
}

void HttpTransport::shut_down() {
  impl_->slots.close();
  impl_->beast.shut_down();
  if (impl_->rest) impl_->rest->shut_down();
}

}  // namespace kube
