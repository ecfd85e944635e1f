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

/// Collects decoded objects and skips duplicates.
class DumpBuilder {
 public:
  /// Adds the items of a list or array, or a single object.
  base::Status add(const api::Json& document, const api::FieldPath& at) {
    return for_each_object(document, at, [this](const Listed& listed) { return take(listed); });
  }
  void skip_files(int files) { dump_.skipped_files += files; }

  Dump finish() && { return std::move(dump_); }

 private:
  base::Status take(const Listed& listed) {
    const auto& [object, kind, version, at] = listed;
    if (!object.is_object())
      return base::invalid(
          fmt::format("must be a Kubernetes object, not {}; dump with kubectl get … -o json", api::kind_of(object)));
    if (kind.empty()) return base::invalid("has no kind; dump with kubectl get … -o json");
    dump_.newest_time.look_at(object, kind);
    if (const KnownKind* known = known_kind(kind, version)) return (this->*known->keep)(kind, object);
    ++dump_.skipped[version.empty() ? kind : version + " " + kind];
    return base::Done{};
  }

  using Objects = scheduling::SnapshotInput;

  /// A kind that planning uses.
  struct KnownKind {
    std::string_view kind;
    std::string_view group;
    base::Status (DumpBuilder::*keep)(const std::string& kind, const api::Json& object);
  };

  /// Returns nullptr if planning does not use the kind. Checks the group, because other groups have kinds with the same
  /// names (longhorn.io has Nodes). An empty version matches any group.
  static const KnownKind* known_kind(const std::string& kind, const std::string& version) {
    using B = DumpBuilder;
    static constexpr std::array kKinds = {
        KnownKind{"Pod", "", &B::keep_pod},
        KnownKind{"Node", "", &B::keep<api::decode_node, &Objects::nodes>},
        KnownKind{"Namespace", "", &B::keep<api::decode_namespace, &Objects::namespaces>},
        KnownKind{"PersistentVolumeClaim", "", &B::keep<api::decode_pvc, &Objects::claims>},
        KnownKind{"PersistentVolume", "", &B::keep<api::decode_pv, &Objects::volumes>},
        KnownKind{"ReplicationController", "", &B::keep<api::decode_workload, &Objects::workloads>},
        KnownKind{"PodDisruptionBudget", "policy", &B::keep<api::decode_pdb, &Objects::pdbs>},
        KnownKind{"PriorityClass", "scheduling.k8s.io",
                  &B::keep<api::decode_priority_class, &Objects::priority_classes>},
        KnownKind{"StorageClass", "storage.k8s.io", &B::keep<api::decode_storage_class, &Objects::storage_classes>},
        KnownKind{"CSINode", "storage.k8s.io", &B::keep<api::decode_csi_node, &Objects::csi_nodes>},
        KnownKind{"CSIDriver", "storage.k8s.io", &B::keep<api::decode_csi_driver, &Objects::csi_drivers>},
        KnownKind{"CSIStorageCapacity", "storage.k8s.io",
                  &B::keep<api::decode_csi_storage_capacity, &Objects::storage_capacities>},
        KnownKind{"VolumeAttachment", "storage.k8s.io",
                  &B::keep<api::decode_volume_attachment, &Objects::volume_attachments>},
        KnownKind{"ResourceClaim", "resource.k8s.io", &B::keep<api::decode_resource_claim, &Objects::resource_claims>},
        KnownKind{"PodGroup", "scheduling.k8s.io", &B::keep<api::decode_scheduling_pod_group, &Objects::pod_groups>},
        KnownKind{"ReplicaSet", "apps", &B::keep<api::decode_workload, &Objects::workloads>},
        KnownKind{"Deployment", "apps", &B::keep<api::decode_workload, &Objects::workloads>},
        KnownKind{"StatefulSet", "apps", &B::keep<api::decode_workload, &Objects::workloads>},
        KnownKind{"Job", "batch", &B::keep<api::decode_workload, &Objects::workloads>},
        KnownKind{"DeschedulerPolicy", "evacuator.dev",
                  &B::keep_ours<api::DeschedulerPolicy, api::decode_descheduler_policy, &Dump::policies>},
        KnownKind{"Evacuation", "evacuator.dev",
                  &B::keep_ours<api::Evacuation, api::decode_evacuation, &Dump::evacuations>},
    };
    const auto known = std::ranges::find_if(kKinds, [&](const KnownKind& each) {
      return each.kind == kind && (version.empty() || each.group == group_of(version));
    });
    return known == kKinds.end() ? nullptr : &*known;
  }

  template <auto Decode, auto List>
  base::Status keep(const std::string& kind, const api::Json& object) {
    auto decoded = Decode(api::to_json_text(object));
    if (!decoded) return decoded.error().during(kind);
    if (decoded->meta.name.empty()) return base::invalid(kind + " without metadata.name");
    if (!seen_.insert({kind, decoded->meta.key()}).second) return base::Done{};
    auto& list = dump_.objects.*List;
    list.push_back(
        std::make_shared<typename std::decay_t<decltype(list)>::value_type::element_type>(*std::move(decoded)));
    return base::Done{};
  }

  base::Status keep_pod(const std::string& kind, const api::Json& object) {
    const auto& pods = dump_.objects.pods;
    const std::size_t before = pods.size();
    auto kept = keep<api::decode_pod, &Objects::pods>(kind, object);
    if (pods.size() == before) return kept;
    dump_.pods_of_unknown_age += pods.back()->meta.creation_timestamp == base::TimePoint{};
    const api::Json* spec = api::find_at(object, {"spec"});
    dump_.pods_without_spec += spec == nullptr || !spec->is_object();
    return kept;
  }

  /// Stores a policy or Evacuation if it is valid. Planning does not require it, so an invalid one is not an error.
  template <typename T, base::Result<T> (*Decode)(std::string_view), std::vector<T> Dump::*List>
  base::Status keep_ours(const std::string& kind, const api::Json& object) {
    auto decoded = Decode(api::to_json_text(object));
    if (decoded && !decoded->meta.name.empty()) {
      (dump_.*List).push_back(*std::move(decoded));
    } else {
      ++dump_.skipped[kind];
    }
    return base::Done{};
  }

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

/// Reads a file. A file named by the user must be readable; a file found in a directory may be anything, such as an
/// archive or a picture.
base::Status add_file(const std::string& path, bool may_be_foreign, DumpBuilder& builder) {
  auto bytes = read_file(path);
  if (!bytes) return bytes.error();
  const auto text = text_of(*std::move(bytes), kMaxDumpBytes);
  if (!text && !may_be_foreign) return text.error().during(shown_path(path));
  if (!text) {
    builder.skip_files(1);
    return base::Done{};
  }
  auto documents = parse_documents(*text, RepeatedKeys::kLastWins);
  if (!documents) {
    const bool foreign = text->find("apiVersion") == std::string::npos;
    if (!may_be_foreign || !foreign) return documents.error().during(shown_path(path));
    builder.skip_files(1);
    return base::Done{};
  }
  if (!may_be_foreign && documents->empty())
    return base::invalid(fmt::format("{}: {}", shown_path(path), api::kEmptyInput));
  if (may_be_foreign && std::erase_if(*documents, is_foreign) > 0 && documents->empty()) builder.skip_files(1);
  auto added = add_documents(*documents, builder);
  return added ? added : added.error().during(shown_path(path));
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
  builder.skip_files(set->foreign);
  for (const std::string& file : set->files) {
    if (auto added = add_file(file, set->is_directory, builder); !added) return added.error();
  }
  return std::move(builder).finish();
}

}  // namespace cmd
