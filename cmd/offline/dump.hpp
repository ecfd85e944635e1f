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

/// A cluster read from files: what `kubectl get nodes,pods,… -A -o json|yaml` printed.
struct Dump {
  scheduling::SnapshotInput objects;
  std::vector<api::DeschedulerPolicy> policies;  ///< those that decode; the others count as skipped
  std::vector<api::Evacuation> evacuations;      ///< the same
  std::map<std::string, int> skipped;            ///< kinds that planning does not need, with how many there were
  int skipped_files = 0;                         ///< of a directory: without a Kubernetes object, or of another type
  NewestTime newest_time;                        ///< of all objects, those that planning does not need included
  int pods_of_unknown_age = 0;                   ///< without a creationTimestamp that can be read
  int pods_without_spec = 0;                     ///< whose spec is no object
};

/// Reads one file, or those of a directory and below it (files_of); gzip and the ways in which shells join outputs
/// included (parse_documents). Kinds are told by their API group, too; an object that stands in several files counts
/// once. "-" is standard input. A file of a directory that holds no Kubernetes object is passed over and counted.
/// Errors name the file and the place in it.
base::Result<Dump> load_dump(const std::string& path);

/// The time that ages are counted from.
struct Now {
  base::TimePoint time{};
  std::string source{};  ///< "--now", "the newest time in the dump (Node n-1, status.conditions[0].lastHeartbeatTime)"
};
/// What --now says; without it the newest time in the dump. An error asks for --now when there is none.
base::Result<Now> choose_now(const std::string& flag, const Dump& dump);

/// What is to be known of pods that cannot be read whole: how many have no readable creationTimestamp, and how many no
/// spec. "" when all can.
std::string caveats_of(const Dump& dump);

}  // namespace cmd
