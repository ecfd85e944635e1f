#include "cmd/advise/past.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>

#include "advisor/parse/csv.hpp"
#include "advisor/parse/top_log.hpp"
#include "cmd/input/files.hpp"

namespace cmd::advise {
namespace {

namespace fs = std::filesystem;
using advisor::Day;

constexpr std::size_t kMaxHistoryBytes = std::size_t{1} << 30;

/// Same order as usage::container_expressions().
constexpr advisor::DayMetric kMetrics[] = {
    advisor::DayMetric::kSamples,    advisor::DayMetric::kCpuPeak,     advisor::DayMetric::kCpuMean,
    advisor::DayMetric::kCpuP95,     advisor::DayMetric::kStartupPeak, advisor::DayMetric::kMemoryPeak,
    advisor::DayMetric::kMemoryMean, advisor::DayMetric::kThrottled,   advisor::DayMetric::kOomKills};

/// Cache of usage days in CSV files. A cached day is used only if it was read with the same settings.
class DayCache {
 public:
  DayCache(std::string folder, std::string settings) : folder_(std::move(folder)), settings_(std::move(settings)) {}

  /// Adds the cached day to `histories`. Returns false if it is not cached, was read with other settings, or cannot be
  /// read.
  bool read(Day day, advisor::Histories& histories) const {
    if (folder_.empty()) return false;
    const auto text = read_file(path_of(day), kMaxHistoryBytes);
    if (!text || !text->starts_with(first_line())) return false;
    advisor::Histories told;
    const auto rows = advisor::read_history_csv(
        *text, {[](const advisor::Sample&) {},
                [&](const advisor::ContainerKey& key, Day when, const advisor::DayUsage& usage) {
                  told.containers[key].days.emplace(when, usage);
                }});
    if (!rows) return false;
    advisor::add_histories(histories, std::move(told));
    return true;
  }

  /// Writes the file atomically.
  base::Status write(Day day, const std::map<advisor::ContainerKey, advisor::DayUsage>& usage) const {
    if (folder_.empty()) return base::Done{};
    std::error_code failed;
    fs::create_directories(folder_, failed);
    const std::string path = path_of(day);
    const std::string draft = path + ".part";
    std::ofstream file(draft, std::ios::binary | std::ios::trunc);
    file << first_line() << advisor::day_csv_header();
    for (const auto& [key, one] : usage) file << advisor::day_csv_row(key, day, one);
    file.close();
    if (!file) return base::invalid(fmt::format("--cache: cannot write {}", draft));
    fs::rename(draft, path, failed);
    return failed ? base::Status(base::invalid(fmt::format("--cache: {}: {}", path, failed.message()))) : base::Done{};
  }

 private:
  std::string path_of(Day day) const { return (fs::path(folder_) / (advisor::text_of(day) + ".csv")).string(); }
  std::string first_line() const { return "# evacuator advise requests: " + settings_ + "\n"; }

  std::string folder_;
  std::string settings_;
};

/// Returns one line that identifies the settings that a cached day depends on.
std::string settings_text(const RequestsOptions& options) {
  std::string text =
      fmt::format("{} step={} startup={} namespace={} {}", options.prometheus.url, options.prometheus.step,
                  options.startup, options.cluster.ns, options.prometheus.matchers);
  std::ranges::replace(text, '\n', ' ');
  return text;
}

class Reader {
 public:
  Reader(const RequestsOptions& options, const advisor::Inventory& inventory, plugin::Io& io, usage::Connect connect)
      : options_(options), inventory_(inventory), io_(io), connect_(std::move(connect)) {}

  base::Result<Past> read() {
    if (auto sound = validate_options(); !sound) return sound.error();
    if (auto done = read_files(); !done) return done.error();
    if (auto done = read_prometheus(); !done) return done.error();
    return std::move(past_);
  }

 private:
  bool has_files() const { return !options_.top_logs.empty() || !options_.csv_files.empty(); }

  base::Status validate_options() {
    if (!has_files() && options_.prometheus.url.empty() && !options_.resource_advices)
      return base::invalid("no history is given: set --prometheus, --top, --csv or --resource-advices");
    const auto startup = parse_duration_flag("--startup", options_.startup, base::Duration(0), std::chrono::hours(1));
    if (!startup) return startup.error();
    startup_ = *startup;
    past_.rules.profile = advisor::parse_profile(options_.profile).value_or(advisor::Profile::kStandard);
    past_.rules.percentile = options_.percentile;
    return set_days();
  }

  /// Sets the days to read. They end at --until if given, else at the newest sample in the files, else at the end of
  /// yesterday. Samples of the day after tomorrow or later come from a wrong clock and do not count as newest.
  base::Status set_days() {
    Day to = advisor::day_of(io_.clock.now());
    if (!options_.until.empty()) {
      const auto until = base::parse_time(options_.until);
      if (!until) return base::invalid("--until: must be an RFC 3339 time such as 2026-11-21T00:00:00Z");
      to = advisor::day_of(*until);
    } else if (has_files()) {
      std::optional<Day> newest;
      std::size_t later = 0;
      const auto note = [&](Day day) {
        if (day > to + 1) {
          ++later;
        } else {
          newest = std::max(newest.value_or(day), day);
        }
      };
      auto walked = walk_files([&](const advisor::Sample& sample) { note(advisor::day_of(sample.time)); },
                               [&](const auto&, Day day, const auto&) { note(day); });
      if (!walked) return walked;
      if (newest) to = *newest + 1;
      if (later > 0)
        past_.problems.push_back(fmt::format("{} samples or days are in the future and are ignored", later));
    }
    past_.rules.to = to;
    past_.rules.from = to - options_.days;
    return base::Done{};
  }

  using EachSample = std::function<void(const advisor::Sample&)>;
  using EachDay = std::function<void(const advisor::ContainerKey&, Day, const advisor::DayUsage&)>;
  base::Status walk_files(const EachSample& each_sample, const EachDay& each_day) {
    const std::string& ns = options_.cluster.ns;
    const EachSample sample = [&](const advisor::Sample& one) {
      if (ns.empty() || one.ns == ns) each_sample(one);
    };
    const EachDay day = [&](const advisor::ContainerKey& key, Day when, const advisor::DayUsage& usage) {
      if (ns.empty() || key.workload.ns == ns) each_day(key, when, usage);
    };
    notes_.clear();
    for (const std::string& path : options_.top_logs) {
      const auto text = text_of(path);
      if (!text) return text.error();
      const auto read = advisor::read_top_log(**text, ns, sample);
      if (!read) return read.error().during(path);
      note_log(path, *read);
    }
    for (const std::string& path : options_.csv_files) {
      const auto text = text_of(path);
      if (!text) return text.error();
      const auto rows = advisor::read_history_csv(**text, {sample, day});
      if (!rows) return rows.error().during(path);
      if (*rows == 0) notes_.push_back(path + ": no rows");
    }
    return base::Done{};
  }

  /// Reads a file. Text of anything but a regular file, such as a pipe, is kept because it can be read only once.
  base::Result<std::shared_ptr<const std::string>> text_of(const std::string& path) {
    if (const auto kept = piped_.find(path); kept != piped_.end()) return kept->second;
    auto read = read_text_file(path, kMaxHistoryBytes);
    if (!read) return std::move(read).error();
    auto text = std::make_shared<const std::string>(*std::move(read));
    std::error_code unknown;
    if (!fs::is_regular_file(path, unknown)) piped_.emplace(path, text);
    return text;
  }

  void note_log(const std::string& path, const advisor::LogNotes& read) {
    if (read.samples == 0) notes_.push_back(path + ": no samples");
    if (read.unreadable > 0)
      notes_.push_back(fmt::format("{}: {} lines contain neither a time nor a sample, the first is line {}", path,
                                   read.unreadable, read.first_unreadable));
  }

  base::Status read_files() {
    if (!has_files()) return base::Done{};
    advisor::SampleAggregator fold(inventory_.owners,
                                   {advisor::start_of(past_.rules.from), advisor::start_of(past_.rules.to), startup_});
    advisor::Histories days;
    auto walked = walk_files([&](const advisor::Sample& sample) { fold.add(sample); },
                             [&](const advisor::ContainerKey& key, Day day, const advisor::DayUsage& usage) {
                               advisor::add_reported_day(days, key, day, usage);
                             });
    if (!walked) return walked;
    past_.problems.insert(past_.problems.end(), notes_.begin(), notes_.end());
    advisor::add_histories(past_.histories, std::move(fold).finish());
    advisor::add_histories(past_.histories, std::move(days));
    return base::Done{};
  }

  base::Status read_prometheus() {
    if (options_.prometheus.url.empty()) return base::Done{};
    usage::DailySettings settings;
    settings.startup = startup_;
    settings.ns = options_.cluster.ns;
    auto session = PrometheusSession::open(options_.prometheus, settings, io_, connect_);
    if (!session) return session.error();
    const DayCache cache(options_.cache, settings_text(options_));
    // Only whole days: a partial day would be cached as complete.
    const Day end = std::min(past_.rules.to, advisor::day_of(io_.clock.now()));
    for (Day day = past_.rules.from; day < end; ++day) {
      auto read = cache.read(day, past_.histories) ? base::Status(base::Done{}) : ask_day(**session, day, cache);
      if (read && past_.rules.profile == advisor::Profile::kPercentile) read = ask_samples(**session, day);
      if (!read) return read.error().during("Prometheus, " + advisor::text_of(day));
    }
    past_.queries = (*session)->history().queries();
    return base::Done{};
  }

  base::Status ask_day(PrometheusSession& session, Day day, const DayCache& cache) {
    const base::TimePoint end = advisor::start_of(day + 1);
    const auto shards = session.history().shards(end, usage::DailyHistory::kShardOfValues);
    if (!shards) return shards.error().during("namespaces");
    advisor::DayFold fold(inventory_.owners, session.settings().step);
    for (const std::string& shard : *shards) {
      const auto expressions = usage::container_expressions(session.settings(), shard);
      for (std::size_t i = 0; i < expressions.size(); ++i) {
        auto told =
            session.history().containers(expressions[i], end,
                                         [&](std::string_view ns, std::string_view pod, std::string_view container,
                                             double value) { fold.add(kMetrics[i], ns, pod, container, value); });
        if (!told) return told;
      }
    }
    const auto usage = fold.finish(past_.histories);
    advisor::Histories found;
    for (const auto& [key, one] : usage) found.containers[key].days.emplace(day, one);
    advisor::add_histories(past_.histories, std::move(found));
    return cache.write(day, usage);
  }

  /// Adds the single samples of a day to quantile sketches, for the percentile profile. Samples are not kept.
  base::Status ask_samples(PrometheusSession& session, Day day) {
    const base::TimePoint end = advisor::start_of(day + 1);
    const base::Duration step = session.settings().step;
    const auto shards = session.history().shards(end, usage::DailyHistory::kShardOfSeries);
    if (!shards) return shards.error().during("namespaces");
    const usage::Grid grid{advisor::start_of(day) + step, step,
                           static_cast<std::size_t>(std::chrono::hours(24) / step)};
    const double width = advisor::QuantileSketch::bucket_width();
    for (const std::string& shard : *shards) {
      auto told = session.history().numbers(
          {"cpu", usage::steady_cpu_buckets(session.settings(), shard, width)}, grid,
          [&](std::string_view ns, std::string_view pod, std::string_view container,
              std::span<const std::int32_t> buckets) { buckets_.add(ns, pod, container, buckets); });
      if (!told) return told;
    }
    return base::Done{};
  }

  const RequestsOptions& options_;
  const advisor::Inventory& inventory_;
  plugin::Io& io_;
  const usage::Connect connect_;
  base::Duration startup_{};
  std::vector<std::string> notes_;
  std::map<std::string, std::shared_ptr<const std::string>> piped_;
  Past past_;
  advisor::BucketFold buckets_{inventory_.owners, past_.histories};
};

}  // namespace

base::Result<Past> read_past(const RequestsOptions& options, const advisor::Inventory& inventory, plugin::Io& io,
                             usage::Connect connect) {
  return Reader(options, inventory, io, std::move(connect)).read();
}

}  // namespace cmd::advise
