#include "kube/http/cpprest_engine.hpp"

#ifndef _TURN_OFF_PLATFORM_STRING
// cpprest's macro U breaks Boost's headers. NOLINTNEXTLINE(bugprone-reserved-identifier): name chosen by cpprestsdk.
#define _TURN_OFF_PLATFORM_STRING
#endif
#include <cpprest/astreambuf.h>
#include <cpprest/http_client.h>
#include <fmt/format.h>
#include <pplx/threadpool.h>

#include <condition_variable>
#include <mutex>
#include <set>

#include "kube/http/response_reader.hpp"

namespace kube {

enum class GetState { kRunning, kAnswered, kFailed, kTooLarge, kCancelled };

/// One GET, shared by the caller and the pool's thread. It and its token source live until both are done.
class CpprestGet {
 public:
  /// Only the first call has an effect.
  void end(GetState how, Response answer = {}) {
    const std::scoped_lock lock(mutex_);
    if (state_ != GetState::kRunning) return;
    state_ = how;
    answer_ = std::move(answer);
    changed_.notify_all();
  }
  /// Returns kRunning if the deadline passed first.
  GetState wait(std::chrono::steady_clock::time_point deadline, Response& answer) {
    std::unique_lock lock(mutex_);
    changed_.wait_until(lock, deadline, [this] { return state_ != GetState::kRunning; });
    answer = std::move(answer_);
    return state_;
  }
  pplx::cancellation_token_source source;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  GetState state_ = GetState::kRunning;
  Response answer_;
};

namespace {

namespace rest_http = web::http;

void use_one_pool_thread() {
  static std::once_flag once;
  std::call_once(once, [] {
    try {
      crossplat::threadpool::initialize_with_threads(1);
    } catch (const std::exception&) {
      // The pool was started elsewhere. It works, but cancels are less safe.
    }
  });
}

/// Receives a body of at most `limit` bytes in place of cpprestsdk's unbounded buffer. Drops further bytes and calls
/// `overflowed`, because an error returned to cpprestsdk would make its only pool thread wait for itself.
class BoundedSink final : public Concurrency::streams::details::streambuf_state_manager<std::uint8_t> {
 public:
  BoundedSink(std::size_t limit, std::function<void()> overflowed)
      : streambuf_state_manager(std::ios_base::out), limit_(limit), overflowed_(std::move(overflowed)) {}

  std::string take() {
    const std::scoped_lock lock(mutex_);
    return std::move(body_);
  }

 private:
  using Byte = std::uint8_t;
  template <typename T>
  using Task = pplx::task<T>;

  Task<std::size_t> append(const Byte* from, std::size_t count) {
    const std::scoped_lock lock(mutex_);
    if (body_.size() + count > limit_) {
      overflowed_();
    } else {
      body_.append(reinterpret_cast<const char*>(from), count);
    }
    return pplx::task_from_result(count);
  }

  bool can_seek() const override { return false; }
  bool has_size() const override { return false; }
  std::size_t buffer_size(std::ios_base::openmode) const override { return 0; }
  void set_buffer_size(std::size_t, std::ios_base::openmode) override {}
  std::size_t in_avail() const override { return 0; }
  pos_type getpos(std::ios_base::openmode) const override { return pos_type(traits::eof()); }
  pos_type seekpos(pos_type, std::ios_base::openmode) override { return pos_type(traits::eof()); }
  pos_type seekoff(off_type, std::ios_base::seekdir, std::ios_base::openmode) override {
    return pos_type(traits::eof());
  }
  bool acquire(Byte*&, std::size_t&) override { return false; }
  void release(Byte*, std::size_t) override {}
  Task<int_type> _putc(Byte byte) override {
    return append(&byte, 1).then([byte](std::size_t) { return static_cast<int_type>(byte); });
  }
  Task<std::size_t> _putn(const Byte* from, std::size_t count, bool) override { return append(from, count); }
  Task<std::size_t> _putn(const Byte* from, std::size_t count) override { return append(from, count); }
  Task<int_type> _bumpc() override { return pplx::task_from_result(traits::eof()); }
  int_type _sbumpc() override { return traits::eof(); }
  Task<int_type> _getc() override { return pplx::task_from_result(traits::eof()); }
  int_type _sgetc() override { return traits::eof(); }
  Task<int_type> _nextc() override { return pplx::task_from_result(traits::eof()); }
  Task<int_type> _ungetc() override { return pplx::task_from_result(traits::eof()); }
  Task<std::size_t> _getn(Byte*, std::size_t) override { return pplx::task_from_result(std::size_t{0}); }
  std::size_t _scopy(Byte*, std::size_t) override { return 0; }
  Task<bool> _sync() override { return pplx::task_from_result(true); }
  Byte* _alloc(std::size_t) override { return nullptr; }
  void _commit(std::size_t) override {}

  const std::size_t limit_;
  const std::function<void()> overflowed_;
  std::mutex mutex_;
  std::string body_;
};

/// Cancels on the pool's thread, because a cancel from another thread races with the TLS read
/// (libraries.md#cancellation).
void cancel_on_pool(const std::shared_ptr<CpprestGet>& get) {
  crossplat::threadpool::shared_instance().service().post([get] { get->source.cancel(); });
}

Response response_of(const rest_http::http_response& from) {
  Response response;
  response.status = from.status_code();
  response.content_type = from.headers().content_type();
  if (const auto at = from.headers().find("Retry-After"); at != from.headers().end())
    response.retry_after = parse_retry_after(at->second);
  return response;
}

rest_http::http_request request_of(const Request& request, const Endpoint& endpoint, const std::string& authorization,
                                   const std::shared_ptr<BoundedSink>& sink) {
  rest_http::http_request out(rest_http::methods::GET);
  out.set_request_uri(endpoint.server.path + request.target());
  out.headers().add("User-Agent", endpoint.options.user_agent);
  out.headers().add("Accept", request.accept);
  if (!authorization.empty()) out.headers().add("Authorization", authorization);
  if (!request.traceparent.empty()) out.headers().add("traceparent", request.traceparent);
  out.set_response_stream(Concurrency::streams::streambuf<std::uint8_t>(sink).create_ostream());
  return out;
}

}  // namespace

/// Source of TLS material for new connections. cpprestsdk may open a connection after the engine is destroyed.
class MaterialSource {
 public:
  explicit MaterialSource(CpprestEngine::Material ask) : ask_(std::move(ask)) {}

  /// Throws on error, which is the only way to fail from the callback. Beast then reports the reason.
  void configure(SSL_CTX* context) {
    const std::scoped_lock lock(mutex_);
    const auto wanted = ask_ ? ask_() : base::Result<TlsMaterial>(base::unavailable("closed"));
    if (!wanted || !configure_tls(context, *wanted)) throw std::runtime_error("TLS settings");
  }
  void close() {
    const std::scoped_lock lock(mutex_);
    ask_ = nullptr;
  }

 private:
  std::mutex mutex_;
  CpprestEngine::Material ask_;
};

struct CpprestEngine::Impl {
  Impl(const Endpoint& endpoint_in, Material material_in)
      : endpoint(endpoint_in), material(std::make_shared<MaterialSource>(std::move(material_in))) {}

  rest_http::client::http_client_config settings() const;
  void start(const Request& request, const std::string& authorization, std::size_t body_limit,
             const std::shared_ptr<CpprestGet>& get);

  const Endpoint endpoint;
  const std::shared_ptr<MaterialSource> material;
  std::optional<rest_http::client::http_client> client;
  std::mutex mutex;
  std::set<std::shared_ptr<CpprestGet>> running;  // guarded by mutex
  bool closing = false;                           // guarded by mutex
};

rest_http::client::http_client_config CpprestEngine::Impl::settings() const {
  rest_http::client::http_client_config config;
  config.set_max_redirects(0);                   // a redirect would send the token to another host
  config.set_timeout(std::chrono::seconds(60));  // of inactivity; the deadline is enforced elsewhere
  config.set_validate_certificates(endpoint.verify);
  config.set_tlsext_sni_enabled(!is_ip_address(endpoint.server.host));
  config.set_ssl_context_callback(
      [source = material](boost::asio::ssl::context& context) { source->configure(context.native_handle()); });
  return config;
}

/// Never throws. Any exception of cpprestsdk counts as "no answer".
void CpprestEngine::Impl::start(const Request& request, const std::string& authorization, std::size_t body_limit,
                                const std::shared_ptr<CpprestGet>& get) {
  const std::weak_ptr<CpprestGet> watched = get;
  const auto sink = std::make_shared<BoundedSink>(body_limit, [watched] {
    if (const auto alive = watched.lock()) alive->end(GetState::kTooLarge);
  });
  try {
    client->request(request_of(request, endpoint, authorization, sink), get->source.get_token())
        .then([get, body_limit](rest_http::http_response response) {
          if (response.headers().content_length() > body_limit) get->end(GetState::kTooLarge);
          return response.content_ready();
        })
        .then([get, sink](pplx::task<rest_http::http_response> task) {
          try {
            Response answer = response_of(task.get());
            answer.body = sink->take();
            get->end(GetState::kAnswered, std::move(answer));
          } catch (const std::exception&) {
            get->end(GetState::kFailed);
          }
        });
  } catch (const std::exception&) {
    get->end(GetState::kFailed);
  }
}

CpprestEngine::CpprestEngine(const Endpoint& endpoint, Material material)
    : impl_(std::make_shared<Impl>(endpoint, std::move(material))) {
  use_one_pool_thread();
  impl_->client.emplace((endpoint.server.tls ? "https://" : "http://") + endpoint.server.authority(),
                        impl_->settings());
}

CpprestEngine::~CpprestEngine() { impl_->material->close(); }

bool CpprestEngine::can_reach(const Endpoint& endpoint) {
  return !endpoint.proxy && !endpoint.server.is_ipv6() && endpoint.tls_name == endpoint.server.host;
}

std::optional<base::Result<Response>> CpprestEngine::get(const Request& request, const std::string& authorization,
                                                         std::chrono::steady_clock::time_point deadline,
                                                         std::size_t body_limit) {
  auto get = std::make_shared<CpprestGet>();
  {
    const std::scoped_lock lock(impl_->mutex);
    if (impl_->closing) return engine_closed();
    impl_->running.insert(get);
  }
  impl_->start(request, authorization, body_limit, get);
  Response answer;
  const GetState how = get->wait(deadline, answer);
  {
    const std::scoped_lock lock(impl_->mutex);
    impl_->running.erase(get);
  }
  if (how == GetState::kRunning || how == GetState::kTooLarge) cancel_on_pool(get);
  switch (how) {
    case GetState::kAnswered: return answer;
    case GetState::kFailed: return std::nullopt;
    case GetState::kCancelled: return engine_closed();
    case GetState::kRunning: return lost_answer("no complete response in time");
    case GetState::kTooLarge: return lost_answer(fmt::format("the response is larger than {} MiB", body_limit >> 20));
  }
  std::abort();
}

base::Error CpprestEngine::lost_answer(const std::string& why) const {
  return {base::ErrorCode::kOutcomeUnknown, impl_->endpoint.text() + ": " + why};
}

void CpprestEngine::shut_down() {
  const std::scoped_lock lock(impl_->mutex);
  impl_->closing = true;
  for (const auto& get : impl_->running) {
    get->end(GetState::kCancelled);
    cancel_on_pool(get);
  }
}

}  // namespace kube
