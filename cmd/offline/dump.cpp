#include "cmd/offline/dump.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>

#include "api/core/codec.hpp"
#include "api/json/field_path.hpp"
#include "api/json/json_access.hpp"
#include "api/json/strict_object.hpp"
#include "api/json/yaml.hpp"
#include "cmd/input/documents.hpp"
#include "cmd/input/files.hpp"
#include "cmd/input/listed.hpp"

namespace cmd {
namespace {

/// Returns the API group of an apiVersion: "apps" for "apps/v1", empty for "v1".
std::string group_of(const std::string& version) {
  const std::size_t slash = version.find('/');
  return slash == std::string::npos ? "" : version.substr(0, slash);
}

struct KindOfGroup {
  std::string_view kind;
  std::string_view group;
};
constexpr std::array kKinds = {
    KindOfGroup{"Pod", ""},
    KindOfGroup{"Node", ""},
    KindOfGroup{"Namespace", ""},
    KindOfGroup{"PersistentVolumeClaim", ""},
    KindOfGroup{"PersistentVolume", ""},
    KindOfGroup{"ReplicationController", ""},
    KindOfGroup{"PodDisruptionBudget", "policy"},
    KindOfGroup{"PriorityClass", "scheduling.k8s.io"},
    KindOfGroup{"StorageClass", "storage.k8s.io"},
    KindOfGroup{"CSINode", "storage.k8s.io"},
    KindOfGroup{"CSIDriver", "storage.k8s.io"},
    KindOfGroup{"CSIStorageCapacity", "storage.k8s.io"},
    KindOfGroup{"VolumeAttachment", "storage.k8s.io"},
    KindOfGroup{"ResourceClaim", "resource.k8s.io"},
    KindOfGroup{"PodGroup", "scheduling.k8s.io"},
    KindOfGroup{"ReplicaSet", "apps"},
    KindOfGroup{"Deployment", "apps"},
    KindOfGroup{"StatefulSet", "apps"},
    KindOfGroup{"Job", "batch"},
    KindOfGroup{"DeschedulerPolicy", "evacuator.dev"},
    KindOfGroup{"Evacuation", "evacuator.dev"},
};

/// Returns true if planning uses this kind. Checks the group, because other groups have kinds with the same names
/// (longhorn.io has Nodes). An empty version matches any group.
bool is_known(const std::string& kind, const std::string& version) {
  return std::ranges::any_of(kKinds, [&](const KindOfGroup& known) {
    return known.kind == kind && (version.empty() || known.group == group_of(version));
  });
}

/// Collects decoded objects and skips duplicates.
class DumpBuilder {
 public:
  /// Adds the items of a list or array, or a single object.
  base::Status add(const api::Json& document, const api::FieldPath& at) {
    return for_each_object(document, at, [this](const Listed& listed) { return take(listed); });
  }
  void skip_file() { ++dump_.skipped_files; }
  void pass_over_files(int files) { dump_.skipped_files += files; }

  Dump finish() && { return std::move(dump_); }

 private:
  base::Status take(const Listed& listed) {
    const auto& [object, kind, version, at] = listed;
    if (!object.is_object())
      return base::invalid(
          fmt::format("must be a Kubernetes object, not {}; dump with kubectl get … -o json", api::kind_of(object)));
    if (kind.empty()) return base::invalid("has no kind; dump with kubectl get … -o json");
    dump_.newest_time.look_at(object, kind);
    if (is_known(kind, version)) return take_known(kind, object);
    ++dump_.skipped[version.empty() ? kind : version + " " + kind];
    return base::Done{};
  }

  base::Status take_known(const std::string& kind, const api::Json& object) {
    const std::string text = api::to_json_text(object);
    auto& into = dump_.objects;
    if (kind == "Pod") return keep_pod(object, text);
    if (kind == "Node") return keep(kind, api::decode_node(text), into.nodes);
    if (kind == "Namespace") return keep(kind, api::decode_namespace(text), into.namespaces);
    if (kind == "PodDisruptionBudget") return keep(kind, api::decode_pdb(text), into.pdbs);
    if (kind == "PriorityClass") return keep(kind, api::decode_priority_class(text), into.priority_classes);
    if (kind == "PersistentVolumeClaim") return keep(kind, api::decode_pvc(text), into.claims);
    if (kind == "PersistentVolume") return keep(kind, api::decode_pv(text), into.volumes);
    if (kind == "StorageClass") return keep(kind, api::decode_storage_class(text), into.storage_classes);
    if (kind == "CSINode") return keep(kind, api::decode_csi_node(text), into.csi_nodes);
    if (kind == "CSIDriver") return keep(kind, api::decode_csi_driver(text), into.csi_drivers);
    if (kind == "CSIStorageCapacity")
      return keep(kind, api::decode_csi_storage_capacity(text), into.storage_capacities);
    if (kind == "VolumeAttachment") return keep(kind, api::decode_volume_attachment(text), into.volume_attachments);
    if (kind == "ResourceClaim") return keep(kind, api::decode_resource_claim(text), into.resource_claims);
    if (kind == "PodGroup") return keep(kind, api::decode_scheduling_pod_group(text), into.pod_groups);
    const bool ours = kind == "DeschedulerPolicy" || kind == "Evacuation";
    if (!ours) return keep(kind, api::decode_workload(text), into.workloads);
    const bool kept = kind == "Evacuation" ? keep_ours(api::decode_evacuation(text), dump_.evacuations)
                                           : keep_ours(api::decode_descheduler_policy(text), dump_.policies);
    if (!kept) ++dump_.skipped[kind];
    return base::Done{};
  }

  base::Status keep_pod(const api::Json& object, const std::string& text) {
    const std::size_t before = dump_.objects.pods.size();
    auto kept = keep("Pod", api::decode_pod(text), dump_.objects.pods);
    const api::Json* spec = api::find_at(object, {"spec"});
    const bool has_spec = spec != nullptr && spec->is_object();
    if (!has_spec && dump_.objects.pods.size() > before) ++dump_.pods_without_spec;
    return kept;
  }

  /// Stores a policy or Evacuation if it is valid. Planning does not require it, so an invalid one is not an error.
  template <typename T>
  bool keep_ours(base::Result<T> decoded, std::vector<T>& into) {
    if (!decoded || decoded->meta.name.empty()) return false;
    into.push_back(*std::move(decoded));
    return true;
  }

  template <typename T>
  base::Status keep(const std::string& kind, base::Result<T> decoded, std::vector<std::shared_ptr<const T>>& into) {
    if (!decoded) return decoded.error().during(kind);
    if (decoded->meta.name.empty()) return base::invalid(kind + " without metadata.name");
    if (!seen_.insert({kind, decoded->meta.key()}).second) return base::Done{};
    if constexpr (std::is_same_v<T, api::Pod>)
      dump_.pods_of_unknown_age += is_unknown(decoded->meta.creation_timestamp);
    into.push_back(std::make_shared<const T>(*std::move(decoded)));
    return base::Done{};
  }

  static bool is_unknown(base::TimePoint time) { return time == base::TimePoint{}; }

  Dump dump_;
  std::set<std::pair<std::string, api::ObjectKey>> seen_;
};

/// Returns true if the document does not look like a Kubernetes object.
bool is_foreign(const api::Json& document) {
  if (document.is_array()) return std::ranges::all_of(document, is_foreign);
  return !document.is_object() || (!document.contains("kind") && !document.contains("items"));
}

base::Status add_documents(const std::vector<api::Json>& documents, DumpBuilder& builder) {
  for (std::size_t i = 0; i < documents.size(); ++i) {
    const bool only = documents.size() == 1;
    auto added = builder.add(documents[i], only ? api::FieldPath() : api::FieldPath("documents").index(i));
    if (!added) return added;
  }
  return base::Done{};
}

std::string name_of(const std::string& path) { return path == "-" ? "standard input" : path; }

/// Reads a file. A file named by the user must be readable; a file found in a directory may be anything, such as an
/// archive or a picture.
base::Status add_file(const std::string& path, bool may_be_foreign, DumpBuilder& builder) {
  auto bytes = read_file(path);
  if (!bytes) return bytes.error();
  const auto text = text_of(*std::move(bytes), kMaxDumpBytes);
  if (!text && !may_be_foreign) return text.error().during(name_of(path));
  if (!text) {
    builder.skip_file();
    return base::Done{};
  }
  auto documents = parse_documents(*text, RepeatedKeys::kLastWins);
  if (!documents) {
    const bool foreign = text->find("apiVersion") == std::string::npos;
    if (!may_be_foreign || !foreign) return documents.error().during(name_of(path));
    builder.skip_file();
    return base::Done{};
  }
  if (!may_be_foreign && documents->empty())
    return base::invalid(fmt::format("{}: {}", name_of(path), api::kEmptyInput));
  if (may_be_foreign && std::erase_if(*documents, is_foreign) > 0 && documents->empty()) builder.skip_file();
  auto added = add_documents(*documents, builder);
  return added ? added : added.error().during(name_of(path));
}

}  // namespace

base::Result<Now> choose_now(const std::string& flag, const Dump& dump) {
  const NewestTime& newest = dump.newest_time;
  if (flag.empty()) {
    if (newest.time()) return Now{*newest.time(), fmt::format("the newest time in the dump ({})", newest.where())};
    return base::invalid(
        "no object of the dump has a readable time, so the current time is unknown: pass --now TIME (RFC 3339)");
  }
  if (const auto time = base::parse_time(flag)) return Now{*time, "--now"};
  return base::invalid(fmt::format("--now: \"{}\" is not an RFC 3339 time such as 2026-11-21T12:00:00Z", flag));
}

std::string input_warnings(const Dump& dump) {
  std::string caveats;
  const auto add = [&](int pods, const char* what) {
    if (pods == 0) return;
    caveats += fmt::format("{}{} of {} pods have no readable {}", caveats.empty() ? "" : "; ", pods,
                           dump.objects.pods.size(), what);
  };
  add(dump.pods_of_unknown_age, "creationTimestamp: their age is unknown, and is not used for decisions");
  add(dump.pods_without_spec, "spec: their node is unknown, and they are left out");
  return caveats;
}

base::Result<Dump> load_dump(const std::string& path) {
  const auto set = files_of(path);
  if (!set) return set.error();
  DumpBuilder builder;
  builder.pass_over_files(set->foreign);
  for (const std::string& file : set->files) {
    if (auto added = add_file(file, set->is_directory, builder); !added) return added.error();
  }
  return std::move(builder).finish();
}

}  // namespace cmd
