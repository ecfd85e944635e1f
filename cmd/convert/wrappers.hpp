#pragma once

/// Values of upstream's chart inside the objects of those who install charts. Internal to cmd/convert.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/convert/parts.hpp"
#include "cmd/convert/surroundings.hpp"

namespace api::upstream {

/// Values that an object gives to a chart.
struct WrappedValues {
  std::string chart;         ///< name of the chart without its repository, else of the release
  std::optional<int> minor;  ///< of the chart's version
  Json values = Json::object();
  FieldPath at;  ///< of the values
  /// Where values stand that could not be read, "spec.valuesFrom"; empty: all were read.
  std::string unread{};
};

/// The values in a Flux HelmRelease, an Argo CD Application or ApplicationSet, or a HelmChart or HelmChartConfig of k3s
/// and RKE2; one for each chart in it. nullopt: the object is none of these. What stands elsewhere than in the object
/// is noted as soon as the chart may be upstream's; ConfigMaps of the same input are read.
std::optional<std::vector<WrappedValues>> unwrap_values(const Json& object, const FieldPath& at,
                                                        const Surroundings& around, Workbench& bench);

/// True if the values, or those of the sub-chart in them, have a policy.
bool has_policy(const WrappedValues& wrapped);

/// True if this may be upstream's chart: by its name or by what the values hold.
bool is_about_descheduler(const WrappedValues& wrapped);

/// A KubeDescheduler of OpenShift: its operator makes a policy of the profiles that it names.
void read_kube_descheduler(const Json& object, const FieldPath& at, Workbench& bench);

/// The spec of a Descheduler of deckhouse.io, or its deschedulerPolicy: strategies in camelCase, globalParameters.
bool is_deckhouse_spec(const Json& json);
void read_deckhouse(const Json& spec, const FieldPath& at, Workbench& bench);

/// A DeschedulerConfiguration of koord-descheduler: LowNodeLoad becomes LowNodeUtilization by a usage source of type
/// Koordinator.
void read_koordinator(const Json& object, const FieldPath& at, Workbench& bench);

// --- what an input in which no policy was found may be, for its error

/// Behind an error about a text that is no object.
inline constexpr std::string_view kHowToGet =
    "; give it YAML or JSON, such as `kubectl get configmap NAME -o yaml` or `helm get values --all RELEASE` prints";

/// What is wrong because it is not rendered yet, or no manifest at all; "" when nothing looks so.
std::string template_hint(std::string_view text);

/// The command that makes manifests of an object that is none itself; "": it is none of these.
std::string renderer_of(const Json& json);

/// Where inside of `json` a policy, values of the chart or a KubeDescheduler seem to stand, the first; nullopt:
/// nowhere. Looks 32 levels deep.
std::optional<FieldPath> deeper_policy(const Json& json, const FieldPath& at);

}  // namespace api::upstream
