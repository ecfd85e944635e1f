#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <malloc.h>
#include <simdjson.h>

#include <functional>

#include "controllers/policy/usage/rounds.hpp"
#include "usage/history.hpp"
#include "usage/parse/koordinator.hpp"
#include "usage/parse/metrics_server.hpp"
#include "usage/parse/prometheus.hpp"

/// Ingest of usage: 5,000 nodes and 150,000 pods. The baseline is bare simdjson parsing of the same bytes.

namespace {

constexpr int kNodes = 5'000;
constexpr int kPods = 150'000;
constexpr int kPage = 1'000;

using Pages = std::vector<std::string>;

/// Returns an item in metrics-server's format: sorted, including labels.
std::string node_item(int i) {
  return fmt::format(
      R"({{"metadata":{{"name":"node-{0:05}","creationTimestamp":"2026-11-21T12:00:07Z","labels":{{"beta.kubernetes.io/arch":"amd64",)"
      R"("beta.kubernetes.io/os":"linux","kubernetes.io/arch":"amd64","kubernetes.io/hostname":"node-{0:05}","kubernetes.io/os":"linux"}}}},)"
      R"("timestamp":"2026-11-21T12:00:00Z","window":"20.066s","usage":{{"cpu":"{1}n","memory":"{2}Ki"}}}})",
      i, 1'000'000'000LL + i * 7919LL, 8'000'000 + i * 13);
}
std::string pod_item(int i) {
  return fmt::format(
      R"({{"metadata":{{"name":"app-{0:05}-7d4b9c8f6d-{1:06}","namespace":"ns-{2:04}","creationTimestamp":"2026-11-21T12:00:07Z",)"
      R"("labels":{{"app.kubernetes.io/name":"app-{0:05}","pod-template-hash":"7d4b9c8f6d"}}}},"timestamp":"2026-11-21T12:00:00Z",)"
      R"("window":"17.154s","containers":[{{"name":"main","usage":{{"cpu":"{3}n","memory":"{4}Ki"}}}}]}})",
      i / 10, i, i / 300, 1'000'000LL + i * 7919LL, 50'000 + i % 9973);
}

/// Returns the complete list in pages of `page` items.
Pages pages_of(int items, int page, std::string (*item)(int)) {
  Pages pages;
  for (int first = 0; first < items; first += page) {
    std::string text = R"({"kind":"MetricsList","apiVersion":"metrics.k8s.io/v1beta1","metadata":{},"items":[)";
    for (int i = first; i < std::min(first + page, items); ++i) text += (i > first ? "," : "") + item(i);
    text += "]}";
    text.reserve(text.size() + simdjson::SIMDJSON_PADDING);
    pages.push_back(std::move(text));
  }
  return pages;
}

struct Cluster {
  Pages nodes;
  Pages pods;
  std::int64_t bytes() const {
    std::int64_t sum = 0;
    for (const Pages* pages : {&nodes, &pods}) {
      for (const std::string& page : *pages) sum += static_cast<std::int64_t>(page.size());
    }
    return sum;
  }
};
/// Returns the lists with kPage items per page, or in one page like metrics-server's.
Cluster& cluster(bool in_pages) {
  static Cluster paged{pages_of(kNodes, kPage, node_item), pages_of(kPods, kPage, pod_item)};
  static Cluster whole{pages_of(kNodes, kNodes, node_item), pages_of(kPods, kPods, pod_item)};
  return in_pages ? paged : whole;
}

void each_page(Cluster& all, const std::function<void(std::string&)>& read) {
  for (std::string& page : all.nodes) read(page);
  for (std::string& page : all.pods) read(page);
}

double heap_bytes() {
  const auto info = mallinfo2();
  return static_cast<double>(info.uordblks + info.hblkhd);
}

/// Baseline: simdjson builds its own document of each page.
void BM_Usage_BareSimdjsonDom(benchmark::State& state) {
  Cluster& all = cluster(state.range(0) != 0);
  simdjson::dom::parser parser;
  for (auto _ : state) {
    each_page(all, [&](std::string& page) {
      const auto failed = parser.parse(page.data(), page.size(), false).error();
      if (failed) state.SkipWithError("not parsed");
    });
  }
  state.SetBytesProcessed(state.iterations() * all.bytes());
}
BENCHMARK(BM_Usage_BareSimdjsonDom)->Arg(1)->Arg(0)->Unit(benchmark::kMillisecond);

/// Baseline: on-demand iteration over all items, without reading them.
void BM_Usage_BareSimdjsonOnDemand(benchmark::State& state) {
  Cluster& all = cluster(state.range(0) != 0);
  simdjson::ondemand::parser parser;
  for (auto _ : state) {
    std::size_t items = 0;
    each_page(all, [&](std::string& page) {
      auto document = parser.iterate(page.data(), page.size(), page.capacity());
      for (auto item : document["items"].get_array()) items += item.error() == simdjson::SUCCESS ? 1 : 0;
    });
    if (items != kNodes + kPods) state.SkipWithError("not parsed");
  }
  state.SetBytesProcessed(state.iterations() * all.bytes());
}
BENCHMARK(BM_Usage_BareSimdjsonOnDemand)->Arg(1)->Arg(0)->Unit(benchmark::kMillisecond);

usage::Samples ingest(Cluster& all) {
  usage::Samples samples;
  samples.columns = {{"cpu", usage::Unit::kAmount}, {"memory", usage::Unit::kAmount}};
  samples.pod_columns = samples.columns;
  usage::Rows nodes(usage::kMetricsWidth);
  for (std::string& page : all.nodes) (void)usage::read_node_metrics(page, nodes);
  usage::sort_and_merge(nodes, "", samples.problems);
  usage::join_nodes(samples, std::move(nodes), 0);
  usage::Rows pods(usage::kMetricsWidth);
  for (std::string& page : all.pods) (void)usage::read_pod_metrics(page, pods);
  usage::sort_and_merge(pods, "", samples.problems);
  usage::join_pods(samples, std::move(pods), 0);
  return samples;
}

void BM_Usage_MetricsServer(benchmark::State& state) {
  Cluster& all = cluster(state.range(0) != 0);
  const double before = heap_bytes();
  const double kept = [&] {
    const usage::Samples samples = ingest(all);
    return heap_bytes() - before;
  }();
  for (auto _ : state) {
    const usage::Samples samples = ingest(all);
    if (samples.nodes.size() != kNodes || samples.pods.size() != kPods) state.SkipWithError("not all was read");
  }
  state.SetBytesProcessed(state.iterations() * all.bytes());
  state.counters["kept_MB"] = kept / 1e6;
}
BENCHMARK(BM_Usage_MetricsServer)->Arg(1)->Arg(0)->Unit(benchmark::kMillisecond);

/// Memory that the operator uses per source: the answers of the default smoothing window, then the figures of one
/// policy, then a second set of figures (a cycle holds the old ones while new ones are built), then forecasts. Heap in
/// MB.
void BM_Usage_Kept(benchmark::State& state) {
  Cluster& all = cluster(true);
  for (auto _ : state) {
    const double before = heap_bytes();
    const auto grown = [&] { return (heap_bytes() - before) / 1e6; };
    base::TimePoint now = *base::parse_time("2026-11-21T12:00:30Z");
    controllers::UsageRounds rounds{api::UsageSource{}};
    usage::History history{api::UsageForecast{}};
    double peak = 0;
    for (std::size_t i = 0; i < controllers::kSamplesForHysteresis; ++i) {
      usage::Samples samples = ingest(all);
      for (usage::Samples::Node& node : samples.nodes) node.time = now;
      peak = std::max(peak, grown());
      rounds.take(samples, now);
      now += base::seconds(30);
    }
    state.counters["answers_MB"] = grown();
    const auto figures = rounds.figures("s", now);
    state.counters["with_figures_MB"] = grown();
    const auto next = rounds.figures("s", now);
    state.counters["with_next_figures_MB"] = grown();
    if (figures.pods.size() != kPods || next.nodes.size() != kNodes) state.SkipWithError("not all is kept");
    {
      usage::Samples samples = ingest(all);
      for (usage::Samples::Node& node : samples.nodes) node.time = now;
      history.add(samples, now);
    }
    state.counters["with_forecasts_MB"] = grown();
    state.counters["peak_of_answers_MB"] = peak;
  }
}
BENCHMARK(BM_Usage_Kept)->Iterations(1)->Unit(benchmark::kMillisecond);

/// Returns an item in koordlet's format: the node and 30 pods on it, unsorted.
std::string node_metric_item(int node) {
  constexpr int kPodsOnNode = kPods / kNodes;
  std::string item = fmt::format(
      R"({{"metadata":{{"name":"node-{:05}","creationTimestamp":"2026-11-21T12:00:07Z"}},"spec":{{"metricCollectPolicy":{{)"
      R"("aggregateDurationSeconds":300,"reportIntervalSeconds":60}}}},"status":{{"updateTime":"2026-11-21T12:00:00Z",)"
      R"("nodeMetric":{{"nodeUsage":{{"resources":{{"cpu":"{}m","memory":"{}Ki"}}}}}},"podsMetric":[)",
      node, 1'000 + node % 997, 8'000'000 + node * 13);
  for (int pod = 0; pod < kPodsOnNode; ++pod) {
    const int i = pod * kNodes + node;
    item += fmt::format(
        R"({}{{"name":"app-{:05}-7d4b9c8f6d-{:06}","namespace":"ns-{:04}","podUsage":{{"resources":{{"cpu":"{}m","memory":"{}Ki"}}}}}})",
        pod > 0 ? "," : "", i / 10, i, i % 500, 1 + i % 499, 50'000 + i % 9973);
  }
  return item + "]}}";
}

Pages& node_metric_pages() {
  constexpr int kNodesPage = 100;
  static Pages pages = pages_of(kNodes, kNodesPage, node_metric_item);
  return pages;
}
std::int64_t bytes_of(const Pages& pages) {
  std::int64_t sum = 0;
  for (const std::string& page : pages) sum += static_cast<std::int64_t>(page.size());
  return sum;
}

void BM_Usage_NodeMetricBare(benchmark::State& state) {
  Pages& pages = node_metric_pages();
  simdjson::dom::parser parser;
  for (auto _ : state) {
    for (const std::string& page : pages) {
      if (parser.parse(page.data(), page.size(), false).error()) state.SkipWithError("not parsed");
    }
  }
  state.SetBytesProcessed(state.iterations() * bytes_of(pages));
}
BENCHMARK(BM_Usage_NodeMetricBare)->Unit(benchmark::kMillisecond);

/// Koordinator's NodeMetrics, in pages.
void BM_Usage_NodeMetric(benchmark::State& state) {
  Pages& pages = node_metric_pages();
  for (auto _ : state) {
    usage::Samples samples;
    samples.columns = {{"cpu", usage::Unit::kAmount}, {"memory", usage::Unit::kAmount}};
    samples.pod_columns = samples.columns;
    usage::Rows nodes(usage::kKoordinatorWidth);
    usage::Rows pods(usage::kKoordinatorWidth);
    for (std::string& page : pages) (void)usage::read_node_metric_list(page, "", nodes, pods);
    usage::sort_and_merge(nodes, "", samples.problems);
    usage::sort_and_merge(pods, "", samples.problems);
    usage::join_nodes(samples, std::move(nodes), 0);
    usage::join_pods(samples, std::move(pods), 0);
    if (samples.nodes.size() != kNodes || samples.pods.size() != kPods) state.SkipWithError("not all was read");
  }
  state.SetBytesProcessed(state.iterations() * bytes_of(pages));
}
BENCHMARK(BM_Usage_NodeMetric)->Unit(benchmark::kMillisecond);

std::string prometheus_answer() {
  std::string text = R"({"status":"success","data":{"resultType":"vector","result":[)";
  for (int i = 0; i < kPods; ++i) {
    text += fmt::format(
        R"({}{{"metric":{{"namespace":"ns-{:04}","pod":"app-{}-7d4b9c8f6d-{:06}"}},"value":[1763726400.123,"0.{:012}"]}})",
        i > 0 ? "," : "", i * 7 % 500, i / 10, i, i * 7919LL);
  }
  text += "]}}";
  text.reserve(text.size() + simdjson::SIMDJSON_PADDING);
  return text;
}

void BM_Usage_PrometheusVectorBare(benchmark::State& state) {
  const std::string text = prometheus_answer();
  simdjson::dom::parser parser;
  for (auto _ : state) {
    if (parser.parse(text.data(), text.size(), false).error()) state.SkipWithError("not parsed");
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
}
BENCHMARK(BM_Usage_PrometheusVectorBare)->Unit(benchmark::kMillisecond);

/// One column of all pods, unsorted.
void BM_Usage_PrometheusVector(benchmark::State& state) {
  std::string text = prometheus_answer();
  api::UsageQuery query;
  query.of = api::UsageOf::kPod;
  for (auto _ : state) {
    usage::Samples samples;
    samples.pod_columns = {{"cpu", usage::Unit::kAmount}};
    usage::Rows rows(1);
    if (!usage::read_vector(text, query, rows)) state.SkipWithError("not read");
    usage::sort_and_merge(rows, "", samples.problems);
    usage::join_pods(samples, std::move(rows), 0);
    if (samples.pods.size() != kPods) state.SkipWithError("not all was read");
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
}
BENCHMARK(BM_Usage_PrometheusVector)->Unit(benchmark::kMillisecond);

}  // namespace
