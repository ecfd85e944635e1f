#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "kube/transport.hpp"

namespace kube::testing {

/// The test's end of a watch. The test pushes lines and the end, the client's end reads them.
class FakeFeed {
 public:
  void push(std::string line) {
    const std::scoped_lock lock(mutex_);
    lines_.push_back(std::move(line));
    wake();
  }
  void end(base::Error error) {
    const std::scoped_lock lock(mutex_);
    if (!end_) end_ = std::move(error);
    wake();
  }
  bool on_news(std::function<void()> news) {
    if (!tells_news) return false;
    const std::scoped_lock lock(mutex_);
    news_ = std::move(news);
    if (news_ && (!lines_.empty() || end_)) news_();
    return true;
  }

  bool tells_news = false;  ///< Whether on_news() is supported. Set it before the watch is opened.
  base::Result<std::optional<std::string>> next(base::milliseconds wait) {
    std::unique_lock lock(mutex_);
    ++reads_;
    wake_.notify_all();
    wake_.wait_for(lock, wait, [this] { return !lines_.empty() || end_; });
    if (!lines_.empty()) {
      std::optional<std::string> line = std::move(lines_.front());
      lines_.pop_front();
      return line;
    }
    if (end_) return *end_;
    return std::optional<std::string>();
  }
  /// Waits until the client reads.
  void await_reader() {
    std::unique_lock lock(mutex_);
    const int before = reads_;
    wake_.wait(lock, [&] { return reads_ > before; });
  }

 private:
  void wake() {
    wake_.notify_all();
    if (news_) news_();
  }
  std::mutex mutex_;
  std::condition_variable wake_;
  std::function<void()> news_;
  std::deque<std::string> lines_;
  std::optional<base::Error> end_;
  int reads_ = 0;
};

class FakeStream final : public WatchStream, public ReadinessSource {
 public:
  explicit FakeStream(std::shared_ptr<FakeFeed> feed) : feed_(std::move(feed)) {}
  ~FakeStream() override { feed_->on_news({}); }
  base::Result<std::optional<std::string>> next(base::milliseconds wait) override { return feed_->next(wait); }
  void cancel() override { feed_->end({base::ErrorCode::kCancelled, "cancelled"}); }
  bool on_news(std::function<void()> news) override { return feed_->on_news(std::move(news)); }

 private:
  std::shared_ptr<FakeFeed> feed_;
};

/// Answers with the given functions and records every request. Thread-safe.
class FakeTransport final : public Transport {
 public:
  std::function<base::Result<Response>(const Request&)> answer = [](const Request&) -> base::Result<Response> {
    return Response{404, "", {}, ""};
  };
  /// Returns the feed of a new watch. A nullptr without an error opens a watch that stays silent.
  std::function<base::Result<std::shared_ptr<FakeFeed>>(const Request&)> open_watch =
      [](const Request&) -> base::Result<std::shared_ptr<FakeFeed>> { return std::make_shared<FakeFeed>(); };

  std::function<base::Result<std::shared_ptr<FakeFeed>>(const Request&)> open_list =
      [](const Request&) -> base::Result<std::shared_ptr<FakeFeed>> {
    return base::Error{base::ErrorCode::kUnsupported, "this transport does not stream lists"};
  };

  base::Result<Response> round_trip(const Request& request) override {
    record(request);
    return answer(request);
  }
  base::Result<std::unique_ptr<WatchStream>> watch(const Request& request) override {
    record(request);
    auto feed = open_watch(request);
    if (!feed) return feed.error();
    return std::unique_ptr<WatchStream>(std::make_unique<FakeStream>(*feed));
  }
  base::Result<std::unique_ptr<WatchStream>> list(const Request& request) override {
    record(request);
    auto feed = open_list(request);
    if (!feed) return feed.error();
    return std::unique_ptr<WatchStream>(std::make_unique<FakeStream>(*feed));
  }
  std::vector<Request> requests() const {
    const std::scoped_lock lock(mutex_);
    return requests_;
  }
  std::vector<std::string> targets() const {
    std::vector<std::string> all;
    for (const Request& each : requests()) all.push_back(each.target());
    return all;
  }

 private:
  void record(const Request& request) {
    const std::scoped_lock lock(mutex_);
    requests_.push_back(request);
  }
  mutable std::mutex mutex_;
  std::vector<Request> requests_;
};

inline Response json_response(int status, std::string body) {
  return {status, std::move(body), std::nullopt, "application/json"};
}

/// The API server's answer for an object that does not exist.
inline Response not_found(const std::string& name) {
  return json_response(404, R"({"kind":"Status","status":"Failure","reason":"NotFound","code":404,"message":"\")" +
                                name + R"(\" not found","details":{"name":")" + name + "\"}}");
}

}  // namespace kube::testing
