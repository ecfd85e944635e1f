#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <simdjson.h>

#include <cmath>

#include "advisor/history.hpp"
#include "usage/parse/prometheus.hpp"

/// A day of 5,000 containers with single samples every five minutes: from Prometheus' answer to sketches, as buckets
/// (Buckets) and as individual values (Values). The baseline is bare simdjson parsing of the buckets (Bare).
/// items_per_second counts samples.

namespace {

constexpr int kSeries = 5'000;
constexpr int kPoints = 288;
constexpr std::int64_t kDayStart = 1'795'262'400;
constexpr const char* kLabel = "evacuator_series";

/// Returns a name with a suffix like those of controllers. Pods with other suffixes belong to no workload.
std::string pod_of(int series) {
  constexpr std::string_view kLetters = "bcdfghjklmnpqrstvwxz2456789";
  std::string suffix;
  for (int rest = series; suffix.size() < 5; rest /= static_cast<int>(kLetters.size()))
    suffix += kLetters[static_cast<std::size_t>(rest) % kLetters.size()];
  return fmt::format("app-{:05}-7d4b9c6f5-{}", series / 8, suffix);
}

/// Returns a daily cycle with noise.
double cores_of(int series, int point) {
  const double wave = 0.2 + 0.15 * std::sin(point * 6.2831853 / kPoints);
  return wave * (1 + (series * 7919 + point * 104'729) % 1000 / 2000.0);
}

template <typename Value>
std::string answer_of(const Value& value) {
  std::string text = R"({"status":"success","data":{"resultType":"matrix","result":[)";
  for (int s = 0; s < kSeries; ++s) {
    text +=
        fmt::format(R"({}{{"metric":{{"container":"app","{}":"shop/{}/app","namespace":"shop","pod":"{}"}},"values":[)",
                    s > 0 ? "," : "", kLabel, pod_of(s), pod_of(s));
    for (int p = 0; p < kPoints; ++p)
      text += fmt::format(R"({}[{},"{}"])", p > 0 ? "," : "", kDayStart + 300 * (p + 1), value(cores_of(s, p)));
    text += "]}";
  }
  return text + "]}}";
}
const std::string& buckets() {
  static const std::string text = answer_of([](double cores) { return advisor::QuantileSketch::index_of(cores); });
  return text;
}
const std::string& values() {
  static const std::string text = answer_of([](double cores) { return cores; });
  return text;
}

api::UsageQuery by_series() {
  api::UsageQuery query;
  query.node_label = kLabel;
  return query;
}
advisor::Owners owners() {
  advisor::Owners all;
  for (int s = 0; s < kSeries; s += 8) all.add_workload({"shop", "Deployment", fmt::format("app-{:05}", s / 8)}, 8);
  return all;
}

/// Excludes the copy from the time, since an answer is read in place.
template <typename Read>
void run(benchmark::State& state, const std::string& answer, const Read& read) {
  for (auto _ : state) {
    state.PauseTiming();
    std::string text = answer;
    text.reserve(text.size() + simdjson::SIMDJSON_PADDING);
    state.ResumeTiming();
    read(text);
  }
  state.SetItemsProcessed(state.iterations() * kSeries * kPoints);
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(answer.size()));
}

void BM_Advise_Bare(benchmark::State& state) {
  simdjson::dom::parser parser;
  run(state, buckets(), [&](const std::string& text) {
    simdjson::dom::element root;
    if (parser.parse(text).get(root)) state.SkipWithError("no JSON");
    benchmark::DoNotOptimize(root);
  });
}
BENCHMARK(BM_Advise_Bare)->Unit(benchmark::kMillisecond);

void BM_Advise_Buckets(benchmark::State& state) {
  const advisor::Owners all = owners();
  advisor::Histories histories;
  advisor::BucketFold fold(all, histories);
  run(state, buckets(), [&](std::string& text) {
    const auto read = usage::read_numbers(text, by_series());
    if (!read || read->series.size() != kSeries) return state.SkipWithError("not read");
    for (const auto& one : read->series) {
      const std::string_view name = std::string_view(one.name).substr(5);
      fold.add("shop", name.substr(0, name.size() - 4), "app",
               std::span(read->numbers).subspan(one.begin, one.end - one.begin));
    }
  });
  if (histories.containers.size() != kSeries / 8) state.SkipWithError("not all are somebody's");
}
BENCHMARK(BM_Advise_Buckets)->Unit(benchmark::kMillisecond);

void BM_Advise_Values(benchmark::State& state) {
  const advisor::Owners all = owners();
  const usage::Grid grid{base::TimePoint(base::seconds(kDayStart + 300)), base::minutes(5), kPoints};
  run(state, values(), [&](std::string& text) {
    usage::GridSeries series;
    if (!usage::read_matrix(text, by_series(), grid, series)) return state.SkipWithError("not read");
    advisor::SampleAggregator fold(all, {grid.start, grid.start + std::chrono::hours(24), {}});
    for (const auto& [joined, points] : series) {
      const std::string_view name = std::string_view(joined).substr(5);
      for (std::size_t i = 0; i < points.size(); ++i)
        fold.add({grid.start + static_cast<std::int64_t>(i) * grid.step, "shop", name.substr(0, name.size() - 4), "app",
                  points[i], advisor::kUnknown});
    }
    benchmark::DoNotOptimize(std::move(fold).finish());
  });
}
BENCHMARK(BM_Advise_Values)->Unit(benchmark::kMillisecond);

}  // namespace
