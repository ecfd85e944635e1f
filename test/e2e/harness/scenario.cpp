#include "test/e2e/harness/scenario.hpp"

#include <algorithm>
#include <iostream>
#include <random>

namespace e2e {
namespace {

std::string repository(std::string_view below) { return std::string(EVACUATOR_SOURCE_DIR) + "/" + std::string(below); }

void apply_folder(const Kubectl& kubectl, std::string_view folder) {
  std::vector<std::string> command{"apply"};
  for (const auto& entry : std::filesystem::directory_iterator(repository(folder))) {
    const std::filesystem::path& file = entry.path();
    if (file.extension() == ".yaml" && file.filename() != "kustomization.yaml")
      command.push_back("--filename=" + file.string());
  }
  kubectl(command);
}

void apply_file(const Kubectl& kubectl, std::string_view file) { kubectl({"apply", "--filename=" + repository(file)}); }

bool is_ready(const Json& object) { return text_at(condition(object, "Ready"), "/status") == "True"; }
bool has_ended(const Json& pod) {
  const std::string phase = text_at(pod, "/status/phase");
  return phase == "Succeeded" || phase == "Failed";
}
bool is_terminating(const Json& pod) { return pod.at("metadata").contains("deletionTimestamp"); }

PodInfo info_of(const Json& pod) {
  return {text_at(pod, "/metadata/namespace"), text_at(pod, "/metadata/name"), text_at(pod, "/metadata/uid"),
          text_at(pod, "/spec/nodeName"), text_at(pod, "/metadata/labels/app")};
}

std::string random_suffix() {
  static std::mt19937 random(std::random_device{}());
  static constexpr std::string_view kLetters = "bcdfghjklmnpqrstvwxz2456789";
  std::string suffix;
  for (int i = 0; i < 5; ++i) suffix += kLetters[random() % kLetters.size()];
  return suffix;
}

std::string lower(std::string text) {
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return text;
}

}  // namespace

// ---------------------------------------------------------------- suite

Suite::Suite(const std::filesystem::path& scratch) : cluster_(make_environment(scratch)) {
  kubectl_ = std::make_unique<Kubectl>(cluster_->admin_kubeconfig(), scratch);
  start_proxy(scratch);
  install();
  operator_kubeconfig_ = cluster_->operator_kubeconfig();
}

void Suite::start_proxy(const std::filesystem::path& scratch) {
  const std::uint16_t port = free_port();
  api_ = std::make_unique<Api>(port);
  proxy_ = kubectl_->start({"proxy", "--port=" + std::to_string(port)}, scratch / "proxy.log");
  await("kubectl proxy to reach the server", [&](std::string& seen) {
    const HttpAnswer answer = api_->request("GET", "/version");
    seen = answer.body;
    return answer.code == 200;
  });
}

// Applies single files, because the kustomize of kubectl 1.20, which Debian 12 has, is too old for config/.
void Suite::install() {
  apply_folder(*kubectl_, "config/namespace");
  apply_folder(*kubectl_, cluster_->crds());
  if (cluster_->has_rbac()) {
    apply_folder(*kubectl_, "config/rbac");
    apply_file(*kubectl_, "config/optional/annotation-evictors.yaml");
  }
  (*kubectl_)({"wait", "--for=condition=Established", "--timeout=60s", "crd/evacuations.evacuator.dev",
               "crd/deschedulerpolicies.evacuator.dev", "crd/resourceadvices.evacuator.dev"});
  await("the new kinds to be served", [&](std::string& seen) {
    const HttpAnswer evacuations = api_->request("GET", path::all_evacuations());
    const HttpAnswer policies = api_->request("GET", path::policies());
    seen = evacuations.body + policies.body;
    return evacuations.code == 200 && policies.code == 200;
  });
}

// ---------------------------------------------------------------- scenario

Suite* Scenario::suite_ = nullptr;
std::filesystem::path Scenario::scratch_;
std::set<std::string> Scenario::all_namespaces_;

void Scenario::use(Suite* suite, std::filesystem::path scratch) {
  suite_ = suite;
  scratch_ = std::move(scratch);
}

Scenario::Scenario() {
  const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
  folder_ = scratch_ / (std::string(test->test_suite_name()) + "." + test->name());
  std::filesystem::create_directories(folder_);
  another_namespace();
}

void Scenario::grant(const std::string& name) {
  if (!cluster().has_rbac()) return;
  roles_.push_back(std::string(EVACUATOR_SOURCE_DIR) + "/config/optional/" + name + ".yaml");
  kubectl()({"apply", "-f", roles_.back()});
}

Scenario::~Scenario() {
  try {
    clear_away();
  } catch (const std::exception& e) {
    note(std::string("clearing away: ") + e.what());
  }
  if (HasFailure()) note("logs are in " + folder_.string());
}

std::string Scenario::another_namespace() {
  const std::string suite = ::testing::UnitTest::GetInstance()->current_test_info()->test_suite_name();
  const std::string name = "e2e-" + lower(suite) + "-" + random_suffix();
  namespaces_.push_back(name);
  all_namespaces_.insert(name);
  api().create("/api/v1/namespaces", {{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", name}}}});
  if (!cluster().has_rbac()) return name;
  // The server rejects pods until the namespace's service account exists.
  await("the service account of " + name,
        [&](std::string&) { return api().find(path::namespaced(name, "serviceaccounts", "default")).has_value(); });
  return name;
}

// Removes policies first, so that no new Evacuations appear, then the Evacuations, whose finalizer no operator can
// remove any more.
void Scenario::clear_away() {
  while (!cordoned_.empty()) uncordon(std::string(*cordoned_.begin()));
  for (const std::string& name : policies_) api().remove(path::policies(name));
  for (auto& each : operators_) each->kill();
  if (!policies_.empty()) remove_taints();
  for (const std::string& file : roles_) kubectl().attempt({"delete", "-f", file, "--ignore-not-found"});
  for (const std::string& ns : namespaces_) {
    for (const Json& item : api().list(path::evacuations(ns))) {
      const std::string at = path::evacuations(ns, text_at(item, "/metadata/name"));
      // An Evacuation of a policy may be garbage-collected meanwhile.
      if (item.at("metadata").contains("finalizers"))
        api().merge_if_there(at, {{"metadata", {{"finalizers", nullptr}}}});
      api().remove(at);
    }
    for (const char* plural : {"deployments", "statefulsets"}) {
      for (const Json& item : api().list(path::apps(ns, plural)))
        api().remove(path::apps(ns, plural, text_at(item, "/metadata/name")));
    }
    api().remove("/api/v1/namespaces/" + ns);
  }
}

/// Removes the taints of policies, since no operator is left to do it.
void Scenario::remove_taints() const {
  for (const Json& node : api().list(path::nodes())) {
    const Json before = node.at("spec").value("taints", Json::array());
    Json after = Json::array();
    for (const Json& taint : before) {
      if (!text_at(taint, "/key").starts_with("evacuator.dev/")) after.push_back(taint);
    }
    if (after != before)
      api().merge(path::nodes(text_at(node, "/metadata/name")), {{"spec", {{"taints", std::move(after)}}}});
  }
}

void Scenario::note(const std::string& text) { std::cout << "[   NOTE   ] " << text << std::endl; }

Operator& Scenario::start_operator(Operator::Settings settings, bool wait_until_ready) {
  operators_.push_back(std::make_unique<Operator>(suite_->operator_kubeconfig(), folder_, std::move(settings)));
  operators_.back()->start();
  if (wait_until_ready) operators_.back()->await_ready();
  return *operators_.back();
}

Finished Scenario::run_once(Operator::Settings settings, const std::vector<std::string>& flags) {
  return Operator(suite_->operator_kubeconfig(), folder_, std::move(settings)).run_once(flags);
}

void Scenario::apply_policy(const Json& policy) {
  policies_.push_back(text_at(policy, "/metadata/name"));
  kubectl().apply(policy);
}

void Scenario::cordon(const std::string& node) {
  cordoned_.insert(node);
  api().merge(path::nodes(node), {{"spec", {{"unschedulable", true}}}});
}

void Scenario::uncordon(const std::string& node) {
  api().merge(path::nodes(node), {{"spec", {{"unschedulable", nullptr}}},
                                  {"metadata", {{"annotations", {{"evacuator.dev/cordoned-by", nullptr}}}}}});
  cordoned_.erase(node);
}

std::vector<std::string> Scenario::nodes() const {
  std::vector<std::string> names;
  for (const Json& node : api().list(path::nodes())) names.push_back(text_at(node, "/metadata/name"));
  return names;
}

std::vector<PodInfo> Scenario::await_pods(const std::string& ns, const std::string& app, int count) const {
  return await(std::to_string(count) + " ready pods of " + ns + "/" + app,
               [&](std::string& seen) -> std::optional<std::vector<PodInfo>> {
                 std::vector<PodInfo> ready;
                 seen.clear();
                 bool settled = true;
                 for (const Json& pod : api().list(path::pods(ns) + "?labelSelector=app%3D" + app)) {
                   seen += text_at(pod, "/metadata/name") + " " + text_at(pod, "/status/phase") + " " +
                           condition(pod, "Ready").dump() + "\n";
                   if (is_terminating(pod) || !is_ready(pod))
                     settled = false;
                   else
                     ready.push_back(info_of(pod));
                 }
                 if (seen.empty()) seen = "no pod at all";
                 if (!settled || static_cast<int>(ready.size()) != count) return std::nullopt;
                 return ready;
               });
}

std::vector<PodInfo> Scenario::deploy(const manifest::Workload& workload) const {
  kubectl().apply(manifest::deployment(workload));
  return await_pods(workload.ns, workload.name, workload.replicas);
}

Json Scenario::await_leaving(const Recorder& pods, const PodInfo& pod) {
  return await("the watcher to see " + pod.name + " leave", [&](std::string&) -> std::optional<Json> {
    for (const WatchEvent& event : pods.events()) {
      if (text_at(event.object, "/metadata/uid") == pod.uid && is_terminating(event.object)) return event.object;
    }
    return std::nullopt;
  });
}

std::set<std::string> Scenario::pod_uids(const std::string& ns) const {
  std::set<std::string> uids;
  for (const Json& pod : api().list(path::pods(ns))) {
    if (!has_ended(pod)) uids.insert(text_at(pod, "/metadata/uid"));
  }
  return uids;
}

std::set<std::string> Scenario::nodes_in_use() const {
  std::set<std::string> busy;
  for (const Json& pod : api().list(path::pods(ns()))) {
    if (!has_ended(pod)) busy.insert(text_at(pod, "/spec/nodeName"));
  }
  return busy;
}

int Scenario::cpu_of_nodes() const {
  int least = 0;
  for (const Json& node : api().list(path::nodes())) {
    const std::string text = text_at(node, "/status/allocatable/cpu");
    const int cpu = text.ends_with("m") ? std::stoi(text) : static_cast<int>(std::stod(text) * 1000);
    if (least == 0 || cpu < least) least = cpu;
  }
  return least;
}

void Scenario::await_quiet() const {
  await("what scenarios before this one left to be gone", [&](std::string& seen) {
    seen.clear();
    for (const Json& pod : api().list("/api/v1/pods")) {
      const std::string where = text_at(pod, "/metadata/namespace");
      if (all_namespaces_.contains(where) && std::ranges::find(namespaces_, where) == namespaces_.end())
        seen += where + "/" + text_at(pod, "/metadata/name") + " ";
    }
    for (const Json& node : api().list(path::nodes())) {
      if (!is_ready(node)) seen += text_at(node, "/metadata/name") + " is not ready ";
    }
    return seen.empty();
  });
}

std::string Scenario::evacuate(const PodInfo& pod, const Json& spec) const {
  api().create(path::evacuations(pod.ns), manifest::evacuation(pod.ns, pod.name, pod.name, pod.uid, spec));
  return pod.name;
}

Json Scenario::await_phase(const std::string& ns, const std::string& name, const std::set<std::string>& phases,
                           std::chrono::seconds limit) const {
  std::string wanted;
  for (const std::string& phase : phases) wanted += (wanted.empty() ? "" : " or ") + phase;
  return await(
      "Evacuation " + ns + "/" + name + " to be " + wanted,
      [&](std::string& seen) -> std::optional<Json> {
        Json found = evacuation(ns, name);
        seen = summary(found);
        if (!phases.contains(phase_of(found))) return std::nullopt;
        return found;
      },
      limit);
}

std::map<std::string, Json> Scenario::await_finished(const std::vector<PodInfo>& pods,
                                                     std::chrono::seconds limit) const {
  std::set<std::string> scope;
  for (const PodInfo& pod : pods) scope.insert(pod.ns);
  std::map<std::string, Json> finished;
  await(
      std::to_string(pods.size()) + " Evacuations to finish",
      [&](std::string& seen) {
        finished.clear();
        seen.clear();
        for (const std::string& ns : scope) {
          for (Json& item : api().list(path::evacuations(ns))) {
            const std::string name = text_at(item, "/metadata/name");
            if (!kFinished.contains(phase_of(item)))
              seen += summary(item) + "\n";
            else
              finished.insert_or_assign(std::string(ns).append("/").append(name), std::move(item));
          }
        }
        return finished.size() >= pods.size();
      },
      limit);
  return finished;
}

std::vector<PodCall> Scenario::pod_calls() const {
  std::vector<PodCall> ours;
  for (PodCall& call : cluster().pod_calls()) {
    if (std::find(namespaces_.begin(), namespaces_.end(), call.ns) != namespaces_.end())
      ours.push_back(std::move(call));
  }
  return ours;
}

void Scenario::expect_evicted(const std::vector<PodInfo>& pods) const {
  std::set<std::string> uids;
  for (const PodInfo& pod : pods) uids.insert(pod.uid);
  for (const std::string& difference : unlike_evictions_of(uids, pod_calls())) ADD_FAILURE() << difference;
}

void Scenario::expect_no_misdeeds() const {
  for (const std::string& misdeed : misdeeds(pod_calls(), cluster().operator_user())) ADD_FAILURE() << misdeed;
}

// ---------------------------------------------------------------- reading

std::string phase_of(const Json& evacuation) { return text_at(evacuation, "/status/phase"); }

std::string summary(const Json& evacuation) {
  return text_at(evacuation, "/metadata/name") + ": " + phase_of(evacuation) + "/" +
         text_at(evacuation, "/status/reason") + ": " + text_at(evacuation, "/status/message");
}

Json condition(const Json& object, const std::string& type) {
  const Json::json_pointer at("/status/conditions");
  if (!object.contains(at)) return {};
  for (const Json& each : object.at(at)) {
    if (each.value("type", "") == type) return each;
  }
  return {};
}

std::map<std::string, Place> places_of(const std::vector<PodInfo>& pods) {
  std::map<std::string, Place> places;
  for (const PodInfo& pod : pods) places[pod.ns + "/" + pod.name] = {pod.node, pod.app};
  return places;
}

}  // namespace e2e
