#pragma once

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "api/json/json.hpp"
#include "kube/resource.hpp"

namespace simulator {

/// Properties of a served kind defined by a CustomResourceDefinition.
struct CustomKind {
  std::string definition;  ///< name of the CRD
  api::Json schema;        ///< openAPIV3Schema, null if absent
  api::Json columns;       ///< additionalPrinterColumns (array)
  api::Json selectable;    ///< selectableFields (array)
  api::Json scale;         ///< subresources.scale, null if absent
};

/// Conversion between the stored and the served version.
enum class Conversion { kNone, kCoreEvent };

/// A kind at one version as served by the API. Immutable; held by shared_ptr because `storage` points into it.
struct ServedResource {
  std::string group;
  std::string version;
  std::string plural;
  std::string singular;
  std::string kind;
  std::string list_kind;
  std::vector<std::string> short_names;
  std::vector<std::string> categories;
  bool namespaced = true;
  bool has_status = false;  ///< has a status subresource
  bool has_scale = false;
  bool status_on_create = false;  ///< a create keeps the client's status (Node)
  Conversion conversion = Conversion::kNone;
  std::shared_ptr<const CustomKind> custom;  ///< nullptr for built-in kinds
  kube::ResourceType storage;                ///< type under which the store keeps the objects

  std::string api_version() const { return group.empty() ? version : group + "/" + version; }
};
using ServedPtr = std::shared_ptr<const ServedResource>;

/// Version of the policy group. Servers before 1.21 have only v1beta1.
enum class PolicyVersion { kV1, kV1beta1 };

/// All served kinds: the built-in ones and those of installed CRDs. Thread-safe.
class Registry {
 public:
  explicit Registry(PolicyVersion policy);

  /// Returns nullptr if the resource is not served.
  ServedPtr find(std::string_view group, std::string_view version, std::string_view plural) const;
  /// Returns all resources ordered by group (core first), version and plural.
  std::vector<ServedPtr> all() const;
  /// Returns the versions of each group except core, preferred version first.
  std::vector<std::pair<std::string, std::vector<std::string>>> groups() const;

  /// Serves all served versions of the CRD and replaces what the CRD served before.
  void serve(const api::Json& definition);
  void stop_serving(const std::string& definition_name);
  /// Returns a resource of another CRD or a built-in kind in the same group that already uses a name of `definition`,
  /// nullptr if there is none.
  ServedPtr conflicting_resource(const api::Json& definition) const;

 private:
  struct Order {
    using is_transparent = void;
    using View = std::tuple<std::string_view, std::string_view, std::string_view>;
    static View view(const View& view) { return view; }
    static View view(const std::array<std::string, 3>& name) { return {name[0], name[1], name[2]}; }
    template <typename A, typename B>
    bool operator()(const A& a, const B& b) const {
      return view(a) < view(b);
    }
  };
  using Table = std::map<std::array<std::string, 3>, ServedPtr, Order>;

  void add_locked(std::shared_ptr<ServedResource> resource);
  void stop_serving_locked(const std::string& definition_name);

  mutable std::mutex mutex_;
  Table table_;
};

}  // namespace simulator
