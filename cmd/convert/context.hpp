#pragma once

/// Policies under construction, and what the readers report about them. Internal to cmd/convert.

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/json/json_access.hpp"
#include "api/json/strict_object.hpp"
#include "cmd/convert/policy.hpp"

namespace convert {

using api::find_at;
using api::flag_at;
using api::items_at;
using api::kind_of;
using api::StrictObject;
using api::text_at;
using api::to_json_text;

/// Maps a path in a converted object to its source: paths below `ours` are reported as paths below `theirs`.
struct Origin {
  std::string evacuator_path;
  std::string upstream_path;
};
/// A DeschedulerPolicy under construction.
struct Draft {
  std::string name;    ///< name in the input, may be empty
  std::string source;  ///< path in the input
  Json spec = Json::object();
  std::vector<Origin> origins;
  Json evictability = Json::object();  ///< DefaultEvictor args collected from all strategies of a v1alpha1 policy

  /// Sets a field of the spec, such as "limits.perCycle.total", to a value that the input has at `at`.
  void set(const std::string& field, Json value, const FieldPath& at);
};

/// A name of upstream and what it becomes.
struct Renamed {
  const char* theirs;
  const char* ours;
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

}  // namespace convert
