#pragma once

/// Converts policies of kubernetes-sigs/descheduler to our DeschedulerPolicy objects. Pure. See docs/convert.md; for
/// upstream's semantics see upstream-semantics.md#policy-file.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/descheduler_policy.hpp"
#include "api/json/field_path.hpp"
#include "api/json/json.hpp"
#include "base/clock.hpp"

namespace convert {

using api::FieldError;
using api::FieldErrors;
using api::FieldPath;
using api::Json;
using api::PolicyMode;
using api::PolicySchedule;
using api::StrategyChoice;

/// Functions of other packages, passed in so that this converter does not depend on them.
struct StrategyCatalogue {
  std::vector<std::string_view> names;
  /// Validates the args of strategies. Errors have paths that begin with "spec.strategies[0].args"; empty if valid.
  std::function<FieldErrors(const std::vector<StrategyChoice>&)> check;
  /// Validates a schedule beyond its format. If empty, schedules are not checked.
  std::function<FieldErrors(const PolicySchedule&)> check_schedule{};
};

struct UpstreamOptions {
  PolicyMode mode = PolicyMode::kDryRun;
  std::string compatibility = "Upstream";  ///< compatibility of the policies; "None" fixes upstream's known bugs
  std::optional<base::seconds> interval;   ///< interval between cycles; upstream has a flag for it, but no field
  /// Minor version of the Helm chart whose defaults apply, such as 29 for 0.29.1. If absent, the version in the input,
  /// else the newest.
  std::optional<int> chart_minor{};
};

/// What happened to a part of the input that was not converted one-to-one.
enum class NoteKind {
  kDropped,  ///< has no equivalent: decisions may differ
  kAdded,    ///< not in the input: a default of the Helm chart
  kChanged,  ///< converted to a different form that should be reviewed
  kIgnored,  ///< upstream ignores it, too
};
std::string_view to_string(NoteKind kind);

/// Returns the minor version, such as 29 for "0.29.1", "v0.29" or "~0.29". Returns nullopt for ranges and for text that
/// is not a version of the chart.
std::optional<int> chart_minor_of(std::string_view version);

struct ConversionNote {
  NoteKind kind = NoteKind::kDropped;
  std::string path;    ///< path in the input
  std::string why;     ///< one sentence, without a full stop
  std::string advice;  ///< what to do; may be empty

  std::string to_string() const;
  friend bool operator==(const ConversionNote&, const ConversionNote&) = default;
};

struct Conversion {
  std::vector<Json> policies;        ///< complete, valid objects
  std::vector<std::string> sources;  ///< parallel to `policies`: path in the input, such as "profiles[0]"
  std::vector<ConversionNote> notes;
  FieldErrors errors;  ///< if not empty, the input is invalid and `policies` is empty
};

/// Reads upstream's v1alpha2 (profiles) and v1alpha1 (strategies) policies and values of the chart from YAML or JSON
/// text with any number of documents, including those in ConfigMaps and Lists. Returns one policy per profile. Parts
/// that upstream silently ignores are noted; parts that upstream rejects are errors with their path. Never throws.
Conversion convert_upstream(std::string_view text, const StrategyCatalogue& catalogue, const UpstreamOptions& options);

}  // namespace convert
