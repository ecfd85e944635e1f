#include "test/scenarios/fragmentation/adverse/site.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace fragmentation {
namespace {

std::string node_name(int node) { return fmt::format("node-{:04}", node); }
Site::Change change_pod(std::function<void(api::Pod&)> change) {
  return [change = std::move(change)](builders::PodBuilder& pod) { pod.with(change); };
}

}  // namespace

void Site::add_node(const Machine& machine) {
  const int node = nodes();
  builders::NodeBuilder built(node_name(node));
  built.sized(machine.cpu, machine.memory, machine.pods)
      .label(api::well_known::kZoneLabel, zone_of(node, machine.zones));
  if (const std::size_t at = machine.label.find('='); at != std::string::npos)
    built.label(machine.label.substr(0, at), machine.label.substr(at + 1));
  if (!machine.taint.empty()) built.taint(machine.taint);
  if (!machine.extended.empty()) built.offer(machine.extended, machine.extended_units);
  cluster_.add(built);
  places_.push_back({machine});
}

void Site::add_nodes(int count, const Machine& machine) {
  for (int i = 0; i < count; ++i) add_node(machine);
}

const api::StringMap& Site::labels_of(const std::string& app) {
  return labels_.try_emplace(app, api::StringMap({{"app", app}})).first->second;
}

void Site::share_affinity(builders::PodBuilder& pod) {
  pod.with([&](api::Pod& p) {
    if (!p.affinity) return;
    const auto is_equal = [&](const auto& known) { return *known == *p.affinity; };
    const auto known = std::ranges::find_if(affinities_, is_equal);
    if (known == affinities_.end()) {
      affinities_.push_back(p.affinity);
    } else {
      p.affinity = *known;
    }
  });
}

void Site::put(int node, const std::string& app, Size size, builders::PodBuilder pod) {
  pod.on(node_name(node));
  if (size.cpu > 0) pod.cpu(size.cpu);
  if (size.memory > 0) pod.memory(size.memory);
  Place& place = places_[static_cast<std::size_t>(node)];
  place.taken.cpu += size.cpu;
  place.taken.memory += size.memory;
  ++place.pods;
  ++place.apps[app];
  cluster_.add(pod);
}

void Site::add_daemon(int node, const std::string& app, Size size) {
  builders::PodBuilder pod(fmt::format("{}-{:06}", app, ++named_));
  pod.owned_by("DaemonSet", app).with([&](api::Pod& p) {
    p.meta.labels = labels_of(app);
    p.tolerations.push_back({});
    p.tolerations.back().exists = true;
  });
  put(node, app, size, pod);
}

void Site::add_daemon_everywhere(const std::string& app, Size size) {
  for (int node = 0; node < nodes(); ++node) add_daemon(node, app, size);
}

void Site::add(int node, const std::string& app, Size size, const Change& change) {
  builders::PodBuilder pod(fmt::format("{}-{:06}", app, ++named_));
  pod.owned_by("ReplicaSet", app).with([&](api::Pod& p) { p.meta.labels = labels_of(app); });
  if (change) change(pod);
  share_affinity(pod);
  put(node, app, size, pod);
}

void Site::add_budgets(int allowed) {
  for (const auto& [app, labels] : labels_) cluster_.add(builders::pdb(app, app, allowed));
}

bool Site::fits(int node, Size size) const {
  const Place& place = places_[static_cast<std::size_t>(node)];
  return place.taken.cpu + size.cpu <= place.machine.cpu && place.taken.memory + size.memory <= place.machine.memory &&
         place.pods < place.machine.pods;
}

double Site::cpu_load(int node) const {
  const Place& place = places_[static_cast<std::size_t>(node)];
  return static_cast<double>(place.taken.cpu) / static_cast<double>(place.machine.cpu);
}

double Site::load(int node) const {
  const Place& place = places_[static_cast<std::size_t>(node)];
  return std::max(cpu_load(node), static_cast<double>(place.taken.memory) / static_cast<double>(place.machine.memory));
}

int Site::count(int node, const std::string& app) const {
  const auto& apps = places_[static_cast<std::size_t>(node)].apps;
  const auto at = apps.find(app);
  return at == apps.end() ? 0 : at->second;
}

Site::Change apart_from(const std::string& label, const std::string& value, std::string_view topology) {
  return [=](builders::PodBuilder& pod) { pod.anti_affinity(label, value, std::string(topology)); };
}

Site::Change together_with(const std::string& app) {
  return [=](builders::PodBuilder& pod) {
    pod.affinity([&](api::Affinity& affinity) {
      api::PodAffinityTerm& term = affinity.required_pod_affinity.emplace_back();
      term.label_selector = builders::labels_in("app", {app});
      term.topology_key = api::well_known::kHostnameLabel;
    });
  };
}

Site::Change spread_over(const std::string& app, const std::vector<std::string_view>& topologies) {
  return change_pod([=](api::Pod& pod) {
    for (const std::string_view topology : topologies) {
      api::TopologySpreadConstraint constraint;
      constraint.topology_key = topology;
      constraint.label_selector = builders::labels_in("app", {app});
      pod.topology_spread.push_back(std::move(constraint));
    }
  });
}

Site::Change on_port(int port) {
  return change_pod([=](api::Pod& pod) {
    std::vector<api::Container> containers(pod.containers.begin(), pod.containers.end());
    containers[0].host_ports.push_back({"", "TCP", port});
    pod.containers = std::move(containers);
  });
}

Site::Change with_extended(const std::string& resource, std::int64_t units) {
  return [=](builders::PodBuilder& pod) { pod.request(resource, units * 1000); };
}

Site::Change selecting(const std::string& key, const std::string& value) {
  return change_pod([=](api::Pod& pod) { pod.node_selector = {{key, value}}; });
}

Site::Change tolerating(const std::string& key) {
  return [=](builders::PodBuilder& pod) { pod.tolerate(key); };
}

Site::Change in_zones(std::vector<std::string> zones) {
  return [zones = std::move(zones)](builders::PodBuilder& pod) {
    pod.affinity([&](api::Affinity& affinity) {
      affinity.required_node_terms = {
          {{{std::string(api::well_known::kZoneLabel), api::SelectorOperator::kIn, zones}}, {}}};
    });
  };
}

Site::Change all_of(std::vector<Site::Change> changes) {
  return [changes = std::move(changes)](builders::PodBuilder& pod) {
    for (const Site::Change& change : changes) change(pod);
  };
}

}  // namespace fragmentation
