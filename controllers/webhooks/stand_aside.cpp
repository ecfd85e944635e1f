#include "controllers/webhooks/stand_aside.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "api/json/json_access.hpp"
#include "controllers/webhooks/ca_bundle.hpp"

namespace controllers::webhooks {
namespace {

using api::Json;
using base::kv;

/// Requiring the label to both exist and not exist matches no object.
constexpr const char* kMark = "evacuator.dev/another-installation-serves";
constexpr const char* kContradiction[] = {"Exists", "DoesNotExist"};

bool is_mark(const Json& requirement) { return api::text_at(requirement, {"key"}) == kMark; }

/// Returns the objectSelector with or without the contradiction.
Json selector_of(const Json& webhook, bool aside) {
  const Json* found = api::find_at(webhook, {"objectSelector"});
  Json selector = found != nullptr && found->is_object() ? *found : Json::object();
  Json requirements = Json::array();
  for (const Json& each : api::items_at(selector, {"matchExpressions"})) {
    if (!is_mark(each)) requirements.push_back(each);
  }
  if (aside) {
    for (const char* each : kContradiction) requirements.push_back({{"key", kMark}, {"operator", each}});
  }
  selector.erase("matchExpressions");
  if (!requirements.empty()) selector["matchExpressions"] = std::move(requirements);
  return selector;
}

bool is_called_by(const Json& webhook, const std::vector<std::string>& names) {
  const auto called = called_names({{"webhooks", Json::array({webhook})}});
  return std::ranges::any_of(called, [&](const std::string& each) { return std::ranges::count(names, each) > 0; });
}

}  // namespace

std::optional<Json> aside_patch(const Json& configuration, const std::vector<std::string>& names, bool aside) {
  return webhooks_patch(configuration, "objectSelector", [&](const Json& webhook) -> std::optional<Json> {
    const bool is_aside = std::ranges::any_of(api::items_at(webhook, {"objectSelector", "matchExpressions"}), is_mark);
    if (is_aside == aside || !is_called_by(webhook, names)) return std::nullopt;
    return selector_of(webhook, aside);
  });
}

StandAside::StandAside(kube::Client& client, const base::Clock& steady, Options options, base::Log log)
    : client_(client), steady_(steady), options_(std::move(options)), log_(std::move(log)) {}

void StandAside::refresh(ServingState serving_state) {
  if (serving_state == ServingState::kUnknown || (steady_.now() < next_check_ && serving_state == seen_state_)) return;
  seen_state_ = serving_state;
  const base::Status looked = look(serving_state == ServingState::kStaysOut);
  next_check_ = steady_.now() + (looked ? kCheckInterval : kRetryInterval);
  const std::string problem = looked ? std::string() : looked.error().message;
  if (std::exchange(problem_, problem) == problem || looked) return;
  log_.warning(serving_state == ServingState::kStaysOut
                   ? "the admission webhook is still active, and this installation does not serve it: no user can "
                     "create Evacuations and policies"
                   : "it is unknown whether the admission webhook is active",
               {kv("problem", problem)});
}

base::Status StandAside::look(bool aside) {
  const base::Status mutating = look(kMutating, aside);
  const base::Status validating = look(kValidating, aside);
  return mutating ? validating : mutating;
}

base::Status StandAside::look(const kube::ResourceType& type, bool aside) {
  const std::string name = fmt::format("{} {}", type.kind, options_.configuration);
  const auto body = client_.get(type, {"", options_.configuration});
  if (!body && base::is_not_found(body.error())) return base::Done{};  // not installed, so the webhook is not called
  if (!body) return body.error().during("reading " + name);
  const auto parsed = api::parse_json(*body);
  if (!parsed) return parsed.error().during(name);
  const auto patch = aside_patch(*parsed, options_.names, aside);
  if (!patch) return base::Done{};
  const auto patched = client_.patch(type, {"", options_.configuration}, kube::PatchType::kJson, *patch);
  if (!patched) return patched.error().during("writing objectSelector of " + name);
  log_.info(aside ? "the admission webhook is inactive: another installation serves this cluster"
                  : "the admission webhook is active again",
            {kv("configuration", name)});
  return base::Done{};
}

}  // namespace controllers::webhooks
