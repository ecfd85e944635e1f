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

/// One step of the script: at `at` after the start the words are printed and the act is done.
struct ScriptStep {
  base::milliseconds at;
  std::string words;
  std::function<base::Status(kube::Client&)> act;
  /// The plan of this policy is printed after the act, once it is published; empty: none.
  std::string show_plan_of{};
};

/// Nodes, workloads and budgets that are there before the script starts.
base::Status set_stage(kube::Client& admin);

/// In order of time; lasts about 70 seconds.
std::vector<ScriptStep> demo_script();

}  // namespace cmd
