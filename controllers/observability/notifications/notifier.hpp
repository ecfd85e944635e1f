#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/metrics.hpp"
#include "controllers/observability/notifications/message.hpp"
#include "controllers/observability/notifications/queue.hpp"
#include "kube/transport.hpp"

namespace controllers {

/// Tells people of the Events that need them, and passes all Events on. publish() may be called by any thread and never
/// waits: what is told stands in a bounded queue for each channel, and one thread of its own sends it. What does not
/// fit is counted; the next message says how many. Neither URLs nor answers are logged.
class Notifier final : public kube::EventSink {
 public:
  /// Sends one message; any HTTP answer is one. Errors hold neither the URL nor what was answered: they are logged.
  /// Called by the thread of run() or step().
  using Post = std::function<base::Result<kube::Response>(const NotificationChannel&, const std::string& body)>;
  struct Dependencies {
    kube::EventSink& inner;
    const base::Clock& clock;   ///< of the time that messages tell
    const base::Clock& steady;  ///< what pauses go by
    base::Metrics& metrics;
    base::Log log;
    std::string instance;  ///< who tells
    Post post;
  };

  static constexpr std::size_t kMaxPending = 256;  ///< of each channel
  static constexpr std::size_t kMaxAtOnce = 20;    ///< in one message
  /// Then a message is given up. Alerts of policies are tried once more every two minutes
  /// (NotificationQueue::kMaxKept).
  static constexpr int kMaxTries = 6;

  Notifier(Dependencies dependencies, std::vector<NotificationChannel> channels);

  void publish(kube::Event event) override;

  /// Sends until stopped; what is left is tried once more then. Never throws.
  void run(std::stop_token stop);
  /// Sends what is due, one message for each channel. When the next one is: nullopt: nothing waits. For virtual time.
  std::optional<base::TimePoint> step();

 private:
  struct Channel {
    NotificationChannel config;
    NotificationQueue pending{kMaxPending};
    std::map<std::string, base::TimePoint> told{};  ///< when, by key(): not again before repeat_after. Queued or sent
    std::int64_t left_out = 0;                      ///< since the last message
    int failures = 0;                               ///< of the message that is next
    base::TimePoint next_try{};
  };

  // REQUIRE mutex_ held.
  void enqueue(Channel& channel, const Notification& told, base::TimePoint now);
  static bool wants(const Channel& channel, const Notification& told);
  static bool is_news(const Channel& channel, const Notification& told, base::TimePoint now);
  static void remember(Channel& channel, const Notification& told, base::TimePoint now);
  std::optional<base::TimePoint> next_due() const;
  void finish_batch(Channel& channel, const std::vector<Notification>& sent, std::int64_t left_out,
                    const base::Result<kube::Response>& answer);
  /// The receiver is away for long, or refuses the message.
  void give_up(Channel& channel, bool may_be_taken_later);
  void pause(Channel& channel, const base::Result<kube::Response>& answer);

  void send_one(Channel& channel);
  void count(const Channel& channel, const char* result, std::size_t by = 1);

  const Dependencies deps_;
  mutable std::mutex mutex_;
  std::condition_variable_any wake_;
  std::vector<Channel> channels_;  ///< as many as there are; what they hold is guarded by mutex_
};

}  // namespace controllers
