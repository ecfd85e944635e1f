#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "test/e2e/foresight/oracle.hpp"
#include "test/e2e/harness/api.hpp"
#include "test/e2e/harness/await.hpp"
#include "test/e2e/harness/environment.hpp"
#include "test/e2e/harness/kubectl.hpp"
#include "test/e2e/harness/manifests.hpp"
#include "test/e2e/harness/operator.hpp"

namespace e2e {

/// Shared by all scenarios of one run: the cluster with the CRDs and RBAC of config/ installed, and its clients.
class Suite {
 public:
  explicit Suite(const std::filesystem::path& scratch);

  Environment& cluster() { return *cluster_; }
  const Api& api() const { return *api_; }
  const Kubectl& kubectl() const { return *kubectl_; }
  const std::filesystem::path& operator_kubeconfig() const { return operator_kubeconfig_; }

 private:
  void start_proxy(const std::filesystem::path& scratch);
  void install();

  std::unique_ptr<Environment> cluster_;
  std::unique_ptr<Kubectl> kubectl_;
  std::unique_ptr<Process> proxy_;
  std::unique_ptr<Api> api_;
  std::filesystem::path operator_kubeconfig_;
};

struct PodInfo {
  std::string ns;
  std::string name;
  std::string uid;
  std::string node;
  std::string app;
};

/// One scenario with its own namespaces and operators. Removes everything at the end.
class Scenario : public ::testing::Test {
 public:
  static void use(Suite* suite, std::filesystem::path scratch);

 protected:
  Scenario();
  ~Scenario() override;

  Environment& cluster() const { return suite_->cluster(); }
  const Api& api() const { return suite_->api(); }
  const Kubectl& kubectl() const { return suite_->kubectl(); }
  const std::filesystem::path& folder() const { return folder_; }
  const std::string& ns() const { return namespaces_.front(); }
  /// Creates another namespace of this scenario.
  std::string another_namespace();

  Operator& start_operator(Operator::Settings settings = {}, bool wait_until_ready = true);
  /// Runs `evacuator run --once` with these flags to its end.
  Finished run_once(Operator::Settings settings, const std::vector<std::string>& flags);
  /// Applies config/optional/<name>.yaml on clusters with RBAC. Removed at the end.
  void grant(const std::string& name);
  /// Applies the policy, which is removed at the end.
  void apply_policy(const Json& policy);

  /// Cordons the node, which is uncordoned at the end.
  void cordon(const std::string& node);
  void uncordon(const std::string& node);
  /// Call if another program cordons the node, which is uncordoned at the end.
  void will_be_cordoned(const std::string& node) { cordoned_.insert(node); }
  std::vector<std::string> nodes() const;

  /// Waits until exactly `count` pods of the app are Ready and none is terminating.
  std::vector<PodInfo> await_pods(const std::string& ns, const std::string& app, int count) const;
  std::vector<PodInfo> deploy(const manifest::Workload& workload) const;
  /// Waits until the watcher has recorded the pod's deletion. Returns the first revision with it.
  static Json await_leaving(const Recorder& pods, const PodInfo& pod);
  /// Returns the UIDs of all pods in the namespace that have not ended. Newer kubelets set the final phase of a pod
  /// before they remove the object.
  std::set<std::string> pod_uids(const std::string& ns) const;
  /// Returns the nodes of the namespace's pods that have not ended; an empty name stands for pods without a node.
  std::set<std::string> nodes_in_use() const;
  /// Returns the smallest node's allocatable CPU in millicores: nodes of a stock kubemark have one core, those of
  /// hack/cluster have four.
  int cpu_of_nodes() const;
  /// Waits until no pod of an earlier scenario occupies a node, and every node is Ready. For scenarios that count the
  /// pods of a node or predict the scheduler's choice.
  void await_quiet() const;

  /// Creates an Evacuation with the name of the pod. Returns its name.
  std::string evacuate(const PodInfo& pod, const Json& spec = {}) const;
  Json evacuation(const std::string& ns, const std::string& name) const {
    return api().get(path::evacuations(ns, name));
  }
  /// Waits until the phase is one of `phases`. Returns the Evacuation.
  Json await_phase(const std::string& ns, const std::string& name, const std::set<std::string>& phases,
                   std::chrono::seconds limit = kPatience) const;
  /// Waits until all Evacuations of these pods are finished. Returns them by name.
  std::map<std::string, Json> await_finished(const std::vector<PodInfo>& pods,
                                             std::chrono::seconds limit = kPatience) const;

  /// Returns the server's records for pods of this scenario's namespaces.
  std::vector<PodCall> pod_calls() const;
  /// Fails the test unless each of `pods`, and no other, was evicted, see test/e2e/foresight/oracle.hpp.
  void expect_evicted(const std::vector<PodInfo>& pods) const;
  /// Fails the test for each misdeed of the operator, see test/e2e/foresight/oracle.hpp.
  void expect_no_misdeeds() const;

  /// Prints a line of the report, whatever the outcome.
  static void note(const std::string& text);

 private:
  void clear_away();
  void remove_taints() const;

  static Suite* suite_;
  static std::filesystem::path scratch_;
  static std::set<std::string> all_namespaces_;  ///< of all scenarios so far
  std::filesystem::path folder_;
  std::vector<std::string> namespaces_;
  std::vector<std::string> policies_;
  std::vector<std::string> roles_;  ///< files
  std::set<std::string> cordoned_;
  std::vector<std::unique_ptr<Operator>> operators_;
};

inline const std::set<std::string> kFinished{"Succeeded", "Failed", "Cancelled"};

/// Returns name, phase, reason and message of an Evacuation, for messages.
std::string summary(const Json& evacuation);
std::string phase_of(const Json& evacuation);
/// Returns the condition of this type, null if it does not exist.
Json condition(const Json& object, const std::string& type);
std::map<std::string, Place> places_of(const std::vector<PodInfo>& pods);

}  // namespace e2e
