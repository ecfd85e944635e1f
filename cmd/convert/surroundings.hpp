#pragma once

/// Objects in the same input as a policy that affect it, since `kubectl kustomize` and `helm template` render one
/// stream. Internal to cmd/convert.

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cmd/convert/parts.hpp"

namespace convert {

/// Maximum size of encoded text in a Secret or binaryData. etcd rejects objects above 1.5 MiB.
inline constexpr std::size_t kMaxEncoded = std::size_t{2} << 20;

/// Settings of upstream's process found in the input.
struct ProcessSettings {
  Draft common;                           ///< includes the schedule
  Json policy_defaults = Json::object();  ///< policy fields that old command-line flags set if the policy lacks them
};

/// A ConfigMap or Secret that supplies values. An empty namespace, as in unrendered manifests, matches any namespace.
struct ValuesRef {
  std::string kind;
  std::string ns;
  std::string name;
  /// Returns true if both may refer to the same object.
  bool fits(const ValuesRef& other) const;
};

/// Index of the objects in one input. The objects must outlive it.
class InputIndex {
 public:
  /// Indexes the object, or the objects of a List.
  void add(const Json& object, const FieldPath& at, int depth = 0);

  /// Returns the minor version of the chart that a HelmRelease gets from the OCIRepository or HelmChart of that name,
  /// nullopt if unknown.
  std::optional<int> chart_minor(const std::string& name) const;
  /// Returns the decoded text under `key` in the ConfigMap or Secret `lender`. Returns nullopt if it is not in the
  /// input, lacks the key, or cannot be decoded.
  std::optional<std::string> values_text(const ValuesRef& lender, const std::string& key) const;
  /// Returns true if a HelmRelease reads values from that ConfigMap or Secret, which is then not read as a policy.
  bool supplies_values(const Json& object) const;

  /// Returns the settings of the CronJob or Deployment that mounts the ConfigMap. An empty name selects the only such
  /// workload of the input.
  ProcessSettings started_with(const std::string& config_map, ConversionContext& bench) const;

 private:
  struct UpstreamWorkload {
    const Json* object;
    FieldPath at;
    std::vector<std::string> config_maps;  ///< names of mounted ConfigMaps
    std::vector<std::string> words;        ///< command line
    std::optional<int> minor;              ///< version of the image
  };
  struct Held {
    ValuesRef lender;
    const Json* object;
  };
  void note_lenders(const Json& object);
  void add_starter(const Json& object, const Json& pod_spec, const FieldPath& at);
  static void read_starter(const UpstreamWorkload& starter, ProcessSettings& started, ConversionContext& bench);

  std::map<std::string, int> chart_minors_;
  std::vector<Held> held_;          ///< ConfigMaps and Secrets
  std::vector<ValuesRef> lenders_;  ///< ConfigMaps and Secrets that HelmReleases reference for values
  std::vector<UpstreamWorkload> starters_;
};

}  // namespace convert
