#pragma once

/// What the readers of upstream's policy versions share. Internal to cmd/convert.

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/json/strict_object.hpp"
#include "cmd/convert/policy.hpp"

namespace api::upstream {

/// Where a part of an object of ours came from: paths below `ours` are paths below `theirs` for whoever reads the
/// input.
struct Origin {
  std::string ours;
  std::string theirs;
};
/// "spec.limits.perCycle.total: -1 …" → "maxNoOfPodsToEvictTotal: -1 …"; the longest origin wins.
FieldError at_origin(FieldError error, const std::vector<Origin>& origins);

/// A policy of ours in the making.
struct Draft {
  std::string name;    ///< as upstream calls it; may be empty
  std::string source;  ///< place in the input
  Json spec = Json::object();
  std::vector<Origin> origins;
  Json evictability = Json::object();  ///< in DefaultEvictor's words, of all strategies of a v1alpha1 policy
};

/// A strategy's args as they are in the input.
struct StrategySource {
  std::string name;
  Json args = Json::object();
  FieldPath at;                                            ///< of the args as a whole
  std::vector<std::pair<std::string, FieldPath>> members;  ///< of args that stand elsewhere
  bool lenient = false;                                    ///< upstream's decoder passed over what it did not know
  bool ours = false;                                       ///< args are in our words: not only what upstream has
};

/// Collects drafts, notes and errors of one input.
class Workbench {
 public:
  Workbench(const StrategyCatalogue& catalogue, const UpstreamOptions& options)
      : catalogue_(catalogue), options_(options) {}

  void note(NoteKind kind, const FieldPath& at, std::string why, std::string advice = {});
  void error(const FieldPath& at, std::string message) { errors_.push_back({at.text(), std::move(message)}); }
  FieldErrors& errors() { return errors_; }
  const StrategyCatalogue& catalogue() const { return catalogue_; }
  const UpstreamOptions& options() const { return options_; }

  /// Appends the strategy to the draft's, or says why not.
  void add_strategy(Draft& draft, StrategySource source);
  /// Adds the drafts that have strategies, with what holds for all of them.
  void add_drafts(std::vector<Draft> drafts, const Draft& common);
  std::size_t drafts() const { return drafts_.size(); }
  /// Reports notes and errors about `ours` at `theirs`: for readers that first convert one input form to another.
  void move_paths(const std::vector<Origin>& moved) { moved_.insert(moved_.end(), moved.begin(), moved.end()); }
  /// Names, checks and hands over.
  Conversion finish();

 private:
  /// True if there are some; each is an error.
  bool refuse_args_of_ours(StrategySource& source);
  bool settle_args(StrategySource& source);
  bool settle_unknown(StrategySource& source, const FieldError& complaint);
  void settle_ended_pods(StrategySource& source);
  bool settle_complaint(StrategySource& source, const FieldError& complaint);
  Json complete(Draft& draft);

  const StrategyCatalogue& catalogue_;
  const UpstreamOptions& options_;
  std::vector<Draft> drafts_;
  std::vector<ConversionNote> notes_;
  FieldErrors errors_;
  std::vector<Origin> moved_;
};

/// Finishes the object as upstream does with what it does not know: passed over, but noted.
void finish_leniently(StrictObject& object, Workbench& bench);

/// A selector in text → the object that the policy has, as `to[name]`. Empty text is none.
void put_selector_text(const Json* text, const FieldPath& at, Json& to, const char* name, Workbench& bench);

/// A selector for what both select.
Json both_selectors(Json one, Json other);

/// A selector for what one or several of a list select.
struct EitherSelector {
  Json selector;
  std::size_t first = 0;   ///< index in the list
  bool is_joined = false;  ///< selects what several of the list do
};
/// Selectors that together select what any of `selectors` does. Two that differ in one requirement, In on the same key,
/// become one. A selector whose matches another one covers goes. Selectors of a wrong form stay, to be complained
/// about.
std::vector<EitherSelector> either_selectors(std::vector<Json> selectors);

/// DefaultEvictor's args → spec.evictability, deprecated spellings included.
void read_evictor_args(const Json& args, const FieldPath& at, Draft& draft, Workbench& bench);

/// maxNoOfPodsToEvictPer… → spec.limits.perCycle of the common draft.
void read_cycle_limits(StrictObject& policy, Draft& common, Workbench& bench);

/// nodeSelector, limits and the like, which both versions have: → the common draft.
void read_cycle_settings(StrictObject& policy, Draft& common, Workbench& bench);

/// metricsProviders and metricsCollector → spec.usageSources of the common draft.
void read_usage_sources(StrictObject& policy, Draft& common, Workbench& bench);
/// Takes the sources out of a draft whose strategies go by requests, and says where one is missing.
void settle_usage_sources(Draft& draft, Workbench& bench);

/// Whole documents of one version. `common` holds what stands outside of them (the chart's schedule).
void read_v1alpha2(const Json& policy, const FieldPath& at, const Draft& common, Workbench& bench);
void read_v1alpha1(const Json& policy, const FieldPath& at, const Draft& common, Workbench& bench);
/// The chart's values.yaml, with the chart's own defaults under it. `minor`: of the chart's version, as far as the file
/// around the values tells it; the options win.
void read_chart_values(const Json& values, const FieldPath& at, std::optional<int> minor, Workbench& bench);

/// True if an object without apiVersion has members that only the chart's values have.
bool is_chart_values(const Json& json);

/// "RemoveDuplicates" → "remove-duplicates"; "" when nothing remains that a name can have.
std::string object_name_of(std::string_view name);

enum class Point { kDeschedule, kBalance, kFilter };
/// The point at which a plugin of upstream's tree runs; nullopt: there is none of that name.
std::optional<Point> point_of_plugin(std::string_view name);
std::vector<std::string_view> plugin_names();
/// The plugin of that name in whatever case; `name` itself if there is none.
std::string canonical_plugin(std::string_view name);
inline constexpr std::string_view kDefaultEvictor = "DefaultEvictor";

}  // namespace api::upstream
