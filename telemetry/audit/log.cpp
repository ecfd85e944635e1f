#include "telemetry/audit/log.hpp"

#include "base/sleep.hpp"
#include "telemetry/audit/channel.hpp"

namespace audit {
namespace {

constexpr base::milliseconds kTickEvery{250};

class Nowhere final : public Recorder {
 public:
  void record(Record) override {}
  void watch(Health health) override {
    if (health) health(std::nullopt);
  }
};

}  // namespace

Recorder& null_recorder() {
  static Nowhere none;
  return none;
}

Log::Log(std::vector<std::unique_ptr<Sink>> sinks, LogOptions options, const base::Clock& clock, base::Metrics& metrics,
         base::Log log, const base::Clock* steady)
    : options_(std::move(options)), clock_(clock), log_(std::move(log)) {
  for (auto& sink : sinks) {
    channels_.push_back(
        std::make_unique<Channel>(std::move(sink), options_, clock_, steady ? *steady : clock_, metrics, log_));
  }
  told_ = failure();
}

Log::~Log() = default;

void Log::record(Record record) {
  if (record.time == base::TimePoint{}) record.time = clock_.now();
  if (record.actor.empty()) record.actor = options_.actor;
  for (const auto& channel : channels_) channel->record(record);
  publish_changes();
}

void Log::sign_heads(HeadKey key) {
  for (const auto& channel : channels_) channel->sign_heads(key);
  publish_changes();
}

void Log::tick() {
  for (const auto& channel : channels_) channel->tick();
  publish_changes();
}

void Log::run(std::stop_token stop) {
  while (!stop.stop_requested()) {
    tick();
    base::sleep_unless_stopped(kTickEvery, stop);
  }
  flush();
}

void Log::flush() {
  for (const auto& channel : channels_) channel->flush();
  publish_changes();
}

std::optional<base::Error> Log::failure() const {
  for (const auto& channel : channels_) {
    if (auto failure = channel->failure()) return failure;
  }
  return std::nullopt;
}

Head Log::head(std::size_t index) const { return channels_.at(index)->head(); }

void Log::watch(Health health) {
  const std::scoped_lock lock(watcher_mutex_);
  watcher_ = std::move(health);
  if (watcher_) watcher_(told_);
}

/// Calls the watcher only when the log starts or stops failing: the text of an error may differ at each retry.
void Log::publish_changes() {
  const std::scoped_lock lock(watcher_mutex_);
  auto now = failure();
  if (now.has_value() == told_.has_value()) return;
  told_ = std::move(now);
  if (watcher_) watcher_(told_);
}

}  // namespace audit
