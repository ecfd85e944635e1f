/// Reads descheduler/v1alpha2: profiles with pluginConfig and plugins (upstream-semantics.md#profiles).

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "cmd/convert/parts.hpp"

namespace convert {
namespace {

struct ExtensionPoint {
  const char* name;
  std::optional<Point> point;  ///< nullopt if upstream reads the extension point but never uses it
};
/// In execution order.
constexpr std::array kExtensionPoints = {
    ExtensionPoint{"presort", std::nullopt},          ExtensionPoint{"sort", std::nullopt},
    ExtensionPoint{"filter", Point::kFilter},         ExtensionPoint{"preevictionfilter", Point::kFilter},
    ExtensionPoint{"deschedule", Point::kDeschedule}, ExtensionPoint{"balance", Point::kBalance},
};

std::string_view name_of_point(Point point) {
  switch (point) {
    case Point::kDeschedule: return "deschedule";
    case Point::kBalance: return "balance";
    case Point::kFilter: return "filter";
  }
  return "";
}

/// Filter of OpenShift's descheduler that protects a VM for some time after a migration.
constexpr std::string_view kMigrationAware = "KubevirtMigrationAware";
/// Its args, and the members of spec.limits.cooldown that they become.
constexpr std::array kCooldownArgs = {Renamed{"migrationCooldown", "virtualMachine"},
                                      Renamed{"maxMigrationCooldown", "maximum"},
                                      Renamed{"migrationHistoryWindow", "window"}};

/// Converts one profile to a policy.
class ProfileReader {
 public:
  ProfileReader(const Json& json, const FieldPath& at, ConversionContext& bench)
      : profile_(json, at, bench.errors()), context_(bench) {}

  Draft read() {
    draft_.source = profile_.path().text();
    profile_.read("name", draft_.name);
    draft_.origins.push_back({"metadata.name", profile_.path().field("name").text()});
    read_configs();
    read_points();
    finish_with_notes(profile_, context_);
    note_unused();
    return std::move(draft_);
  }

 private:
  void read_configs() {
    configs_ = read_plugin_configs(profile_, true, context_);
    PluginConfig* evictor = find_config(configs_, kDefaultEvictor);
    if (evictor == nullptr) return;
    evictor->used = true;
    if (!evictor->args.empty()) read_evictor_args(evictor->args, evictor->at, draft_, context_);
  }

  void read_points() {
    const Json* json = profile_.find("plugins");
    if (json == nullptr) return;
    StrictObject plugins(*json, profile_.path().field("plugins"), context_.errors());
    for (const ExtensionPoint& point : kExtensionPoints) {
      if (const Json* set = plugins.find(point.name)) read_point(point, *set, plugins.path().field(point.name));
    }
    finish_with_notes(plugins, context_);
  }

  void read_point(const ExtensionPoint& point, const Json& set, const FieldPath& at) {
    StrictObject object(set, at, context_.errors());
    std::vector<std::string> enabled;
    std::vector<std::string> disabled;
    object.read("enabled", enabled);
    object.read("disabled", disabled);
    finish_with_notes(object, context_);
    if (!disabled.empty())
      context_.note(NoteKind::kIgnored, at.field("disabled"), "upstream runs what is enabled and ignores this field");
    if (!point.point) {
      if (!enabled.empty())
        context_.note(NoteKind::kIgnored, at, "upstream has no such extension point, only the field");
      return;
    }
    for (std::size_t i = 0; i < enabled.size(); ++i)
      read_enabled(*point.point, enabled[i], at.field("enabled").index(i));
  }

  void read_enabled(Point point, const std::string& name, const FieldPath& at) {
    if (point == Point::kFilter && name == kMigrationAware) return read_migration_cooldown(at);
    if (const std::string known = canonical_plugin(name); known != name) {
      context_.note(NoteKind::kChanged, at, fmt::format("is read as {}; upstream rejects the other spelling", known));
      return read_enabled(point, known, at);
    }
    const auto runs_at = point_of_plugin(name);
    if (!runs_at) return note_unknown(name, at);
    if (*runs_at != point) {
      return context_.error(
          at, fmt::format("{} is not a plugin of this extension point; move it to {}", name, name_of_point(*runs_at)));
    }
    if (point == Point::kFilter) return;
    PluginConfig* config = find_config(configs_, name);
    if (config == nullptr) {
      return context_.error(at, fmt::format("{} has no entry in pluginConfig; add {{name: {}}}", name, name));
    }
    if (std::exchange(config->used, true))
      return context_.note(NoteKind::kIgnored, at, fmt::format("{} is already enabled above", name));
    Json args = config->args;
    read_soft_constraints(name, config->at, args);
    context_.add_strategy(draft_, {name, std::move(args), config->at, {}});
  }

  void read_migration_cooldown(const FieldPath& at) {
    if (std::exchange(has_migration_cooldown_, true))
      return;  // the plugin is listed under both filter extension points
    PluginConfig* config = find_config(configs_, kMigrationAware);
    if (config != nullptr) config->used = true;
    if (config != nullptr) {
      StrictObject args(config->args, config->at, context_.errors());
      for (const auto& [theirs, ours] : kCooldownArgs) {
        std::string value;
        args.read(theirs, value);
        if (!value.empty()) draft_.set(fmt::format("limits.cooldown.{}", ours), value, config->at.field(theirs));
      }
      finish_with_notes(args, context_);
    }
    context_.note(NoteKind::kChanged, at,
                  "becomes limits.cooldown. It counts evacuations of VMs, not migrations that others start; without "
                  "the args it is 15m for a VM by the operator's configuration, at most 6h, within 48h");
  }

  /// Converts includeSoftConstraints, which 0.26 and 0.27 used instead of constraints.
  void read_soft_constraints(std::string_view name, const FieldPath& at, Json& args) {
    constexpr const char* kOld = "includeSoftConstraints";
    if (name != "RemovePodsViolatingTopologySpreadConstraint" || args.contains("constraints")) return;
    const auto soft = args.find(kOld);
    if (soft == args.end() || !soft->is_boolean()) return;
    if (soft->get<bool>()) args["constraints"] = Json::array({"DoNotSchedule", "ScheduleAnyway"});
    args.erase(kOld);
    context_.note(NoteKind::kChanged, at.field(kOld),
                  "is the name of constraints in 0.26 and 0.27; upstream rejects it since 0.28");
  }

  void note_unknown(const std::string& name, const FieldPath& at) {
    if (std::exchange(noted_[name], true)) return;
    const auto known = plugin_names();
    context_.note(NoteKind::kDropped, at,
                  fmt::format("upstream's tree has no plugin \"{}\"{}; upstream rejects such a policy when it starts",
                              name.substr(0, 80), api::did_you_mean(name, known)),
                  "to replace a plugin of your own build, write your own strategy (CONTRIBUTING.md)");
  }

  void note_unused() {
    for (const PluginConfig& config : configs_) {
      if (config.used) continue;
      if (point_of_plugin(config.name) || config.name == kMigrationAware) {
        context_.note(NoteKind::kIgnored, config.at, fmt::format("{} is configured, but not enabled", config.name));
      } else {
        note_unknown(config.name, config.at);
      }
    }
  }

  StrictObject profile_;
  ConversionContext& context_;
  Draft draft_;
  std::vector<PluginConfig> configs_;
  bool has_migration_cooldown_ = false;
  std::map<std::string, bool> noted_;  ///< plugins unknown to upstream
};

}  // namespace

void read_v1alpha2(const Json& json, const FieldPath& at, const Draft& outside, ConversionContext& bench) {
  StrictObject policy(json, at, bench.errors());
  Draft common = outside;
  for (const char* of_type : {"apiVersion", "kind", "metadata"}) policy.find(of_type);
  read_cycle_settings(policy, common, bench);
  std::vector<Draft> drafts;
  policy.for_each("profiles", [&](const Json& item, const FieldPath& path) {
    drafts.push_back(ProfileReader(item, path, bench).read());
  });
  if (policy.find("strategies") != nullptr)
    bench.note(NoteKind::kIgnored, at.field("strategies"),
               "belongs to descheduler/v1alpha1; upstream ignores it in v1alpha2, which has profiles");
  finish_with_notes(policy, bench);
  bench.add_drafts(std::move(drafts), common);
}

}  // namespace convert
