#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/descheduler_policy.hpp"
#include "api/evacuation.hpp"
#include "base/clock.hpp"
#include "base/result.hpp"
#include "cmd/input/dump_time.hpp"
#include "planner/snapshot/cluster_snapshot.hpp"

namespace cmd {

/// A cluster read from files with the output of `kubectl get nodes,pods,… -A -o json|yaml`.
struct Dump {
  scheduling::SnapshotInput objects;
  std::vector<api::DeschedulerPolicy> policies;  ///< valid policies; invalid ones count as skipped
  std::vector<api::Evacuation> evacuations;      ///< valid Evacuations; invalid ones count as skipped
  std::map<std::string, int> skipped;            ///< number of skipped objects by kind
  int skipped_files = 0;        ///< files of a directory without a Kubernetes object, or of another file type
  NewestTime newest_time;       ///< over all objects, including skipped ones
  int pods_of_unknown_age = 0;  ///< pods without a valid creationTimestamp
  int pods_without_spec = 0;    ///< pods whose spec is not an object
};

/// Reads a file, or the files of a directory tree (files_of). Supports gzip and concatenated outputs (parse_documents);
/// "-" is standard input. Distinguishes kinds by API group. An object in several files counts once. In a directory, a
/// file without a Kubernetes object is skipped and counted. Errors name the file and the location in it.
base::Result<Dump> load_dump(const std::string& path);

/// Reference time for ages.
struct Now {
  base::TimePoint time{};
  std::string source{};  ///< "--now", "the newest time in the dump (Node n-1, status.conditions[0].lastHeartbeatTime)"
};
/// Returns the time of --now, else the newest time in the dump. If there is none, the error asks for --now.
base::Result<Now> choose_now(const std::string& flag, const Dump& dump);

/// Returns a caveat about incomplete pods: the number without a valid creationTimestamp and the number without a spec.
/// Empty if all pods are complete.
std::string input_warnings(const Dump& dump);

}  // namespace cmd
