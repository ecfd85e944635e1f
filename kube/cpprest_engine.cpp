#include "kube/cpprest_engine.hpp"

#ifndef _TURN_OFF_PLATFORM_STRING
#define _TURN_OFF_PLATFORM_STRING  // else cpprest's macro U breaks Boost's headers
#endif
#include <cpprest/astreambuf.h>
#include <cpprest/http_client.h>
#include <fmt/format.h>
#include <pplx/threadpool.h>

#include <condition_variable>
#include <mutex>
#include <set>

#include "kube/response_reader.hpp"

namespace kube {
namespace {

namespace rest_http = web::http;

void use_one_pool_thread() {
  static std::once_flag once;
  std::call_once(once, [] {
    try {
      crossplat::threadpool::initialize_with_threads(1);
    } catch (const std::exception&) {
      // Somebody started the pool before us. It works, only cancels are less safe then.
    }
  });
}

/// Receives a body as it comes, at most `limit` bytes, in place of cpprestsdk's unbounded buffer.
class BoundedSink final : public Concurrency::streams::details::streambuf_state_manager<std::uint8_t> {
 public:
  explicit BoundedSink(std::size_t limit) : streambuf_state_manager(std::ios_base::out), limit_(limit) {}

  std::string take() {
    const std::scoped_lock lock(mutex_);
    return std::move(body_);
  }
  bool overflowed() const {
    const std::scoped_lock lock(mutex_);
    return overflowed_;
  }

 private:
  using Byte = std::uint8_t;
  template <typename T>
  using Task = pplx::task<T>;

  Task<std::size_t> append(const Byte* from, std::size_t count) {
    const std::scoped_lock lock(mutex_);
    overflowed_ = overflowed_ || body_.size() + count > limit_;
    if (overflowed_) return pplx::task_from_exception<std::size_t>(std::runtime_error("the answer is too large"));
    body_.append(reinterpret_cast<const char*>(from), count);
    return pplx::task_from_result(count);
  }

  bool can_seek() const override { return false; }
  bool has_size() const override { return false; }
  std::size_t buffer_size(std::ios_base::openmode) const override { return 0; }
  void set_buffer_size(std::size_t, std::ios_base::openmode) override {}
  std::size_t in_avail() const override { return 0; }
  pos_type getpos(std::ios_base::openmode) const override { return pos_type(traits::eof()); }
  pos_type seekpos(pos_type, std::ios_base::openmode) override { return pos_type(traits::eof()); }
  pos_type seekoff(off_type, std::ios_base::seekdir, std::ios_base::openmode) override { return pos_type(traits::eof()); }
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
  mutable std::mutex mutex_;
  std::string body_;
  bool overflowed_ = false;
};

/// One GET, between the caller and the pool's thread. The sink and the token source live as long as either needs them.
struct Get {
  explicit Get(std::size_t limit) : sink(std::make_shared<BoundedSink>(limit)) {}

  std::mutex mutex;
  std::condition_variable changed;
  std::optional<Response> answer;  // guarded by mutex
  bool failed = false;             // guarded by mutex
  bool cancelled = false;          // guarded by mutex
  const std::shared_ptr<BoundedSink> sink;
  pplx::cancellation_token_source source;
};

/// Only from the pool's one thread, or it races with the TLS read (cpp-stack.md 2b).
void cancel_on_pool(const std::shared_ptr<Get>& get) {
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
                                   const std::shared_ptr<Get>& get) {
  rest_http::http_request out(rest_http::methods::GET);
  out.set_request_uri(endpoint.server.path + request.target());
  out.headers().add("User-Agent", endpoint.options.user_agent);
  out.headers().add("Accept", request.accept);
  if (!authorization.empty()) out.headers().add("Authorization", authorization);
  out.set_response_stream(Concurrency::streams::streambuf<std::uint8_t>(get->sink).create_ostream());
  return out;
}

}  // namespace

/// What a new connection asks for its certificates. cpprestsdk may still open one when the engine is gone already.
class MaterialSource {
 public:
  explicit MaterialSource(CpprestEngine::Material ask) : ask_(std::move(ask)) {}

  /// Throws, as the callback's only way to say no; Beast will then say what is wrong.
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
  void start(const Request& request, const std::string& authorization, const std::shared_ptr<Get>& get);

  const Endpoint endpoint;
  const std::shared_ptr<MaterialSource> material;
  std::optional<rest_http::client::http_client> client;
  std::mutex mutex;
  std::set<std::shared_ptr<Get>> running;  // guarded by mutex
  bool closing = false;                    // guarded by mutex
};

rest_http::client::http_client_config CpprestEngine::Impl::settings() const {
  rest_http::client::http_client_config config;
  config.set_max_redirects(0);  // following one would hand our token to another host
  config.set_timeout(std::chrono::seconds(60));  // of inactivity; the deadline is ours
  config.set_validate_certificates(endpoint.verify);
  config.set_tlsext_sni_enabled(!is_ip_address(endpoint.server.host));
  config.set_ssl_context_callback(
      [source = material](boost::asio::ssl::context& context) { source->configure(context.native_handle()); });
  return config;
}

/// Never throws: whatever cpprestsdk throws counts as "no answer".
void CpprestEngine::Impl::start(const Request& request, const std::string& authorization, const std::shared_ptr<Get>& get) {
  const auto settle = [get](std::optional<Response> answer) {
    const std::scoped_lock lock(get->mutex);
    get->failed = !answer;
    get->answer = std::move(answer);
    get->changed.notify_all();
  };
  try {
    client->request(request_of(request, endpoint, authorization, get), get->source.get_token())
        .then([](rest_http::http_response response) {
          return response.content_ready();
        })
        .then([settle](pplx::task<rest_http::http_response> task) {
          try {
            settle(response_of(task.get()));
          } catch (const std::exception&) {
            settle(std::nullopt);
          }
        });
  } catch (const std::exception&) {
    settle(std::nullopt);
  }
}

CpprestEngine::CpprestEngine(const Endpoint& endpoint, Material material)
    : impl_(std::make_shared<Impl>(endpoint, std::move(material))) {
  use_one_pool_thread();
  impl_->client.emplace((endpoint.server.tls ? "https://" : "http://") + endpoint.server.authority(), impl_->settings());
}

CpprestEngine::~CpprestEngine() { impl_->material->close(); }

bool CpprestEngine::can_reach(const Endpoint& endpoint) {
  return !endpoint.proxy && !endpoint.server.is_ipv6() && endpoint.tls_name == endpoint.server.host;
}

std::optional<base::Result<Response>> CpprestEngine::get(const Request& request, const std::string& authorization,
                                                         std::chrono::steady_clock::time_point deadline,
                                                         std::size_t body_limit) {
  auto get = std::make_shared<Get>(body_limit);
  {
    const std::scoped_lock lock(impl_->mutex);
    if (impl_->closing) return base::Error{base::ErrorCode::kCancelled, "the client is shutting down"};
    impl_->running.insert(get);
  }
  impl_->start(request, authorization, get);
  std::unique_lock lock(get->mutex);
  const bool in_time = get->changed.wait_until(lock, deadline, [&] { return get->answer || get->failed || get->cancelled; });
  std::optional<base::Result<Response>> result;
  if (get->answer) {
    get->answer->body = get->sink->take();
    result = *std::move(get->answer);
  } else if (get->cancelled) {
    result = base::Error{base::ErrorCode::kCancelled, "the client is shutting down"};
  } else if (!in_time) {
    result = base::Error{base::ErrorCode::kOutcomeUnknown, endpoint_text() + ": no complete answer in time"};
    cancel_on_pool(get);
  } else if (get->sink->overflowed()) {
    result = base::Error{base::ErrorCode::kOutcomeUnknown,
                         fmt::format("{}: the answer is larger than {} MiB", endpoint_text(), body_limit >> 20)};
  }
  lock.unlock();
  const std::scoped_lock registry(impl_->mutex);
  impl_->running.erase(get);
  return result;
}

std::string CpprestEngine::endpoint_text() const { return impl_->endpoint.text(); }

void CpprestEngine::shut_down() {
  const std::scoped_lock lock(impl_->mutex);
  impl_->closing = true;
  for (const auto& get : impl_->running) {
    cancel_on_pool(get);
    const std::scoped_lock inner(get->mutex);
    get->cancelled = true;
    get->changed.notify_all();
  }
}

}  // namespace kube
