#include <fmt/format.h>

#include <boost/asio/post.hpp>
#include <condition_variable>
#include <deque>

#include "kube/client.hpp"
#include "kube/http/beast_core.hpp"
#include "kube/http/stream_splitter.hpp"

namespace kube {
namespace {

namespace asio = boost::asio;

constexpr std::size_t kMaxRefusal = 1 << 20;

/// Buffer of received lines between the engine's thread and the caller of next(). Thread-safe.
class LineQueue {
 public:
  explicit LineQueue(std::size_t limit) : limit_(limit) {}

  /// Returns false if the buffer is full. The caller must stop reading until next() sets `resume`.
  bool push(std::vector<std::string>& lines) {
    const std::scoped_lock lock(mutex_);
    for (std::string& line : lines) {
      bytes_ += line.size();
      lines_.push_back(std::move(line));
    }
    if (!lines.empty()) tell();
    lines.clear();
    paused_ = bytes_ > limit_;
    return !paused_;
  }

  void open() {
    const std::scoped_lock lock(mutex_);
    opened_ = true;
    changed_.notify_one();
  }

  void end(base::Error why) {
    const std::scoped_lock lock(mutex_);
    if (!ended_) ended_ = std::move(why);
    tell();
  }

  /// Drops the remaining lines.
  void cancel() {
    const std::scoped_lock lock(mutex_);
    ended_ = base::Error{base::ErrorCode::kCancelled, "the watch was cancelled"};
    lines_.clear();
    tell();
  }

  /// Sets the listener, which is called with the lock held. Pass an empty function to remove it.
  void on_news(std::function<void()> news) {
    const std::scoped_lock lock(mutex_);
    news_ = std::move(news);
    if (news_ && (!lines_.empty() || ended_)) news_();
  }

  base::Status wait_open() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return opened_ || ended_; });
    if (opened_) return base::Done{};
    return *ended_;
  }

  base::Result<std::optional<std::string>> next(base::milliseconds wait, bool& resume) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, wait, [this] { return !lines_.empty() || ended_; });
    if (!lines_.empty()) {
      std::optional<std::string> line = std::move(lines_.front());
      lines_.pop_front();
      bytes_ -= line->size();
      resume = paused_ && !ended_ && bytes_ <= limit_ / 2;
      if (resume) paused_ = false;
      return line;
    }
    if (ended_) return *ended_;
    return std::optional<std::string>();
  }

  bool has_ended() const {
    const std::scoped_lock lock(mutex_);
    return ended_.has_value();
  }

 private:
  /// REQUIRES: mutex_ is held.
  void tell() {
    changed_.notify_one();
    if (news_) news_();
  }

  const std::size_t limit_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> news_;
  std::deque<std::string> lines_;
  std::size_t bytes_ = 0;
  std::optional<base::Error> ended_;
  bool opened_ = false;
  bool paused_ = false;
};

/// One watch or streamed list. All members except queue() belong to the engine's thread.
class WatchOperation final : public Operation, public std::enable_shared_from_this<WatchOperation> {
 public:
  WatchOperation(BeastEngine::Core& core, Outgoing outgoing, StreamKind kind)
      : core_(core),
        outgoing_(std::move(outgoing)),
        kind_(kind),
        queue_(kind == StreamKind::kList ? core.endpoint.options.list_queue_bytes
                                         : core.endpoint.options.watch_queue_bytes),
        reader_(UINT64_MAX, [this](std::string_view piece) { return take(piece); }) {}

  LineQueue& queue() { return queue_; }

  void start() {
    if (!core_.enter(shared_from_this())) return queue_.end(engine_closed());
    timer_.emplace(core_.io);
    expire_at(outgoing_.deadline, "no response in time");
    connect();
  }

  void abort(base::Error why) override { finish(std::move(why)); }

  void receive() {
    if (finished_) return;
    if (opened_)
      expire_at(std::chrono::steady_clock::now() + core_.endpoint.options.watch_idle, "timed out without new data");
    connection_->read([self = shared_from_this()](const Connection::IoError& error, std::string_view bytes) {
      if (!self->finished_) self->received(error, bytes);
    });
  }

 private:
  void connect() {
    connection_ = core_.new_connection(outgoing_.tls);
    connection_->open([self = shared_from_this()](std::optional<base::Error> error) {
      if (self->finished_) return;
      if (error && self->core_.opens_without_session(*self->connection_)) return self->connect();
      error ? self->finish(*std::move(error)) : self->send();
    });
  }

  void send() {
    connection_->write(outgoing_.bytes, [self = shared_from_this()](const Connection::IoError& error, bool) {
      if (self->finished_) return;
      error ? self->finish(self->broken(self->connection_->explain(error))) : self->receive();
    });
  }

  void received(const Connection::IoError& error, std::string_view bytes) {
    const auto fed = reader_.feed(bytes);
    if (reader_.has_head()) note_head();
    const bool read_on = queue_.push(lines_);
    if (refused_) return finish(*std::move(refused_));
    if (!fed) return finish(broken(unreadable_.empty() ? fed.error().message : unreadable_));
    if (error == asio::error::eof && !opened_) (void)reader_.end();
    if (reader_.done()) return ended();
    if (error) return finish(broken(connection_->explain(error)));
    if (read_on) return receive();
    timer_->cancel();  // reading is paused, so a silent server is not an error
  }

  void note_head() {
    if (opened_ || reader_.head().status != 200 || (!splitter_ && !choose_splitter())) return;
    opened_ = true;
    queue_.open();
  }

  void ended() {
    if (opened_)
      return finish(base::unavailable(fmt::format("{}: the server ended the {}", core_.endpoint.text(), what())));
    const ResponseHead& head = reader_.head();
    const auto answer = classify(Response{head.status, std::move(refusal_), head.retry_after, head.content_type});
    finish(answer ? broken(fmt::format("HTTP {} instead of a {}", head.status, what())) : answer.error());
  }

  /// Takes a piece of the body: lines of the watch, or the message of a refusal.
  bool take(std::string_view piece) {
    if (reader_.head().status == 200) {
      if (!splitter_ && !choose_splitter()) return false;
      const auto fed = splitter_->feed(piece, lines_);
      if (!fed) unreadable_ = fed.error().message;
      return fed.ok();
    }
    refusal_.append(piece);
    return refusal_.size() <= kMaxRefusal;
  }

  /// Chooses the splitter by the answer's content type. Returns false and sets refused_ if the type is not supported.
  bool choose_splitter() {
    splitter_ = make_splitter(kind_, reader_.head().content_type, core_.endpoint.options.max_watch_line);
    if (!splitter_) {
      refused_ =
          base::Error{base::ErrorCode::kUnsupported, fmt::format("{}: the list is in \"{}\", not in protobuf",
                                                                 core_.endpoint.text(), reader_.head().content_type)};
    }
    return splitter_ != nullptr;
  }

  void expire_at(std::chrono::steady_clock::time_point when, const char* why) {
    timer_->expires_at(when);
    timer_->async_wait([self = shared_from_this(), why](const Connection::IoError& error) {
      if (!error && !self->finished_) self->finish(self->broken(why));
    });
  }

  std::string_view what() const { return kind_ == StreamKind::kList ? "list" : "watch"; }
  /// A watch changes nothing, so any failure is retriable.
  base::Error broken(const std::string& why) const {
    return base::unavailable(fmt::format("{}: {}: {}", core_.endpoint.text(), what(), why));
  }

  void finish(base::Error why) {
    if (std::exchange(finished_, true)) return;
    const auto self = shared_from_this();
    connection_->close();
    connection_.reset();
    timer_.reset();  // a stream may keep this operation longer than the engine exists
    core_.leave(self);
    queue_.end(std::move(why));
  }

  BeastEngine::Core& core_;
  const Outgoing outgoing_;
  const StreamKind kind_;
  std::unique_ptr<StreamSplitter> splitter_;
  LineQueue queue_;
  ResponseReader reader_;
  std::optional<asio::steady_timer> timer_;
  std::shared_ptr<Connection> connection_;
  std::vector<std::string> lines_;
  std::string refusal_;
  std::string unreadable_;
  std::optional<base::Error> refused_;
  bool opened_ = false;
  bool finished_ = false;
};

class BeastWatchStream final : public WatchStream, public ReadinessSource {
 public:
  BeastWatchStream(BeastEngine::Core& core, std::shared_ptr<WatchOperation> operation)
      : core_(core), operation_(std::move(operation)) {}
  ~BeastWatchStream() override {
    operation_->queue().on_news({});
    close();
  }

  base::Result<std::optional<std::string>> next(base::milliseconds wait) override {
    bool resume = false;
    auto line = operation_->queue().next(wait, resume);
    if (resume) asio::post(core_.io, [operation = operation_] { operation->receive(); });
    return line;
  }

  void cancel() override {
    close();
    operation_->queue().cancel();
  }

  bool on_news(std::function<void()> news) override {
    operation_->queue().on_news(std::move(news));
    return true;
  }

 private:
  void close() {
    if (operation_->queue().has_ended()) return;
    asio::post(core_.io, [operation = operation_] {
      operation->abort({base::ErrorCode::kCancelled, "the watch was cancelled"});
    });
  }

  BeastEngine::Core& core_;
  const std::shared_ptr<WatchOperation> operation_;
};

}  // namespace

base::Result<std::unique_ptr<WatchStream>> open_stream(BeastEngine::Core& core, Outgoing outgoing, StreamKind kind) {
  auto operation = std::make_shared<WatchOperation>(core, std::move(outgoing), kind);
  asio::post(core.io, [operation] { operation->start(); });
  if (const auto opened = operation->queue().wait_open(); !opened) return opened.error();
  return std::unique_ptr<WatchStream>(std::make_unique<BeastWatchStream>(core, std::move(operation)));
}

}  // namespace kube
