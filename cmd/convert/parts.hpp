#pragma once

/// Types and functions shared by the readers of upstream's policy versions. Internal to cmd/convert.

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/json/strict_object.hpp"
#include "cmd/convert/policy.hpp"

namespace api::upstream {

/// Maps a path in a converted object to its source: paths below `ours` are reported as paths below `theirs`.
struct Origin {
  std::string evacuator_path;
  std::string upstream_path;
};
/// Translates the error's path by the longest matching origin: "spec.limits.perCycle.total: -1 …" becomes
/// "maxNoOfPodsToEvictTotal: -1 …".
FieldError at_origin(FieldError error, const std::vector<Origin>& origins);

/// A DeschedulerPolicy under construction.
struct Draft {
  std::string name;    ///< name in the input, may be empty
  std::string source;  ///< path in the input
  Json spec = Json::object();
  std::vector<Origin> origins;
  Json evictability = Json::object();  ///< DefaultEvictor args collected from all strategies of a v1alpha1 policy
};

/// A strategy with its args from the input.
struct StrategySource {
  std::string name;
  Json args = Json::object();
  FieldPath at;                                            ///< path of the args object
  std::vector<std::pair<std::string, FieldPath>> members;  ///< paths of args that are elsewhere in the input
  bool lenient = false;                                    ///< upstream's decoder ignored unknown fields
  bool uses_own_schema = false;  ///< args use Evacuator's schema, which has more fields than upstream's
};

/// Collects the drafts, notes and errors of one input.
class ConversionContext {
 public:
  ConversionContext(const StrategyCatalogue& catalogue, const UpstreamOptions& options)
      : catalogue_(catalogue), options_(options) {}

  void note(NoteKind kind, const FieldPath& at, std::string why, std::string advice = {});
  void error(const FieldPath& at, std::string message) { errors_.push_back({at.text(), std::move(message)}); }
  FieldErrors& errors() { return errors_; }
  const StrategyCatalogue& catalogue() const { return catalogue_; }
  const UpstreamOptions& options() const { return options_; }

  /// Appends the strategy to the draft, or reports why it cannot.
  void add_strategy(Draft& draft, StrategySource source);
  /// Adds the drafts that have strategies, each merged with the settings of `common`.
  void add_drafts(std::vector<Draft> drafts, const Draft& common);
  std::size_t drafts() const { return drafts_.size(); }
  /// Reports notes and errors about a path below `ours` at `theirs`, for readers that first convert the input to
  /// another format.
  void move_paths(const std::vector<Origin>& moved) { moved_.insert(moved_.end(), moved.begin(), moved.end()); }
  /// Names and validates the policies and returns them with the notes and errors.
  Conversion finish();

 private:
  /// Reports each arg that upstream does not know as an error; returns true if there was one. Args of leniently read
  /// input are dropped with a note instead.
  bool reject_own_args(StrategySource& source);
  bool resolve_complaints(StrategySource& source);
  bool drop_unknown_field(StrategySource& source, const FieldError& complaint);
  void allow_terminated_pods(StrategySource& source);
  bool resolve_complaint(StrategySource& source, const FieldError& complaint);
  Json complete(Draft& draft);

  const StrategyCatalogue& catalogue_;
  const UpstreamOptions& options_;
  std::vector<Draft> drafts_;
  std::vector<ConversionNote> notes_;
  FieldErrors errors_;
  std::vector<Origin> moved_;
};

/// Finishes the object like upstream: unknown fields are ignored, but noted.
void finish_with_notes(StrictObject& object, ConversionContext& bench);

/// Parses a selector in text form and stores it as `to[name]`. Empty text stores nothing.
void put_selector_text(const Json* text, const FieldPath& at, Json& to, const char* name, ConversionContext& bench);

/// Returns a selector that matches what both selectors match.
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
void read_evictor_args(const Json& args, const FieldPath& at, Draft& draft, ConversionContext& bench);

/// Converts maxNoOfPodsToEvictPer… to spec.limits.perCycle of the common draft.
void read_cycle_limits(StrictObject& policy, Draft& common, ConversionContext& bench);

/// Converts settings that both versions share, such as nodeSelector and limits, to the common draft.
void read_cycle_settings(StrictObject& policy, Draft& common, ConversionContext& bench);

/// Converts metricsProviders and metricsCollector to spec.usageSources of the common draft.
void read_usage_sources(StrictObject& policy, Draft& common, ConversionContext& bench);
/// Removes usageSources from a draft whose strategies work on requests. Adds a note for each strategy whose source is
/// not configured.
void prune_usage_sources(Draft& draft, ConversionContext& bench);

/// Read a whole document of one version. `common` holds settings from outside the document, such as the chart's
/// schedule.
void read_v1alpha2(const Json& policy, const FieldPath& at, const Draft& common, ConversionContext& bench);
void read_v1alpha1(const Json& policy, const FieldPath& at, const Draft& common, ConversionContext& bench);
/// Reads the chart's values.yaml, merged over the chart's defaults. `minor` is the chart's minor version if the
/// surrounding file states it; the options take precedence.
void read_chart_values(const Json& values, const FieldPath& at, std::optional<int> minor, ConversionContext& bench);

/// Returns true if an object without apiVersion has members that only the chart's values have.
bool is_chart_values(const Json& json);

/// Converts a name to an object name: "RemoveDuplicates" becomes "remove-duplicates". Returns an empty string if no
/// valid characters remain.
std::string object_name_of(std::string_view name);

enum class Point { kDeschedule, kBalance, kFilter };
/// Returns the extension point of a plugin of upstream's tree, nullopt if the plugin is unknown.
std::optional<Point> point_of_plugin(std::string_view name);
std::vector<std::string_view> plugin_names();
/// Finds the plugin name ignoring case. Returns `name` if the plugin is unknown.
std::string canonical_plugin(std::string_view name);
inline constexpr std::string_view kDefaultEvictor = "DefaultEvictor";

}  // namespace api::upstream
