#pragma once

/// The subcommands of `advise` as functions of their options. Each returns the process's exit code: 0 done, 1 failed
/// (the reason is on standard error). None of them changes anything in a cluster.

#include <string>
#include <vector>

#include "cmd/session/io.hpp"

namespace cmd::advise {

/// Where the objects come from: a dump, or the live cluster, which is only read.
struct ClusterOptions {
  std::string snapshot;  ///< file or directory of kubectl -o json|yaml dumps; empty: the live cluster
  std::string kubeconfig;
  std::string context;
  std::string ns;  ///< only this namespace; empty: all
};

/// A Prometheus and what it is shown.
struct PrometheusOptions {
  std::string url;  ///< empty: none
  std::string token_file;
  std::string ca_file;
  std::vector<std::string> headers;  ///< "X-Scope-OrgID: shop"
  std::string matchers;              ///< for every selector: cluster="eu-1"
  std::string step = "5m";           ///< between the samples of a day
  std::string timeout = "60s";       ///< of one query
};

struct RequestsOptions {
  ClusterOptions cluster;
  PrometheusOptions prometheus;
  std::vector<std::string> top_logs;  ///< logs of `kubectl top pods --containers`
  std::vector<std::string> csv_files;
  bool resource_advices = false;  ///< also what ResourceAdvices keep
  std::string cache;              ///< folder where days that Prometheus told are kept; empty: nowhere
  std::string profile = "Standard";
  double percentile = 95;
  int days = 14;
  std::string until;           ///< RFC 3339; empty: now
  std::string startup = "5m";  ///< samples of a container's first time count as start-up
  double price_core = 0;       ///< a month; 0: no money is told
  double price_gib = 0;
  std::string currency;
  std::string patches;  ///< folder for patch files; empty: none
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
  std::string usage{};           ///< file of measured usage; empty: none
  std::string now{};             ///< RFC 3339; empty: the newest time in the dump
  int plans = 40;                ///< changes that are tried out at most
  std::string output = "table";  ///< table, json, yaml
};
int run_placement(const PlacementOptions& options, plugin::Io& io);

}  // namespace cmd::advise
