#include "cmd/advise/commands.hpp"
#include "cmd/cli/commands.hpp"
#include "cmd/cli/parser.hpp"

namespace cmd {
namespace {

using advise::ClusterOptions;
using advise::NodesOptions;
using advise::PlacementOptions;
using advise::PrometheusOptions;
using advise::RequestsOptions;

constexpr const char* kRequestsExamples = R"(
Examples:
  evacuator advise requests --prometheus http://prometheus:9090
  evacuator advise requests --resource-advices      # history that the operator has recorded
  evacuator advise requests --snapshot dump.json --top top.log --patches patches/
  evacuator advise requests --snapshot dump.json --csv days.csv --profile Core -o json
)";
constexpr const char* kNodesExamples = R"(
Examples:
  evacuator advise nodes --prometheus http://prometheus:9090
  evacuator advise nodes --prometheus http://prometheus:9090 -o kubelet
)";
constexpr const char* kPlacementExamples = R"(
Examples:
  evacuator advise placement                        # reads the live cluster
  evacuator advise placement --snapshot dump.json --usage usage.csv
  evacuator advise placement --snapshot dump.json -o json
)";

void add_cluster(CLI::App& app, ClusterOptions& options) {
  option(app, "--snapshot", options.snapshot, "FILE|DIR",
         "Dump: a file or a directory of files (default: the live cluster)");
  add_cluster_flags(app, options.kubeconfig, options.context);
}

void add_prometheus(CLI::App& app, PrometheusOptions& options) {
  option(app, "--prometheus", options.url, "URL", "URL of Prometheus, Thanos, Mimir or VictoriaMetrics");
  option(app, "--prometheus-token-file", options.token_file, "FILE", "File with the bearer token for Prometheus");
  option(app, "--prometheus-ca-file", options.ca_file, "FILE",
         "File with the CA certificates to trust (default: the system's)");
  repeated(app, "--prometheus-header", options.headers, "'NAME: VALUE'",
           "HTTP header to send, such as 'X-Scope-OrgID: shop'");
  option(app, "--prometheus-matchers", options.matchers, "MATCHERS",
         "Label matchers to add to every series: cluster=\"eu-1\"");
  defaulted(app, "--prometheus-timeout", options.timeout, "DURATION", "Timeout of one query, 1s to 5m");
  defaulted(app, "--step", options.step, "DURATION", "Interval between samples, 1m to 15m");
}

void add_time(CLI::App& app, int& days, std::string& until) {
  defaulted(app, "--days", days, "N", "Number of days of history")->check(CLI::Range(1, 60));
  option(app, "--until", until, "TIME", "End of the history (RFC 3339; default: now)");
}

void add_requests_flags(CLI::App& app, RequestsOptions& options) {
  add_cluster(app, options.cluster);
  option(app, "-n,--namespace", options.cluster.ns, "NAME", "Only this namespace (default: all)");
  add_prometheus(app, options.prometheus);
  repeated(app, "--top", options.top_logs, "FILE",
           "Log of `kubectl top pods -A --containers` with times; may be repeated");
  repeated(app, "--csv", options.csv_files, "FILE", "CSV file with samples or days; may be repeated");
  app.add_flag("--resource-advices", options.resource_advices,
               "Use the history in the operator's ResourceAdvices, in the cluster or the dump");
  option(app, "--cache", options.cache, "DIR", "File that caches the days from Prometheus and is extended by each run");
  one_of(app, "--profile", options.profile, {"Core", "Standard", "Percentile"}, "NAME", "Core, Standard or Percentile");
  defaulted(app, "--percentile", options.percentile, "N", "Percentile for profile Percentile")
      ->check(CLI::Range(50.0, 99.9));
  add_time(app, options.days, options.until);
  defaulted(app, "--startup", options.startup, "DURATION",
            "Duration after a container's start that counts as startup; 0: none");
  option(app, "--price-core", options.price_core, "AMOUNT",
         "Price of one core per month: shows waste as an amount of money")
      ->check(CLI::NonNegativeNumber);
  option(app, "--price-gib", options.price_gib, "AMOUNT", "Price of one GiB of memory per month")
      ->check(CLI::NonNegativeNumber);
  option(app, "--currency", options.currency, "NAME", "Currency of the prices");
  option(app, "--patches", options.patches, "DIR",
         "Directory to write one patch per workload and a kustomize component to");
  app.add_flag("--include-conflicts", options.include_conflicts,
               "Also write patches that conflict with an autoscaler or with a heap flag of a JVM");
  output_format(app, options.output, {"table", "json", "yaml"}, "table, json or yaml");
}

void add_nodes_flags(CLI::App& app, NodesOptions& options) {
  add_cluster(app, options.cluster);
  add_prometheus(app, options.prometheus);
  add_time(app, options.days, options.until);
  output_format(app, options.output, {"table", "json", "yaml", "kubelet"},
                "table, json, yaml, or kubelet (KubeletConfiguration)");
}

void add_placement_flags(CLI::App& app, PlacementOptions& options) {
  add_cluster(app, options.cluster);
  option(app, "--usage", options.usage, "FILE", "Measured usage (CSV or JSON): reports requests that are far above it");
  option(app, "--now", options.now, "TIME", "Time to use as now (RFC 3339; default: the newest time in the dump)");
  defaulted(app, "--plans", options.plans, "N",
            "Maximum number of changes to evaluate; each takes one plan of up to 10 s")
      ->check(CLI::Range(0, 1000));
  output_format(app, options.output, {"table", "json", "yaml"}, "table, json or yaml");
}

}  // namespace

void add_advise(CLI::App& app, int& exit_code, std::function<int(const std::function<int(plugin::Io&)>&)> with_io) {
  CLI::App* group = app.add_subcommand("advise", "Recommendations from history and plans; read-only");
  group->require_subcommand(1);
  const auto run = [with_io = std::move(with_io)](auto command) {
    return [with_io, command](const auto& options) {
      return with_io([&](plugin::Io& io) { return command(options, io); });
    };
  };
  add_command(*group, exit_code, "requests", "Recommend requests and limits based on measured usage", kRequestsExamples,
              add_requests_flags, run(advise::run_requests));
  add_command(*group, exit_code, "nodes", "Recommend kubelet reservations, and list overcommitted nodes and hot spots",
              kNodesExamples, add_nodes_flags, run(advise::run_nodes));
  add_command(*group, exit_code, "placement",
              "List what keeps the cluster fragmented or at risk, and the benefit of changing it", kPlacementExamples,
              add_placement_flags, run(advise::run_placement));
}

}  // namespace cmd
