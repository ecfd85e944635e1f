#include "scheduling/resources.hpp"

#include <algorithm>

#include "api/meta/well_known.hpp"

namespace scheduling {
namespace {

auto place_of(RequestSet& requests, ResourceIndex resource) {
  return std::ranges::lower_bound(requests, resource, {}, &RequestSet::value_type::first);
}

void raise_to(RequestSet& requests, const RequestSet& least) {
  for (const auto& [resource, milli] : least) {
    const auto at = place_of(requests, resource);
    if (at == requests.end() || at->first != resource) {
      requests.insert(at, {resource, milli});
    } else {
      at->second = std::max(at->second, milli);
    }
  }
}

void add_list(RequestSet& requests, const api::ResourceList& list, ResourceNames& names) {
  for (const auto& [name, quantity] : list) add_amount(requests, names.intern(name), quantity.milli());
}

/// The most that any step of initialisation needs; sidecars started so far keep running beside it.
RequestSet initialisation_peak(const api::Pod& pod, ResourceNames& names, RequestSet& requests) {
  RequestSet peak;
  RequestSet sidecars;
  for (const api::Container& container : pod.init_containers) {
    if (container.restart_always) {
      add_list(requests, container.requests, names);
      add_list(sidecars, container.requests, names);
      raise_to(peak, sidecars);
    } else {
      RequestSet step = sidecars;
      add_list(step, container.requests, names);
      raise_to(peak, step);
    }
  }
  return peak;
}

bool is_pod_level(std::string_view name) {
  return name == api::well_known::kCpu || name == api::well_known::kMemory || name.starts_with("hugepages-");
}

void replace_by_pod_level(const api::Pod& pod, ResourceNames& names, RequestSet& requests) {
  for (const auto& [name, quantity] : pod.pod_requests) {
    if (!is_pod_level(name)) continue;
    const ResourceIndex resource = names.intern(name);
    const auto at = place_of(requests, resource);
    if (at == requests.end() || at->first != resource) {
      requests.insert(at, {resource, quantity.milli()});
    } else {
      at->second = quantity.milli();
    }
  }
}

}  // namespace

ResourceNames::ResourceNames() {
  names_ = {std::string(api::well_known::kCpu), std::string(api::well_known::kMemory),
            std::string(api::well_known::kPods)};
}

std::optional<ResourceIndex> ResourceNames::find(std::string_view name) const {
  const auto at = std::ranges::find(names_, name);
  if (at == names_.end()) return std::nullopt;
  return static_cast<ResourceIndex>(at - names_.begin());
}

ResourceIndex ResourceNames::intern(std::string_view name) {
  if (const auto known = find(name)) return *known;
  names_.emplace_back(name);
  return static_cast<ResourceIndex>(names_.size() - 1);
}

std::int64_t amount_of(const RequestSet& requests, ResourceIndex resource) {
  for (const auto& [candidate, milli] : requests) {
    if (candidate == resource) return milli;
  }
  return 0;
}

void add_amount(RequestSet& requests, ResourceIndex resource, std::int64_t milli) {
  const auto at = place_of(requests, resource);
  if (at == requests.end() || at->first != resource) {
    requests.insert(at, {resource, milli});
  } else {
    at->second = saturating_add(at->second, milli);
  }
}

void effective_requests(const api::Pod& pod, ResourceNames& names, RequestSet& out) {
  out.clear();
  for (const api::Container& container : pod.containers) add_list(out, container.requests, names);
  if (!pod.init_containers.empty()) raise_to(out, initialisation_peak(pod, names, out));
  replace_by_pod_level(pod, names, out);
  add_list(out, pod.overhead, names);
}

NodeResources::NodeResources(std::size_t nodes) : sparse_(nodes) {
  for (auto& column : dense_) column.resize(nodes);
}

std::int64_t NodeResources::get(NodeIndex node, ResourceIndex resource) const {
  return resource < kDenseResources ? dense_[resource][node] : amount_of(sparse_[node], resource);
}

std::optional<std::int64_t> NodeResources::find(NodeIndex node, ResourceIndex resource) const {
  if (resource < kDenseResources) return dense_[resource][node];
  for (const auto& [candidate, milli] : sparse_[node]) {
    if (candidate == resource) return milli;
  }
  return std::nullopt;
}

void NodeResources::add(NodeIndex node, ResourceIndex resource, std::int64_t milli) {
  if (resource < kDenseResources) {
    dense_[resource][node] = saturating_add(dense_[resource][node], milli);
  } else {
    add_amount(sparse_[node], resource, milli);
  }
}

void NodeResources::add(NodeIndex node, const RequestSet& requests) {
  for (const auto& [resource, milli] : requests) add(node, resource, milli);
}

void NodeResources::subtract(NodeIndex node, const RequestSet& requests) {
  for (const auto& [resource, milli] : requests) add(node, resource, saturating_subtract(0, milli));
}

void NodeResources::clear(NodeIndex node) {
  for (auto& column : dense_) column[node] = 0;
  sparse_[node].clear();
}

}  // namespace scheduling
