#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/metrics.hpp"
#include "base/result.hpp"
#include "controllers/observability/http_receiver.hpp"
#include "controllers/observability/notifications/message.hpp"
#include "controllers/observability/notifications/notifications_config.hpp"
#include "controllers/observability/notifications/queue.hpp"
#include "kube/transport.hpp"

namespace controllers {

/// Sends notifications for Events that need manual action, and forwards all Events. publish() is thread-safe and never
/// blocks: notifications go to a bounded queue per channel, from which the thread of run() sends them. Notifications
/// that do not fit are counted, and the next message contains their number. Logs contain neither URLs nor responses.
class Notifier final : public kube::EventSink {
 public:
  /// Sends one message and returns the response, whatever its status. Errors are logged, so they must contain neither
  /// the URL nor the response. Called on the thread of run() or step().
  using Post = std::function<base::Result<kube::Response>(const NotificationChannel&, const std::string& body)>;
  struct Dependencies {
    kube::EventSink& inner;
    const base::Clock& clock;   ///< Time in messages
    const base::Clock& steady;  ///< Clock for pauses
    base::Metrics& metrics;
    base::Log log;
    std::string instance;  ///< Sender named in messages
    Post post;
  };

  static constexpr std::size_t kMaxPending = 256;  ///< Per channel
  static constexpr std::size_t kMaxAtOnce = 20;    ///< Per message
  /// Number of tries before a message is given up. Notifications about policies are retried every two minutes after
  /// that (NotificationQueue::kMaxKept).
  static constexpr int kMaxTries = 6;

  Notifier(Dependencies dependencies, std::vector<NotificationChannel> channels);

  void publish(kube::Event event) override;

  /// Sends until stopped, then tries once more to send the rest. Never throws.
  void run(std::stop_token stop);
  /// For virtual time: sends what is due, one message per channel. Returns the time of the next message, if any.
  std::optional<base::TimePoint> step();

 private:
  struct Channel {
    NotificationChannel config;
    NotificationQueue pending{kMaxPending};
    /// Time of the last notification, by key(), for repeat_after; it may be queued or sent.
    std::map<std::string, base::TimePoint> told{};
    std::int64_t left_out = 0;  ///< Number of notifications dropped since the last message
    int failures = 0;           ///< Failed tries of the next message
    base::TimePoint next_try{};
  };

  // REQUIRE mutex_ held.
  void enqueue(Channel& channel, const Notification& told, base::TimePoint now);
  std::optional<base::TimePoint> next_due() const;
  void finish_batch(Channel& channel, const std::vector<Notification>& sent, std::int64_t left_out,
                    const base::Result<kube::Response>& answer);
  /// Gives up the next message, after too many tries or because the receiver rejects it.
  void give_up(Channel& channel, bool may_be_taken_later);

  void send_one(Channel& channel);
  void count(const Channel& channel, const char* result, std::size_t by = 1);

  const Dependencies deps_;
  mutable std::mutex mutex_;
  std::condition_variable_any wake_;
  std::vector<Channel> channels_;  ///< Fixed size; the contents are guarded by mutex_
};

/// Posts messages to the URLs in the channels' URL files: https, or http to a loopback address. Reads the file for
/// each message, so a rotated URL applies immediately. Errors never contain the URL, which is a secret. Use from one
/// thread.
class HttpPost {
 public:
  /// `clock` must outlive this object.
  explicit HttpPost(const base::Clock& clock) : clock_(clock) {}

  base::Result<kube::Response> operator()(const NotificationChannel& channel, const std::string& body);

 private:
  struct Connection {
    std::string url;
    std::unique_ptr<HttpReceiver> receiver;
  };

  const base::Clock& clock_;
  std::map<std::string, Connection> connections_;  ///< By channel name
};

}  // namespace controllers
