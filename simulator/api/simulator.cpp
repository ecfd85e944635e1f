#include "api/json/json_access.hpp"
#include "simulator/api/core.hpp"

/// Serves /simulator/…, which Kubernetes does not have: journal (GET: JSON lines, DELETE: clear), faults (GET, PUT,
/// DELETE), compact (POST).

namespace simulator {
namespace {

using api::Json;

kube::Response serve_journal(ApiCore& core, const Call& call) {
  if (call.request.method == "DELETE") {
    core.log.clear();
    return json_response(200, success_status());
  }
  std::string lines;
  for (const JournalEntry& entry : core.log.entries()) lines += api::to_json_text(to_json(entry)) + "\n";
  return {200, std::move(lines), {}, "application/x-ndjson"};
}

kube::Response serve_faults(ApiCore& core, const Call& call) {
  if (call.request.method == "DELETE") core.faults.clear();
  if (call.request.method == "PUT") {
    const Json body = Json::parse(call.request.body, nullptr, false);
    auto rules = Faults::parse(body);
    if (!rules) return to_response(bad_request(rules.error().message));
    const auto seed = api::number_at(body, {"seed"});
    core.faults.set(*std::move(rules), seed ? std::optional(static_cast<std::uint64_t>(*seed)) : std::nullopt);
  }
  return json_response(200, core.faults.to_json());
}

}  // namespace

std::optional<kube::Response> serve_simulator(ApiCore& core, const Call& call) {
  const std::vector<std::string>& path = call.info.segments;
  if (path.size() != 2 || path[0] != "simulator") return std::nullopt;
  if (path[1] == "journal") return serve_journal(core, call);
  if (path[1] == "faults") return serve_faults(core, call);
  if (path[1] != "compact" || call.request.method != "POST") return std::nullopt;
  core.store.compact();
  return json_response(200, success_status());
}

}  // namespace simulator
