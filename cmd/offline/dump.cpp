#include "cmd/offline/dump.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

#include "api/core/codec.hpp"
#include "api/json/json.hpp"
#include "api/json/yaml.hpp"

namespace cmd {
namespace {

namespace fs = std::filesystem;

/// Collects decoded objects and remembers which were seen.
class DumpBuilder {
 public:
  /// Takes a List's items or one object.
  base::Status add(const api::Json& object) {
    const auto items = object.find("items");
    if (items == object.end() || !items->is_array()) return add_one(object, {});
    // The items of a typed list (PodList) do not say their kind.
    std::string kind = object.value("kind", "");
    kind = kind == "List" || !kind.ends_with("List") ? "" : kind.substr(0, kind.size() - 4);
    for (const api::Json& item : *items) {
      if (auto added = add_one(item, kind); !added) return added;
    }
    return base::Done{};
  }

  Dump finish() && { return std::move(dump_); }

 private:
  base::Status add_one(const api::Json& object, const std::string& fallback_kind) {
    if (!object.is_object()) return base::invalid("expected Kubernetes objects");
    const auto found = object.find("kind");
    const std::string kind = found != object.end() && found->is_string() ? found->get<std::string>() : fallback_kind;
    if (kind.empty()) return base::invalid("an object has no kind");
    const std::string text = api::to_json_text(object);
    auto& into = dump_.objects;
    if (kind == "Pod") return keep(kind, api::decode_pod(text), into.pods);
    if (kind == "Node") return keep(kind, api::decode_node(text), into.nodes);
    if (kind == "Namespace") return keep(kind, api::decode_namespace(text), into.namespaces);
    if (kind == "PodDisruptionBudget") return keep(kind, api::decode_pdb(text), into.pdbs);
    if (kind == "PriorityClass") return keep(kind, api::decode_priority_class(text), into.priority_classes);
    if (kind == "PersistentVolumeClaim") return keep(kind, api::decode_pvc(text), into.claims);
    if (kind == "PersistentVolume") return keep(kind, api::decode_pv(text), into.volumes);
    if (kind == "StorageClass") return keep(kind, api::decode_storage_class(text), into.storage_classes);
    if (kind == "CSINode") return keep(kind, api::decode_csi_node(text), into.csi_nodes);
    if (kind == "ResourceClaim") return keep(kind, api::decode_resource_claim(text), into.resource_claims);
    if (is_workload(kind)) return keep(kind, api::decode_workload(text), into.workloads);
    if (kind == "DeschedulerPolicy" && keep_ours(api::decode_descheduler_policy(text), dump_.policies))
      return base::Done{};
    if (kind == "Evacuation" && keep_ours(api::decode_evacuation(text), dump_.evacuations)) return base::Done{};
    ++dump_.skipped[kind];
    return base::Done{};
  }

  /// Planning needs none of them, so a bad one does no harm.
  template <typename T>
  bool keep_ours(base::Result<T> decoded, std::vector<T>& into) {
    if (!decoded || decoded->meta.name.empty()) return false;
    into.push_back(*std::move(decoded));
    return true;
  }

  static bool is_workload(const std::string& kind) {
    static const std::set<std::string> kWorkloads = {"ReplicaSet", "Deployment", "StatefulSet", "Job",
                                                     "ReplicationController"};
    return kWorkloads.contains(kind);
  }

  template <typename T>
  base::Status keep(const std::string& kind, base::Result<T> decoded, std::vector<std::shared_ptr<const T>>& into) {
    if (!decoded) return decoded.error().during(kind);
    if (decoded->meta.name.empty()) return base::invalid(kind + " without metadata.name");
    note_time(decoded->meta.creation_timestamp);
    if constexpr (std::is_same_v<T, api::Pod>) note_pod_times(*decoded);
    if (!seen_.insert({kind, decoded->meta.key()}).second) return base::Done{};
    if constexpr (std::is_same_v<T, api::Pod>)
      dump_.pods_of_unknown_age += is_unknown(decoded->meta.creation_timestamp);
    into.push_back(std::make_shared<const T>(*std::move(decoded)));
    return base::Done{};
  }

  void note_pod_times(const api::Pod& pod) {
    if (pod.start_time) note_time(*pod.start_time);
    for (const api::Condition& condition : pod.conditions) note_time(condition.last_transition_time);
  }
  static bool is_unknown(base::TimePoint time) { return time == base::TimePoint{}; }
  void note_time(base::TimePoint time) {
    if (is_unknown(time)) return;
    if (!dump_.newest_time || time > *dump_.newest_time) dump_.newest_time = time;
  }

  Dump dump_;
  std::set<std::pair<std::string, api::ObjectKey>> seen_;
};

base::Status add_file(const std::string& path, DumpBuilder& builder) {
  auto text = read_file(path);
  if (!text) return text.error();
  std::vector<api::Json> documents;
  const auto first = text->find_first_not_of(" \t\r\n");
  if (first == std::string::npos) return base::Done{};
  if ((*text)[first] == '{') {
    auto parsed = api::parse_json(*text);
    if (!parsed) return parsed.error().during(path);
    documents.push_back(*std::move(parsed));
  } else {
    auto parsed = api::parse_yaml(*text);
    if (!parsed) return parsed.error().during(path);
    documents = *std::move(parsed);
  }
  for (const api::Json& document : documents) {
    if (document.is_null()) continue;
    if (auto added = builder.add(document); !added) return added.error().during(path);
  }
  return base::Done{};
}

base::Result<std::vector<std::string>> files_of(const std::string& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return std::vector<std::string>{path};
  std::vector<std::string> files;
  for (fs::directory_iterator at(path, error), end; !error && at != end; at.increment(error)) {
    const std::string extension = at->path().extension().string();
    if (extension == ".json" || extension == ".yaml" || extension == ".yml") files.push_back(at->path().string());
  }
  if (error) return base::invalid(fmt::format("{}: {}", path, error.message()));
  if (files.empty()) return base::invalid(path + ": no .json, .yaml or .yml file in this directory");
  std::ranges::sort(files);
  return files;
}

}  // namespace

base::Result<base::TimePoint> choose_now(const std::string& flag, const Dump& dump) {
  if (flag.empty()) {
    if (dump.newest_time) return *dump.newest_time;
    return base::invalid(
        "no object of the dump has a readable time, so \"now\" is unknown: pass --now TIME (RFC 3339)");
  }
  if (const auto time = base::parse_time(flag)) return *time;
  return base::invalid(fmt::format("--now: \"{}\" is no RFC 3339 time such as 2026-11-21T12:00:00Z", flag));
}

std::string age_warning(const Dump& dump) {
  if (dump.pods_of_unknown_age == 0) return {};
  return fmt::format(
      "{} of {} pods have no readable creationTimestamp: their age is unknown, and nothing is decided by it",
      dump.pods_of_unknown_age, dump.objects.pods.size());
}

base::Result<std::string> read_file(const std::string& path, std::size_t limit) {
  if (path == "-") return std::string(std::istreambuf_iterator<char>(std::cin), {});
  std::error_code error;
  if (fs::is_directory(path, error)) return base::invalid(path + ": is a directory");
  std::ifstream file(path, std::ios::binary);
  if (!file) return base::invalid(fmt::format("{}: {}", path, std::strerror(errno)));
  const auto size = fs::file_size(path, error);
  if (!error && size > limit) return base::invalid(fmt::format("{}: larger than {} MiB", path, limit >> 20));
  return std::string(std::istreambuf_iterator<char>(file), {});
}

base::Result<Dump> load_dump(const std::string& path) {
  const auto files = files_of(path);
  if (!files) return files.error();
  DumpBuilder builder;
  for (const std::string& file : *files) {
    if (auto added = add_file(file, builder); !added) return added.error();
  }
  return std::move(builder).finish();
}

}  // namespace cmd
