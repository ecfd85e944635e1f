#include "cmd/advise/cli.hpp"

#include <CLI/CLI.hpp>

namespace cmd::advise {
namespace {

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
  app.add_option("--snapshot", options.snapshot, "Dump: a file or a directory of files (default: the live cluster)")
      ->type_name("FILE|DIR");
  app.add_option("--kubeconfig", options.kubeconfig,
                 "Kubeconfig file (default: $KUBECONFIG, ~/.kube/config, the pod's service account)")
      ->type_name("FILE");
  app.add_option("--context", options.context, "Kubeconfig context")->type_name("NAME");
}

void add_prometheus(CLI::App& app, PrometheusOptions& options) {
  app.add_option("--prometheus", options.url, "URL of Prometheus, Thanos, Mimir or VictoriaMetrics")->type_name("URL");
  app.add_option("--prometheus-token-file", options.token_file, "File with the bearer token for Prometheus")
      ->type_name("FILE");
  app.add_option("--prometheus-ca-file", options.ca_file,
                 "File with the CA certificates to trust (default: the system's)")
      ->type_name("FILE");
  app.add_option("--prometheus-header", options.headers, "HTTP header to send, such as 'X-Scope-OrgID: shop'")
      ->type_name("'NAME: VALUE'")
      ->allow_extra_args(false);
  app.add_option("--prometheus-matchers", options.matchers, "Label matchers to add to every series: cluster=\"eu-1\"")
      ->type_name("MATCHERS");
  app.add_option("--prometheus-timeout", options.timeout, "Timeout of one query, 1s to 5m")
      ->capture_default_str()
      ->type_name("DURATION");
  app.add_option("--step", options.step, "Interval between samples, 1m to 15m")
      ->capture_default_str()
      ->type_name("DURATION");
}

void add_time(CLI::App& app, int& days, std::string& until) {
  app.add_option("--days", days, "Number of days of history")
      ->check(CLI::Range(1, 60))
      ->capture_default_str()
      ->type_name("N");
  app.add_option("--until", until, "End of the history (RFC 3339; default: now)")->type_name("TIME");
}

void add_output(CLI::App& app, std::string& output, std::vector<std::string> formats, const char* help) {
  app.add_option("-o,--output", output, help)
      ->check(CLI::IsMember(std::move(formats)))
      ->capture_default_str()
      ->type_name("FORMAT");
}

CLI::App* add_requests(CLI::App& advise, RequestsOptions& options) {
  CLI::App* app = advise.add_subcommand("requests", "Recommend requests and limits based on measured usage");
  add_cluster(*app, options.cluster);
  app->add_option("-n,--namespace", options.cluster.ns, "Only this namespace (default: all)")->type_name("NAME");
  add_prometheus(*app, options.prometheus);
  app->add_option("--top", options.top_logs, "Log of `kubectl top pods -A --containers` with times; may be repeated")
      ->type_name("FILE")
      ->allow_extra_args(false);
  app->add_option("--csv", options.csv_files, "CSV file with samples or days; may be repeated")
      ->type_name("FILE")
      ->allow_extra_args(false);
  app->add_flag("--resource-advices", options.resource_advices,
                "Use the history in the operator's ResourceAdvices, in the cluster or the dump");
  app->add_option("--cache", options.cache, "File that caches the days from Prometheus and is extended by each run")
      ->type_name("DIR");
  app->add_option("--profile", options.profile, "Core, Standard or Percentile")
      ->check(CLI::IsMember({"Core", "Standard", "Percentile"}))
      ->capture_default_str()
      ->type_name("NAME");
  app->add_option("--percentile", options.percentile, "Percentile for profile Percentile")
      ->check(CLI::Range(50.0, 99.9))
      ->capture_default_str()
      ->type_name("N");
  add_time(*app, options.days, options.until);
  app->add_option("--startup", options.startup, "Duration after a container's start that counts as startup; 0: none")
      ->capture_default_str()
      ->type_name("DURATION");
  app->add_option("--price-core", options.price_core, "Price of one core per month: shows waste as an amount of money")
      ->check(CLI::NonNegativeNumber)
      ->type_name("AMOUNT");
  app->add_option("--price-gib", options.price_gib, "Price of one GiB of memory per month")
      ->check(CLI::NonNegativeNumber)
      ->type_name("AMOUNT");
  app->add_option("--currency", options.currency, "Currency of the prices")->type_name("NAME");
  app->add_option("--patches", options.patches,
                  "Directory to write one patch per workload and a kustomize component to")
      ->type_name("DIR");
  app->add_flag("--include-conflicts", options.include_conflicts,
                "Also write patches that conflict with an autoscaler or with a heap flag of a JVM");
  add_output(*app, options.output, {"table", "json", "yaml"}, "table, json or yaml");
  app->footer(kRequestsExamples);
  return app;
}

CLI::App* add_nodes(CLI::App& advise, NodesOptions& options) {
  CLI::App* app =
      advise.add_subcommand("nodes", "Recommend kubelet reservations, and list overcommitted nodes and hot spots");
  add_cluster(*app, options.cluster);
  add_prometheus(*app, options.prometheus);
  add_time(*app, options.days, options.until);
  add_output(*app, options.output, {"table", "json", "yaml", "kubelet"},
             "table, json, yaml, or kubelet (KubeletConfiguration)");
  app->footer(kNodesExamples);
  return app;
}

CLI::App* add_placement(CLI::App& advise, PlacementOptions& options) {
  CLI::App* app = advise.add_subcommand(
      "placement", "List what keeps the cluster fragmented or at risk, and the benefit of changing it");
  add_cluster(*app, options.cluster);
  app->add_option("--usage", options.usage, "Measured usage (CSV or JSON): reports requests that are far above it")
      ->type_name("FILE");
  app->add_option("--now", options.now, "Time to use as now (RFC 3339; default: the newest time in the dump)")
      ->type_name("TIME");
  app->add_option("--plans", options.plans, "Maximum number of changes to evaluate; each takes one plan of up to 10 s")
      ->check(CLI::Range(0, 1000))
      ->capture_default_str()
      ->type_name("N");
  add_output(*app, options.output, {"table", "json", "yaml"}, "table, json or yaml");
  app->footer(kPlacementExamples);
  return app;
}

}  // namespace

void add_advise(CLI::App& app, Arguments& arguments, const std::function<void(const Command&)>& run) {
  CLI::App* advise = app.add_subcommand("advise", "Recommendations from history and plans; read-only");
  advise->require_subcommand(1);
  add_requests(*advise, arguments.requests)->callback([&arguments, run] {
    run([&arguments](plugin::Io& io) { return run_requests(arguments.requests, io); });
  });
  add_nodes(*advise, arguments.nodes)->callback([&arguments, run] {
    run([&arguments](plugin::Io& io) { return run_nodes(arguments.nodes, io); });
  });
  add_placement(*advise, arguments.placement)->callback([&arguments, run] {
    run([&arguments](plugin::Io& io) { return run_placement(arguments.placement, io); });
  });
}

}  // namespace cmd::advise
