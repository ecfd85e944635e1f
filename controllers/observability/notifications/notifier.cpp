#include "controllers/observability/notifications/notifier.hpp"

#include <algorithm>
#include <fstream>
#include <utility>

#include "kube/config/files.hpp"

namespace controllers {
namespace {

using base::kv;

constexpr base::Backoff kRetryBackoff{base::seconds(2), base::minutes(2)};
/// Number of objects per channel whose last notification is remembered.
constexpr std::size_t kMaxRemembered = 2000;

/// A rejection is permanent. A receiver that is unavailable or busy may accept the message later.
bool may_be_taken_later(const base::Result<kube::Response>& answer) {
  if (!answer) return is_lost(answer);
  return answer->status >= 500 || answer->status == 429 || answer->status == 408 || answer->status == 425;
}

/// Settings named in logs. Errors of HttpPost contain no secret.
constexpr kube::ServerSettings kSettings{"the URL in urlFile", "the URL in urlFile"};

constexpr std::size_t kMaxUrl = 4096;

base::Result<std::string> url_of(const NotificationChannel& channel) {
  std::string text;
  text.resize(kMaxUrl + 1);
  std::ifstream file(channel.url_file, std::ios::binary);
  if (!file) return base::unavailable("urlFile cannot be read");
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  std::string url(kube::trim(text));
  if (url.size() > kMaxUrl) return base::invalid("urlFile contains no usable URL: it is too long");
  return url;
}

}  // namespace

Notifier::Notifier(Dependencies dependencies, std::vector<NotificationChannel> channels)
    : deps_(std::move(dependencies)) {
  for (NotificationChannel& each : channels) channels_.push_back({.config = std::move(each)});
}

void Notifier::publish(kube::Event event) {
  if (const auto told = notification_of(event, deps_.clock.now())) {
    const base::TimePoint now = deps_.steady.now();
    const std::scoped_lock lock(mutex_);
    for (Channel& each : channels_) enqueue(each, *told, now);
    wake_.notify_one();
  }
  deps_.inner.publish(std::move(event));
}

void Notifier::enqueue(Channel& channel, const Notification& told, base::TimePoint now) {
  const NotificationChannel& config = channel.config;
  if (config.omit_refused_manual && told.is_refusal && told.rank == NotificationRank::kManual) return;
  if (!config.events.empty() && std::ranges::find(config.events, told.event) == config.events.end()) return;
  const auto known = channel.told.find(told.key());
  if (known != channel.told.end() && now - known->second < config.repeat_after) return count(channel, "repeated");
  channel.told.insert_or_assign(told.key(), now);
  // The oldest key is forgotten if there are too many, so it may be notified again early.
  if (channel.told.size() > kMaxRemembered)
    channel.told.erase(std::ranges::min_element(channel.told, {}, [](const auto& each) { return each.second; }));
  const auto left_out = channel.pending.push(told);
  if (!left_out) return;
  channel.told.erase(left_out->key());
  ++channel.left_out;
  count(channel, "dropped");
}

void Notifier::count(const Channel& channel, const char* result, std::size_t by) {
  deps_.metrics
      .counter("evacuator_notifications_total", "Number of notifications, by channel and result.",
               {{"channel", channel.config.name}, {"result", result}})
      .increment(static_cast<double>(by));
}

void Notifier::finish_batch(Channel& channel, const std::vector<Notification>& sent, std::int64_t left_out,
                            const base::Result<kube::Response>& answer) {
  const bool is_over = is_accepted(answer) || !may_be_taken_later(answer) || channel.pending.repeats() ||
                       ++channel.failures >= kMaxTries;
  if (!is_accepted(answer)) {
    deps_.log.warning(
        "a notification was not accepted",
        {kv("channel", channel.config.name), kv("answer", outcome_text(answer, kSettings)), kv("givenUp", is_over)});
  }
  if (!is_over) {
    channel.next_try = deps_.steady.now() + pause_after(answer, kRetryBackoff, channel.failures);
    return;
  }
  channel.left_out -= left_out;
  channel.failures = 0;
  channel.next_try = {};
  if (!is_accepted(answer)) return give_up(channel, may_be_taken_later(answer));
  channel.pending.finish_batch();
  count(channel, "sent", sent.size());
}

void Notifier::give_up(Channel& channel, bool may_be_taken_later) {
  auto lost = channel.pending.take(kMaxAtOnce);
  if (may_be_taken_later) {
    const std::size_t tried = lost.size();
    const base::TimePoint now = deps_.steady.now();
    lost = channel.pending.give_up(now);
    if (lost.size() < tried && channel.pending.has_only_kept()) channel.next_try = now + kRetryBackoff.most;
  } else {
    channel.pending.finish_batch();
  }
  for (const Notification& each : lost) channel.told.erase(each.key());
  if (!lost.empty()) count(channel, "failed", lost.size());
}

void Notifier::send_one(Channel& channel) {
  std::vector<Notification> batch;
  std::int64_t left_out = 0;
  {
    const std::scoped_lock lock(mutex_);
    if (channel.pending.empty() || channel.next_try > deps_.steady.now()) return;
    batch = channel.pending.take(kMaxAtOnce);
    left_out = channel.left_out;
  }
  const auto answer = deps_.post(channel.config, body_of(channel.config.format, deps_.instance, batch, left_out));
  const std::scoped_lock lock(mutex_);
  finish_batch(channel, batch, left_out, answer);
}

std::optional<base::TimePoint> Notifier::next_due() const {
  std::optional<base::TimePoint> next;
  for (const Channel& each : channels_) {
    if (!each.pending.empty()) next = std::min(next.value_or(each.next_try), each.next_try);
  }
  return next;
}

std::optional<base::TimePoint> Notifier::step() {
  for (Channel& each : channels_) send_one(each);
  const std::scoped_lock lock(mutex_);
  return next_due();
}

void Notifier::run(std::stop_token stop) {
  while (!stop.stop_requested()) {
    step();
    std::unique_lock lock(mutex_);
    const auto due = next_due();
    const base::Duration pause = due ? *due - deps_.steady.now() : base::Duration(kMaxReceiverPause);
    wake_.wait_for(lock, stop, std::max(pause, base::Duration::zero()), [&] {
      const auto now_due = next_due();
      return now_due && *now_due <= deps_.steady.now();
    });
  }
  step();
}

base::Result<kube::Response> HttpPost::operator()(const NotificationChannel& channel, const std::string& body) {
  const auto url = url_of(channel);
  if (!url) return url.error();
  Connection& connection = connections_[channel.name];
  if (connection.url != *url || !connection.receiver) {
    connection = {};
    auto receiver = HttpReceiver::create(
        {.url = *url, .ca_file = channel.ca_file, .name = "notifications: " + channel.name}, clock_);
    if (!receiver) return receiver.error().during("urlFile");
    connection = {*url, *std::move(receiver)};
  }
  return connection.receiver->post(body, channel.timeout);
}

}  // namespace controllers
