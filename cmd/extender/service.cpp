#include "cmd/extender/service.hpp"

#include <algorithm>
#include <chrono>

#include "http_server/address.hpp"

namespace cmd {
namespace {

using base::kv;
using extender::ExtenderArgs;

const std::vector<double> kSeconds{0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1};
constexpr std::size_t kMinAllBodies = std::size_t{32} << 20;

http_server::Response json(std::string body) {
  return {.status = 200, .content_type = "application/json", .body = std::move(body)};
}

}  // namespace

ExtenderService::ExtenderService(const extender::ExtenderConfig& config, extender::LoadPoller& keeper, HintFor hint_for,
                                 const base::Clock& clock, base::Metrics& metrics, base::Log log)
    : config_(config),
      poller_(keeper),
      hint_for_(std::move(hint_for)),
      clock_(clock),
      metrics_(metrics),
      log_(std::move(log)) {}

http_server::Response ExtenderService::answer(const http_server::Request& request) {
  if (request.path != "/filter" && request.path != "/prioritize")
    return {.status = 404, .body = "the only paths are /filter and /prioritize\n"};
  if (request.method != "POST") return {.status = 405, .body = "the only method is POST\n"};
  return decide(request.path.substr(1), request);
}

http_server::Response ExtenderService::decide(const std::string& verb, const http_server::Request& request) {
  const auto start = std::chrono::steady_clock::now();
  const auto args = extender::parse_args(request.body);
  if (!args) {
    log_.debug("a request could not be read", {kv("verb", verb), kv("error", args.error())});
    count(verb, "invalid");
    return {.status = 400, .body = "not valid ExtenderArgs: " + args.error().message + "\n"};
  }
  auto response = verb == "filter" ? filter(*args) : prioritize(*args);
  count(verb, "answered");
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  metrics_
      .histogram("evacuator_extender_answer_seconds", "Time from a complete request of the scheduler to the response.",
                 kSeconds, {{"verb", verb}})
      .observe(took.count());
  return response;
}

http_server::Response ExtenderService::filter(const ExtenderArgs& args) {
  const auto board = poller_.board();
  const auto hinted = hint(args.pod);
  const auto loads = poller_.loads(args.nodes, args.pod, false, clock_.now());
  const auto decision = extender::filter(config_, args, board.get(), loads, hinted);
  if (decision.all_critical) {
    metrics_
        .counter("evacuator_extender_all_critical_total",
                 "Number of pods for which every candidate node had a critical load, so that no node was filtered out.")
        .increment();
  } else if (decision.critical > 0) {
    metrics_
        .counter("evacuator_extender_filtered_nodes_total",
                 "Number of candidate nodes that were filtered out because of critical load.")
        .increment(static_cast<double>(decision.critical));
  }
  return json(extender::filter_answer(args, decision.reasons, decision.is_final));
}

http_server::Response ExtenderService::prioritize(const ExtenderArgs& args) {
  const auto board = poller_.board();
  const base::TimePoint now = clock_.now();
  const auto loads = poller_.loads(args.nodes, args.pod, true, now);
  const auto decision = extender::prioritize(config_, args, board.get(), loads, hint(args.pod));
  if (decision.unknown > 0) {
    metrics_
        .counter("evacuator_extender_neutral_nodes_total",
                 "Number of candidate nodes without usable usage data, which got a neutral score.")
        .increment(static_cast<double>(decision.unknown));
  }
  if (const auto likely = predicted_node(decision, poller_.siblings(args.nodes, args.pod)))
    poller_.expect(args.pod, args.nodes[*likely], now);
  return json(extender::priorities_answer(args.nodes, decision.scores));
}

/// Returns no hint in spared namespaces, like the placement webhook.
std::optional<extender::PodHint> ExtenderService::hint(const api::Pod& pod) const {
  if (!hint_for_ || std::ranges::find(config_.exempt_namespaces, pod.meta.ns) != config_.exempt_namespaces.end())
    return std::nullopt;
  return hint_for_(pod);
}

void ExtenderService::count(const std::string& verb, const char* result) {
  metrics_
      .counter("evacuator_extender_requests_total", "Number of requests of the scheduler, by verb and result.",
               {{"verb", verb}, {"result", result}})
      .increment();
}

http_server::ServerOptions extender_server_options(const extender::ExtenderConfig& config) {
  http_server::ServerOptions options = http_server::server_options(config.address);
  options.io_threads = 2;  // a large body must not block other requests
  options.handler_threads = 4;
  options.max_connections = 128;
  options.max_body_bytes = static_cast<std::size_t>(config.max_body_bytes);
  options.max_all_body_bytes = std::max(kMinAllBodies, 4 * options.max_body_bytes);
  options.header_timeout = base::milliseconds(2'000);
  options.body_timeout = base::milliseconds(5'000);
  options.response_timeout = base::milliseconds(5'000);
  return options;
}

}  // namespace cmd
