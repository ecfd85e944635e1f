#pragma once

/// Reads values of upstream's chart from the objects of chart installers. Internal to cmd/convert.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/convert/parts.hpp"
#include "cmd/convert/surroundings.hpp"

namespace convert {

/// Values that an object passes to a chart.
struct WrappedValues {
  std::string chart;         ///< name of the chart without its repository, else that of the release
  std::optional<int> minor;  ///< minor version of the chart
  Json values = Json::object();
  FieldPath at;  ///< path of the values
  /// Path of values that could not be read, such as "spec.valuesFrom". Empty if all were read.
  std::string unread{};
};

/// Returns the values in a Flux HelmRelease, an Argo CD Application or ApplicationSet, or a HelmChart or
/// HelmChartConfig of k3s and RKE2, one item per chart. Returns nullopt for other objects. Reads ConfigMaps of the same
/// input. If the chart may be upstream's, adds a note for values stored elsewhere.
std::optional<std::vector<WrappedValues>> unwrap_values(const Json& object, const FieldPath& at,
                                                        const InputIndex& around, ConversionContext& bench);

/// Returns true if the chart may be upstream's, judging by its name or by the values.
bool may_be_descheduler_chart(const WrappedValues& wrapped);

/// Converts a KubeDescheduler of OpenShift, whose operator renders a policy from the profiles listed in it.
void read_kube_descheduler(const Json& object, const FieldPath& at, ConversionContext& bench);

/// Returns true for the spec of a Descheduler of deckhouse.io, or its deschedulerPolicy: it has strategies in camelCase
/// or globalParameters.
bool is_deckhouse_spec(const Json& json);
void read_deckhouse(const Json& spec, const FieldPath& at, ConversionContext& bench);

/// Converts a DeschedulerConfiguration of koord-descheduler. LowNodeLoad becomes LowNodeUtilization with a usage source
/// of type Koordinator.
void read_koordinator(const Json& object, const FieldPath& at, ConversionContext& bench);

}  // namespace convert
