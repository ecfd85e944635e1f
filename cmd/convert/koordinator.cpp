/// Reads Koordinator's DeschedulerConfiguration.

#include "cmd/convert/koordinator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cmd/convert/wrappers.hpp"

namespace convert {
namespace {

bool admits(const Json& namespaces, const Json& name) {
  const auto has = [&](const char* list) {
    const Json& names = items_at(namespaces, {list});
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  return has("include") || (items_at(namespaces, {"include"}).empty() && !has("exclude"));
}

/// Converts a Koordinator profile to one policy per strategy, because LowNodeLoad has its own scope.
class KoordinatorProfileReader {
 public:
  KoordinatorProfileReader(const Json& json, const FieldPath& at, ConversionContext& bench)
      : profile_(json, at, bench.errors()), context_(bench) {}

  std::vector<Draft> read() {
    profile_.read("name", name_);
    configs_ = read_plugin_configs(profile_, false, context_);
    with_leniently(profile_, "plugins", context_, [&](StrictObject& plugins) {
      for (const char* point : {"deschedule", "balance", "evict", "filter"}) read_point(plugins, point);
    });
    read_evictor();
    nodes_ = profile_.find("nodeSelector");
    for (const Enabled& strategy : strategies_) add_strategy(strategy);
    note_shared_limits();
    note_unused();
    finish_with_notes(profile_, context_);
    return std::move(drafts_);
  }

 private:
  struct Enabled {
    std::string plugin;
    FieldPath at;
  };

  void read_point(StrictObject& plugins, const char* point) {
    const bool evicts = std::string_view(point) == "evict";
    const bool is_evictor = evicts || std::string_view(point) == "filter";
    with_leniently(plugins, point, context_, [&](StrictObject& set) {
      set.for_each("enabled", [&](const Json& item, const FieldPath& path) {
        const std::string plugin = item.is_string() ? item.get<std::string>() : text_at(item, {"name"});
        if (is_evictor || plugin == kMigration) return read_evictor_of(plugin, path);
        strategies_.push_back({plugin, path});
      });
      set.for_each("disabled", [&](const Json& item, const FieldPath&) {
        const std::string plugin = item.is_string() ? item.get<std::string>() : text_at(item, {"name"});
        migration_off_ = migration_off_ || (evicts && (plugin == "*" || plugin == kMigration));
      });
    });
  }

  void read_evictor_of(const std::string& plugin, const FieldPath& at) {
    if (plugin == kMigration) {
      migration_on_ = true;
    } else if (plugin == kDefaultEvictor) {
      default_on_ = true;
    } else {
      context_.note(NoteKind::kDropped, at, fmt::format("the plugin {} has no equivalent", plugin));
    }
  }

  /// Reads the arguments of the evictor plugin, by default MigrationController.
  void read_evictor() {
    const bool migrates = migration_on_ || (!migration_off_ && !default_on_);
    PluginConfig* config =
        migrates || default_on_ ? find_config(configs_, migrates ? kMigration : kDefaultEvictor) : nullptr;
    if (config == nullptr) return;
    config->used = true;
    evictor_ = read_migration_controller(config->args, config->at, context_);
    evictor_.source = config->at.text();
  }

  void add_strategy(const Enabled& strategy) {
    PluginConfig* config = find_config(configs_, strategy.plugin);
    if (config != nullptr) config->used = true;
    const Json args = config != nullptr ? config->args : Json::object();
    const bool is_load = strategy.plugin == "LowNodeLoad";
    const FieldPath missing = profile_.path().field("pluginConfig").field("LowNodeLoad").field("args");
    const FieldPath at = config != nullptr ? config->at : is_load ? missing : strategy.at;
    Draft draft;
    draft.name = name_;
    draft.source = profile_.path().text();
    if (is_load) return add_load(std::move(draft), args, at);
    context_.add_strategy(draft, {strategy.plugin, args, at, {}});
    add_draft(std::move(draft));
  }

  void add_load(Draft draft, const Json& args, const FieldPath& at) {
    LowNodeLoad load = read_low_node_load(args, at, draft, context_);
    context_.add_strategy(draft, std::move(load.strategy));
    if (load.pods.empty()) return add_draft(std::move(draft));
    for (const PodsOfPolicy& pods : load.pods) {
      Draft part = draft;
      if (load.pods.size() > 1 && !pods.name.empty()) part.name = fmt::format("{}-{}", name_, pods.name);
      part.set("evictability.labelSelector", pods.selector, pods.at);
      add_draft(std::move(part));
    }
  }

  void add_draft(Draft own) {
    Draft& draft = drafts_.emplace_back(std::move(own));
    put_evictor(draft);
    if (nodes_ == nullptr) return;
    const bool has_own = draft.spec.contains("nodeSelector");
    draft.set("nodeSelector", has_own ? both_selectors(*nodes_, draft.spec["nodeSelector"]) : *nodes_,
              profile_.path().field("nodeSelector"));
  }

  /// Merges the evictor's settings into the draft. Both LowNodeLoad's requirements on pods and the evictor's apply.
  void put_evictor(Draft& draft) {
    const Json own = draft.spec.value("evictability", Json::object());
    const Json theirs = evictor_.spec.value("evictability", Json::object());
    Json both = own;
    both.update(theirs);
    draft.spec.update(evictor_.spec);
    if (!both.empty()) draft.spec["evictability"] = std::move(both);
    draft.origins.insert(draft.origins.begin(), evictor_.origins.begin(), evictor_.origins.end());
    if (own.value("nodeFit", Json()) == true) draft.spec["evictability"]["nodeFit"] = true;
    if (own.contains("labelSelector") && theirs.contains("labelSelector"))
      draft.spec["evictability"]["labelSelector"] = both_selectors(theirs["labelSelector"], own["labelSelector"]);
    if (own.contains("namespaces") && theirs.contains("namespaces"))
      draft.spec["evictability"]["namespaces"] = {{"include", both_includes(own["namespaces"], theirs["namespaces"])}};
  }

  Json both_includes(const Json& own, const Json& theirs) {
    Json names = Json::array();
    for (const Json& name : items_at(own, {"include"})) {
      if (admits(theirs, name)) names.push_back(name);
    }
    if (names.empty())
      context_.error(FieldPath(evictor_.source).field("namespaces"),
                     "allows none of the namespaces of LowNodeLoad's evictableNamespaces.include");
    return names;
  }

  void note_shared_limits() {
    const auto policies = std::ranges::count_if(drafts_, [](const Draft& d) { return d.spec.contains("strategies"); });
    if (policies < 2) return;
    for (const Origin& origin : evictor_.origins) {
      if (origin.evacuator_path.starts_with("spec.limits."))
        context_.note(NoteKind::kChanged, FieldPath(origin.upstream_path),
                      fmt::format("applies to each of the {} policies separately", policies),
                      "limit all of them together in the operator's configuration");
    }
  }

  void note_unused() {
    for (const PluginConfig& config : configs_) {
      if (!config.used)
        context_.note(NoteKind::kIgnored, config.at, fmt::format("{} is configured, but not enabled", config.name));
    }
  }

  static constexpr std::string_view kMigration = "MigrationController";
  StrictObject profile_;
  ConversionContext& context_;
  std::string name_;
  const Json* nodes_ = nullptr;
  std::vector<PluginConfig> configs_;
  std::vector<Enabled> strategies_;
  bool migration_on_ = false;
  bool migration_off_ = false;
  bool default_on_ = false;
  Draft evictor_;  ///< settings that apply to all strategies of the profile
  std::vector<Draft> drafts_;
};

}  // namespace

void read_koordinator(const Json& object, const FieldPath& at, ConversionContext& bench) {
  StrictObject config(object, at, bench.errors());
  Draft common;
  for (const char* of_process :
       {"apiVersion", "kind", "metadata", "leaderElection", "clientConnection", "enableProfiling",
        "enableContentionProfiling", "healthzBindAddress", "metricsBindAddress"})
    config.find(of_process);
  std::string interval;
  config.read("deschedulingInterval", interval);
  if (!interval.empty()) common.set("schedule.interval", interval, at.field("deschedulingInterval"));
  read_dry_run(config, common, bench);
  read_cycle_limits(config, common, bench);
  if (const Json* nodes = config.find("nodeSelector")) common.spec["nodeSelector"] = *nodes;
  common.origins.push_back({"spec.nodeSelector", at.field("nodeSelector").text()});
  std::vector<Draft> drafts;
  config.for_each("profiles", [&](const Json& profile, const FieldPath& path) {
    for (Draft& draft : KoordinatorProfileReader(profile, path, bench).read()) drafts.push_back(std::move(draft));
  });
  finish_with_notes(config, bench);
  bench.add_drafts(std::move(drafts), common);
}

}  // namespace convert
