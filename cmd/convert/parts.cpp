#include "cmd/convert/parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "api/evacuation_parts.hpp"
#include "api/meta/well_known.hpp"

namespace convert {
namespace {

struct UpstreamPlugin {
  std::string_view name;
  Point point;
};
constexpr std::array kPlugins = {
    UpstreamPlugin{kDefaultEvictor, Point::kFilter},
    UpstreamPlugin{"HighNodeUtilization", Point::kBalance},
    UpstreamPlugin{"LowNodeUtilization", Point::kBalance},
    UpstreamPlugin{"PodLifeTime", Point::kDeschedule},
    UpstreamPlugin{"RemoveDuplicates", Point::kBalance},
    UpstreamPlugin{"RemoveFailedPods", Point::kDeschedule},
    UpstreamPlugin{"RemovePodsHavingTooManyRestarts", Point::kDeschedule},
    UpstreamPlugin{"RemovePodsViolatingInterPodAntiAffinity", Point::kDeschedule},
    UpstreamPlugin{"RemovePodsViolatingNodeAffinity", Point::kDeschedule},
    UpstreamPlugin{"RemovePodsViolatingNodeTaints", Point::kDeschedule},
    UpstreamPlugin{"RemovePodsViolatingTopologySpreadConstraint", Point::kBalance},
};

/// Reads a limit. Omits a limit above the maximum, with a note.
void read_limit(StrictObject& policy, const char* theirs, const char* ours, Draft& common, ConversionContext& bench) {
  std::optional<std::uint32_t> limit;
  policy.read(theirs, limit);
  if (!limit) return;
  if (*limit > api::bounds::kMaxLimit) {
    return bench.note(NoteKind::kChanged, policy.path().field(theirs),
                      fmt::format("{} is practically unlimited", *limit));
  }
  common.set(fmt::format("limits.perCycle.{}", ours), *limit, policy.path().field(theirs));
}

/// Reads gracePeriodSeconds. 0 is replaced by 1: upstream's 0 is a forced deletion, in which the API server removes the
/// pod while its containers still run.
void read_grace_period(StrictObject& policy, Draft& common, ConversionContext& bench) {
  const FieldPath at = policy.path().field("gracePeriodSeconds");
  std::optional<std::int64_t> grace;
  policy.read("gracePeriodSeconds", grace);
  if (!grace) return;
  if (*grace == 0) {
    bench.note(NoteKind::kChanged, at, "0 would force-delete pods before they have stopped: 1 is written");
    grace = 1;
  }
  common.set("evacuation.gracePeriodSeconds", *grace, at);
}

}  // namespace

const Json& object_at(const Json& json, std::initializer_list<std::string_view> path) {
  static const Json kNone = Json::object();
  const Json* found = find_at(json, path);
  return found != nullptr && found->is_object() ? *found : kNone;
}

std::vector<PluginConfig> read_plugin_configs(StrictObject& profile, bool is_upstream, ConversionContext& bench) {
  std::vector<PluginConfig> configs;
  profile.for_each("pluginConfig", [&](const Json& item, const FieldPath& path) {
    StrictObject object(item, path, bench.errors());
    PluginConfig config{"", Json::object(), path.field("args")};
    object.read("name", config.name);
    if (is_upstream) config.name = canonical_plugin(config.name);
    if (const Json* args = object.find("args")) config.args = *args;
    finish_with_notes(object, bench);
    if (is_upstream && config.name.empty()) return object.complain("name", "is required");
    if (!config.args.is_object())
      return object.complain("args", fmt::format("must be an object, not {}", kind_of(config.args)));
    if (find_config(configs, config.name) != nullptr)
      return bench.note(NoteKind::kIgnored, path, fmt::format("{} is already configured above", config.name));
    configs.push_back(std::move(config));
  });
  return configs;
}

PluginConfig* find_config(std::vector<PluginConfig>& configs, std::string_view name) {
  const auto at = std::ranges::find(configs, name, &PluginConfig::name);
  return at == configs.end() ? nullptr : &*at;
}

void read_cycle_limits(StrictObject& policy, Draft& common, ConversionContext& bench) {
  read_limit(policy, "maxNoOfPodsToEvictPerNode", "perNode", common, bench);
  read_limit(policy, "maxNoOfPodsToEvictPerNamespace", "perNamespace", common, bench);
  read_limit(policy, "maxNoOfPodsToEvictTotal", "total", common, bench);
}

void read_cycle_settings(StrictObject& policy, Draft& common, ConversionContext& bench) {
  const FieldPath& at = policy.path();
  put_selector_text(policy.find("nodeSelector"), at.field("nodeSelector"), common.spec, "nodeSelector", bench);
  common.origins.push_back({"spec.nodeSelector", at.field("nodeSelector").text()});
  read_cycle_limits(policy, common, bench);
  read_grace_period(policy, common, bench);
  bool events = true;
  if (policy.find("evictionFailureEventNotification") != nullptr) {
    policy.read("evictionFailureEventNotification", events);
    if (!events)
      bench.note(NoteKind::kChanged, at.field("evictionFailureEventNotification"),
                 "events about failed evictions are always published");
  }
  read_usage_sources(policy, common, bench);
}

std::string object_name_of(std::string_view name) {
  constexpr std::size_t kMax = 63;
  std::string text;
  bool was_lower = false;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    const bool usable = byte < 0x80 && std::isalnum(byte) != 0;
    const bool upper = usable && std::isupper(byte) != 0;
    if ((!usable || (upper && was_lower)) && !text.empty() && text.back() != '-') text += '-';
    if (usable) text += static_cast<char>(std::tolower(byte));
    was_lower = usable && !upper;
  }
  text.resize(std::min(text.size(), kMax));
  while (text.ends_with('-')) text.pop_back();
  return text;
}

std::optional<Point> point_of_plugin(std::string_view name) {
  const auto at = std::ranges::find(kPlugins, name, &UpstreamPlugin::name);
  return at == kPlugins.end() ? std::nullopt : std::optional(at->point);
}

std::string canonical_plugin(std::string_view name) {
  const auto lower = [](char c) { return std::tolower(static_cast<unsigned char>(c)); };
  const auto is_it = [&](const UpstreamPlugin& plugin) {
    return std::ranges::equal(plugin.name, name, {}, lower, lower);
  };
  const auto at = std::ranges::find_if(kPlugins, is_it);
  return std::string(at == kPlugins.end() ? name : at->name);
}

std::vector<std::string_view> plugin_names() {
  std::vector<std::string_view> names;
  for (const UpstreamPlugin& plugin : kPlugins) names.push_back(plugin.name);
  return names;
}

}  // namespace convert
