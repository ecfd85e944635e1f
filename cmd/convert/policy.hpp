#pragma once

/// Policies of kubernetes-sigs/descheduler as DeschedulerPolicy objects of ours. Pure. docs/convert.md;
/// what upstream reads and how: upstream-semantics.md#policy-file.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/descheduler_policy.hpp"
#include "api/json/field_path.hpp"
#include "api/json/json.hpp"
#include "base/clock.hpp"

namespace api {

/// What the packages above know; api must not include them.
struct StrategyCatalogue {
  std::vector<std::string_view> names;
  /// Complaints about the choices' args, with paths from "spec.strategies[0].args" on; empty: valid.
  std::function<FieldErrors(const std::vector<StrategyChoice>&)> check;
  /// What is wrong with a schedule beyond its form. None: not asked.
  std::function<FieldErrors(const PolicySchedule&)> check_schedule{};
};

struct UpstreamOptions {
  PolicyMode mode = PolicyMode::kDryRun;
  std::string compatibility = "Upstream";  ///< of the policies; "None": with upstream's known faults fixed
  std::optional<base::seconds> interval;   ///< between cycles; upstream has a flag for it, no field
  /// 29 of the Helm chart's version 0.29.1: whose defaults stand under the values. Without it what the input says, else
  /// the newest.
  std::optional<int> chart_minor{};
};

/// What became of a part of the input that did not just get a new name.
enum class NoteKind {
  kDropped,  ///< has no equal: decisions may differ
  kAdded,    ///< does not stand in the input: a default of the Helm chart
  kChanged,  ///< is there in another shape, and somebody should look at it
  kIgnored,  ///< upstream takes no notice of it either
};
std::string_view to_string(NoteKind kind);

/// 29 of "0.29.1", "v0.29" or "~0.29"; nullopt for ranges and for what is no version of the chart.
std::optional<int> chart_minor_of(std::string_view version);

struct ConversionNote {
  NoteKind kind = NoteKind::kDropped;
  std::string path;    ///< in the input
  std::string why;     ///< one sentence, without a full stop
  std::string advice;  ///< what to do; may be empty

  std::string to_string() const;
  friend bool operator==(const ConversionNote&, const ConversionNote&) = default;
};

struct Conversion {
  std::vector<Json> policies;        ///< complete objects that are valid
  std::vector<std::string> sources;  ///< of each: its place in the input, "profiles[0]"
  std::vector<ConversionNote> notes;
  FieldErrors errors;  ///< not empty: the input is wrong, and `policies` is empty
};

/// Reads upstream's v1alpha2 (profiles) and v1alpha1 (strategies) policies and the chart's values out of a YAML or JSON
/// text of any number of documents; also out of ConfigMaps and Lists. One policy for each profile. What upstream passes
/// over in silence is noted, what it refuses is an error with its path. Never throws.
Conversion convert_upstream(std::string_view text, const StrategyCatalogue& catalogue, const UpstreamOptions& options);

}  // namespace api
