#include "kube/http/beast_engine.hpp"

#include <fmt/format.h>
#include <pthread.h>

#include <boost/asio/post.hpp>
#include <condition_variable>

#include "kube/http/beast_core.hpp"

namespace kube {
namespace {

namespace asio = boost::asio;
using std::chrono::steady_clock;

/// Passes the result of an operation to its waiting caller.
class Mailbox {
 public:
  void put(base::Result<Response> result) {
    const std::scoped_lock lock(mutex_);
    result_.emplace(std::move(result));
    filled_.notify_one();
  }
  base::Result<Response> wait() {
    std::unique_lock lock(mutex_);
    filled_.wait(lock, [this] { return result_.has_value(); });
    return *std::move(result_);
  }

 private:
  std::mutex mutex_;
  std::condition_variable filled_;
  std::optional<base::Result<Response>> result_;
};

/// One request and its answer. Pending callbacks keep it alive. finish() has an effect only once.
class Exchange final : public Operation, public std::enable_shared_from_this<Exchange> {
 public:
  Exchange(BeastEngine::Core& core, Outgoing outgoing, std::shared_ptr<Mailbox> mailbox)
      : core_(core), outgoing_(std::move(outgoing)), mailbox_(std::move(mailbox)), deadline_(core.io) {}

  void start() {
    if (!core_.enter(shared_from_this())) return mailbox_->put(engine_closed());
    deadline_.expires_at(outgoing_.deadline);
    deadline_.async_wait([self = shared_from_this()](const Connection::IoError& error) {
      if (!error) self->overdue();
    });
    connect(core_.take_idle(outgoing_.tls));
  }

  void abort(base::Error why) override { finish(std::move(why)); }

 private:
  void connect(std::shared_ptr<Connection> kept) {
    reused_ = kept != nullptr;
    sent_ = false;
    body_.clear();
    reader_.emplace(outgoing_.body_limit, [this](std::string_view piece) {
      body_.append(piece);
      return true;
    });
    connection_ = reused_ ? std::move(kept) : core_.new_connection(outgoing_.tls);
    if (reused_) return send();
    connection_->open([self = shared_from_this()](std::optional<base::Error> error) {
      if (self->finished_) return;
      if (error && self->core_.opens_without_session(*self->connection_)) return self->connect(nullptr);
      error ? self->finish(*std::move(error)) : self->send();
    });
  }

  void send() {
    const auto current = connection_;
    current->write(outgoing_.bytes,
                   [self = shared_from_this(), current](const Connection::IoError& error, bool complete) {
                     if (self->finished_ || self->connection_ != current) return;
                     if (error && !complete) return self->not_sent(error);
                     self->sent_ = true;
                     self->receive();
                   });
  }

  /// The last bytes never reached the kernel, so the server cannot have received the whole request, whatever the verb.
  void not_sent(const Connection::IoError& error) {
    if (reused_) return replay_all();
    // A server that closes the connection during the request has often sent the reason: a TLS alert, or an answer (413,
    // 429).
    connection_->read([self = shared_from_this(), error](const Connection::IoError& last, std::string_view bytes) {
      if (self->finished_) return;
      if (!bytes.empty()) return self->received(last, bytes);
      const auto& telling = Connection::is_certificate_alert(last) ? last : error;
      self->finish(base::unavailable(self->describe("sending the request: " + self->connection_->explain(telling))));
    });
  }

  void receive() {
    const auto current = connection_;
    current->read([self = shared_from_this(), current](const Connection::IoError& error, std::string_view bytes) {
      if (self->finished_ || self->connection_ != current) return;
      self->received(error, bytes);
    });
  }

  void received(const Connection::IoError& error, std::string_view bytes) {
    answered_ = answered_ || !bytes.empty();
    if (const auto fed = reader_->feed(bytes); !fed) return finish(fed.error().during(core_.endpoint.text()));
    if (error == asio::error::eof && answered_) (void)reader_->end();
    if (reader_->done()) return answer();
    if (error) return lost(error);
    receive();
  }

  void lost(const Connection::IoError& error) {
    if (reused_ && outgoing_.is_safe && !answered_) return replay_all();
    const std::string why =
        describe((answered_ ? "the response ended early: " : "no response: ") + connection_->explain(error));
    if (!answered_ && Connection::is_certificate_alert(error)) return finish(base::unavailable(why));
    finish(base::Error{base::ErrorCode::kOutcomeUnknown, why});
  }

  /// Retries once on a new connection, because the kept-alive connection was closed.
  void replay_all() {
    connection_->close();
    connect(nullptr);
  }

  void overdue() {
    if (sent_) return finish(base::Error{base::ErrorCode::kOutcomeUnknown, describe("no complete response in time")});
    finish(base::Error{base::ErrorCode::kTimeout,
                       describe(fmt::format("the request could not be sent in time ({})", connection_->phase()))});
  }

  void answer() {
    const ResponseHead& head = reader_->head();
    Response response{head.status, std::move(body_), head.retry_after, head.content_type};
    if (reader_->reusable()) core_.keep(std::exchange(connection_, nullptr));
    finish(std::move(response));
  }

  std::string describe(const std::string& what) const { return core_.endpoint.text() + ": " + what; }

  void finish(base::Result<Response> result) {
    if (std::exchange(finished_, true)) return;
    const auto self = shared_from_this();
    deadline_.cancel();
    if (connection_) connection_->close();
    core_.leave(self);
    mailbox_->put(std::move(result));
  }

  BeastEngine::Core& core_;
  const Outgoing outgoing_;
  const std::shared_ptr<Mailbox> mailbox_;
  asio::steady_timer deadline_;
  std::shared_ptr<Connection> connection_;
  std::optional<ResponseReader> reader_;
  std::string body_;
  bool reused_ = false;
  bool sent_ = false;
  bool answered_ = false;
  bool finished_ = false;
};

}  // namespace

base::Error engine_closed() { return {base::ErrorCode::kCancelled, "the client is shutting down"}; }

BeastEngine::Core::Core(Endpoint endpoint_in) : endpoint(std::move(endpoint_in)), work(asio::make_work_guard(io)) {
  thread = std::thread([this] {
    pthread_setname_np(pthread_self(), "http");
    io.run();
  });
}

BeastEngine::Core::~Core() {
  shut_down();
  asio::post(io, [this] { work.reset(); });
  thread.join();  // ends after the last callback
}

std::shared_ptr<Connection> BeastEngine::Core::new_connection(const TlsContext& tls) {
  const bool is_known = offers_sessions && tls == session_of;
  return std::make_shared<Connection>(Connection::Shared{io, endpoint, buffer}, tls, is_known ? session : nullptr);
}

bool BeastEngine::Core::opens_without_session(const Connection& failed) {
  if (!failed.offered_session()) return false;
  offers_sessions = false;
  return true;
}

std::shared_ptr<Connection> BeastEngine::Core::take_idle(const TlsContext& tls) {
  const auto now = steady_clock::now();
  while (!idle.empty()) {
    std::shared_ptr<Connection> last = std::move(idle.back());
    idle.pop_back();
    if (last->tls() == tls && last->is_fresh(now, endpoint.options.keep_alive)) return last;
    last->close();
  }
  return nullptr;
}

void BeastEngine::Core::keep(std::shared_ptr<Connection> connection) {
  const auto now = steady_clock::now();
  connection->touch(now);
  session_of = connection->tls();
  session = connection->session();
  while (!idle.empty() && !idle.front()->is_fresh(now, endpoint.options.keep_alive)) {
    idle.front()->close();
    idle.erase(idle.begin());
  }
  if (idle.size() < static_cast<std::size_t>(endpoint.options.max_connections))
    return idle.push_back(std::move(connection));
  connection->close();
}

bool BeastEngine::Core::enter(const std::shared_ptr<Operation>& operation) {
  if (!closing) running.insert(operation);
  return !closing;
}

void BeastEngine::Core::shut_down() {
  asio::post(io, [this] {
    closing = true;
    const auto ending = running;  // copy, because abort() erases from `running`
    for (const auto& operation : ending) operation->abort(engine_closed());
    for (const auto& connection : idle) connection->close();
    idle.clear();
  });
}

BeastEngine::BeastEngine(Endpoint endpoint) : core_(std::make_unique<Core>(std::move(endpoint))) {}

BeastEngine::~BeastEngine() = default;

base::Result<Response> BeastEngine::exchange(Outgoing outgoing) {
  auto mailbox = std::make_shared<Mailbox>();
  auto exchange = std::make_shared<Exchange>(*core_, std::move(outgoing), mailbox);
  asio::post(core_->io, [exchange = std::move(exchange)] { exchange->start(); });
  return mailbox->wait();
}

base::Result<std::unique_ptr<WatchStream>> BeastEngine::open(Outgoing outgoing, StreamKind kind) {
  return open_stream(*core_, std::move(outgoing), kind);
}

void BeastEngine::shut_down() { core_->shut_down(); }

}  // namespace kube
