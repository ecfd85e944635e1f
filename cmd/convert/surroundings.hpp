#pragma once

/// What stands in the same input as a policy and belongs to it: what `kubectl kustomize` and `helm template` render is
/// one stream. Internal to cmd/convert.

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cmd/convert/parts.hpp"

namespace api::upstream {

/// In a Secret or binaryData: etcd takes no object above 1.5 MiB.
inline constexpr std::size_t kMaxEncoded = std::size_t{2} << 20;

/// What upstream's process is started with, where the input has it.
struct StartedWith {
  Draft common;                           ///< with the schedule
  Json policy_defaults = Json::object();  ///< fields that old flags give to a policy that lacks them
};

/// A ConfigMap or Secret. Without a namespace, as manifests before their rendering, it may be of any.
struct Lender {
  std::string kind;
  std::string ns;
  std::string name;
  /// True if both may mean the same object.
  bool fits(const Lender& other) const;
};

/// Objects of one input by name. They must live as long as this does.
class Surroundings {
 public:
  /// Takes note of the object, or of those in a List.
  void add(const Json& object, const FieldPath& at, int depth = 0);

  /// Of the chart that a HelmRelease takes from the OCIRepository or HelmChart of that name.
  std::optional<int> chart_minor(const std::string& name) const;
  /// What the ConfigMap or Secret `lender` has under `key`, decoded; nullopt: it is not in the input, lacks the key, or
  /// the value cannot be decoded.
  std::optional<std::string> lent_text(const Lender& lender, const std::string& key) const;
  /// True if values of a HelmRelease come from that ConfigMap or Secret: then it is no policy by itself.
  bool lends_values(const Json& object) const;

  /// How the CronJob or Deployment that mounts the ConfigMap starts upstream. Without a name: the only one there is.
  StartedWith started_with(const std::string& config_map, Workbench& bench) const;

 private:
  struct Starter {
    const Json* object;
    FieldPath at;
    std::vector<std::string> config_maps;  ///< that it mounts
    std::vector<std::string> words;        ///< of its command line
    std::optional<int> minor;              ///< of its image
  };
  struct Held {
    Lender lender;
    const Json* object;
  };
  void note_lenders(const Json& object);
  void add_starter(const Json& object, const Json& pod_spec, const FieldPath& at);
  static void read_starter(const Starter& starter, StartedWith& started, Workbench& bench);

  std::map<std::string, int> chart_minors_;
  std::vector<Held> held_;       ///< ConfigMaps and Secrets
  std::vector<Lender> lenders_;  ///< of values, as those name them who use these
  std::vector<Starter> starters_;
};

}  // namespace api::upstream
