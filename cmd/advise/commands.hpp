#pragma once

/// The subcommands of `advise` as functions of their options. Each returns the exit code of the process: 0 on success,
/// 1 on failure (the reason is on standard error). None of them changes anything in a cluster.

#include <string>
#include <vector>

#include "cmd/session/io.hpp"

namespace cmd::advise {

/// Source of the objects: a dump, or the live cluster (read only).
struct ClusterOptions {
  std::string snapshot;  ///< file or directory of kubectl -o json|yaml dumps; if empty, the live cluster is read
  std::string kubeconfig;
  std::string context;
  std::string ns;  ///< namespace to read, all if empty
};

/// Connection and query settings of a Prometheus server.
struct PrometheusOptions {
  std::string url;  ///< empty if Prometheus is not used
  std::string token_file;
  std::string ca_file;
  std::vector<std::string> headers;  ///< additional request headers, such as "X-Scope-OrgID: shop"
  std::string matchers;              ///< label matchers added to every selector, such as cluster="eu-1"
  std::string step = "5m";           ///< interval between the samples of a day
  std::string timeout = "60s";       ///< timeout of one query
};

struct RequestsOptions {
  ClusterOptions cluster;
  PrometheusOptions prometheus;
  std::vector<std::string> top_logs;  ///< paths of logs of `kubectl top pods --containers`
  std::vector<std::string> csv_files;
  bool resource_advices = false;  ///< additionally read the history in ResourceAdvice objects
  std::string cache;              ///< directory that caches the days read from Prometheus, no cache if empty
  std::string profile = "Standard";
  double percentile = 95;
  int days = 14;
  std::string until;           ///< RFC 3339 end of the history, now if empty
  std::string startup = "5m";  ///< samples within this time after a container's start count as start-up
  double price_core = 0;       ///< price of one core per month; 0 leaves costs out of the report
  double price_gib = 0;
  std::string currency;
  std::string patches;  ///< directory for patch files; if empty, none are written
  bool include_conflicts = false;
  std::string output = "table";  ///< table, json, yaml
};
int run_requests(const RequestsOptions& options, plugin::Io& io);

struct NodesOptions {
  ClusterOptions cluster;
  PrometheusOptions prometheus;
  int days = 14;
  std::string until;
  std::string output = "table";  ///< table, json, yaml, kubelet (KubeletConfiguration snippets)
};
int run_nodes(const NodesOptions& options, plugin::Io& io);

struct PlacementOptions {
  ClusterOptions cluster;
  std::string usage{};           ///< file of measured usage, none if empty
  std::string now{};             ///< RFC 3339; if empty, the newest time in the dump
  int plans = 40;                ///< maximum number of changes that are tried out
  std::string output = "table";  ///< table, json, yaml
};
int run_placement(const PlacementOptions& options, plugin::Io& io);

}  // namespace cmd::advise
