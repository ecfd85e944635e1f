/// Converts metricsProviders and metricsCollector to spec.usageSources.

#include <fmt/format.h>

#include <algorithm>

#include "cmd/convert/parts.hpp"

namespace convert {
namespace {

constexpr const char* kKubernetesMetrics = "KubernetesMetrics";
constexpr const char* kPrometheus = "Prometheus";

/// Returns true if a source of that type was added. Upstream supports one provider per type.
bool has_source(const Draft& common, const char* type) {
  const Json sources = common.spec.value("usageSources", Json::array());
  return std::ranges::any_of(sources, [&](const Json& source) { return source.at("type") == type; });
}

void add_source(Draft& common, Json source, const FieldPath& at) {
  Json& sources = common.spec["usageSources"];
  common.origins.push_back({fmt::format("spec.usageSources[{}]", sources.size()), at.text()});
  sources.push_back(std::move(source));
}

void add_metrics_server(Draft& common, const FieldPath& at, ConversionContext& bench) {
  if (has_source(common, "MetricsServer"))
    return bench.error(at, "metrics-server is already listed above; upstream rejects that when it starts");
  add_source(common, {{"name", "metrics-server"}, {"type", "MetricsServer"}}, at);
}

void read_collector(StrictObject& policy, Draft& common, ConversionContext& bench) {
  policy.with("metricsCollector", [&](StrictObject& collector) {
    bool enabled = false;
    collector.read("enabled", enabled);
    finish_with_notes(collector, bench);
    if (enabled) add_metrics_server(common, collector.path(), bench);
  });
}

/// Converts a reference to a token Secret. Upstream's key in the Secret is fixed.
Json token_of(StrictObject& reference, ConversionContext& bench) {
  std::string ns;
  std::string name;
  reference.read("namespace", ns);
  reference.read("name", name);
  finish_with_notes(reference, bench);
  bench.note(NoteKind::kChanged, reference.path(),
             fmt::format("the Secret {}/{} must be in the operator's namespace, with the label "
                         "evacuator.dev/usage-credentials=true and the key \"for\" that lists the server",
                         ns, name),
             "if it is in another namespace, copy it; add the label and the key, and apply config/optional to grant "
             "permission to read it");
  return {{"name", name}, {"key", "prometheusAuthToken"}};
}

void read_endpoint(StrictObject& prometheus, Json& block, ConversionContext& bench) {
  std::string url;
  prometheus.read("url", url);
  block["url"] = url;
  bool has_token = false;
  prometheus.with("authToken", [&](StrictObject& auth) {
    auth.with("secretReference", [&](StrictObject& reference) {
      has_token = true;
      block["bearerToken"] = token_of(reference, bench);
    });
    finish_with_notes(auth, bench);
  });
  if (!has_token) {
    bench.note(
        NoteKind::kChanged, prometheus.path(),
        "upstream authenticates to Prometheus with the token of its own ServiceAccount; Evacuator sends no token",
        "if the server requires a token, name a Secret in usageSources[].prometheus.bearerToken");
  }
  finish_with_notes(prometheus, bench);
}

void read_provider(const Json& item, const FieldPath& path, Draft& common, ConversionContext& bench) {
  StrictObject provider(item, path, bench.errors());
  std::string source;
  provider.read("source", source);
  Json block = Json::object();
  provider.with("prometheus", [&](StrictObject& prometheus) { read_endpoint(prometheus, block, bench); });
  finish_with_notes(provider, bench);
  if (source == kKubernetesMetrics) return add_metrics_server(common, path, bench);
  if (source != kPrometheus)
    return bench.note(NoteKind::kDropped, path, fmt::format("upstream has no source \"{}\"", source.substr(0, 80)));
  if (has_source(common, kPrometheus))
    return bench.error(path, "Prometheus is already listed above; upstream rejects that when it starts");
  add_source(common, {{"name", "prometheus"}, {"type", kPrometheus}, {"prometheus", block}}, path);
}

/// Returns the type of the source that the strategy's metricsUtilization queries, an empty string if it uses none.
std::string type_asked_by(const Json& strategy) {
  const Json args = strategy.value("args", Json::object());
  if (!args.contains("metricsUtilization")) return "";
  return args["metricsUtilization"].value("source", "") == kPrometheus ? kPrometheus : "MetricsServer";
}

}  // namespace

void read_usage_sources(StrictObject& policy, Draft& common, ConversionContext& bench) {
  read_collector(policy, common, bench);
  policy.for_each("metricsProviders",
                  [&](const Json& item, const FieldPath& path) { read_provider(item, path, common, bench); });
}

void prune_usage_sources(Draft& draft, ConversionContext& bench) {
  bool is_used = false;
  for (const Json& strategy : draft.spec["strategies"]) {
    is_used = is_used || strategy.value("args", Json::object()).contains("usage");
    const std::string type = type_asked_by(strategy);
    if (type.empty()) continue;
    is_used = true;
    if (!has_source(draft, type.c_str())) {
      bench.note(
          NoteKind::kChanged, FieldPath(draft.source),
          fmt::format("{} uses a source that no metricsProviders entry configures: it fails, as it does upstream",
                      strategy.at("name").get<std::string>()),
          fmt::format("add a source of type {} to spec.usageSources", type));
    }
  }
  if (!is_used) draft.spec.erase("usageSources");
}

}  // namespace convert
