#pragma once

/// The script of `evacuator-demo`: what happens when, and the words for it. Acts through the Kubernetes API
/// only, as a person with kubectl would.

#include <functional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "kube/client.hpp"

namespace cmd {

/// A step of the script. At `at` after the start, prints `words` and runs `act`.
struct ScriptStep {
  base::milliseconds at;
  std::string words;
  std::function<base::Status(kube::Client&)> act;
  /// Policy whose plan is printed after `act`, once published. Empty for none.
  std::string show_plan_of{};
};

/// Creates the nodes, workloads and budgets that the script starts with.
base::Status create_initial_objects(kube::Client& admin);

/// Returns the steps ordered by time. The script takes about 70 seconds.
std::vector<ScriptStep> demo_script();

}  // namespace cmd
