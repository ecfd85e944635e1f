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

// What a container counts for that does not say how much it wants, in thousandths, as in kube-scheduler.
constexpr std::int64_t kSupposedCpu = 100;
constexpr std::int64_t kSupposedMemory = 200LL * 1024 * 1024 * 1000;

void add_list(RequestSet& requests, const api::ResourceList& list, ResourceNames& names) {
  for (const auto& [name, quantity] : list) add_amount(requests, names.intern(name), quantity.milli());
}

bool lists(const api::ResourceList& list, std::string_view name) {
  return std::ranges::find(list, name, &api::ResourceList::value_type::first) != list.end();
}

/// How the containers of one pod count.
struct Counting {
  RequestsOf of;
  RequestSet supposed{};  ///< of each container that does not list the resource

  const api::ResourceList& list_of(const api::Container& container) const {
    return of == RequestsOf::kRunningPod && container.held ? *container.held : container.requests;
  }
  void add(RequestSet& requests, const api::Container& container, ResourceNames& names) const {
    const api::ResourceList& list = list_of(container);
    add_list(requests, list, names);
    for (const auto& [resource, milli] : supposed) {
      if (!lists(list, names.name(resource))) add_amount(requests, resource, milli);
    }
  }
};

/// The most that any step of initialisation needs; sidecars started so far keep running beside it.
RequestSet initialisation_peak(const api::Pod& pod, const Counting& counting, ResourceNames& names,
                               RequestSet& requests) {
  RequestSet peak;
  RequestSet sidecars;
  for (const api::Container& container : pod.init_containers) {
    if (container.restart_always) {
      counting.add(requests, container, names);
      counting.add(sidecars, container, names);
      raise_to(peak, sidecars);
    } else {
      RequestSet step = sidecars;
      counting.add(step, container, names);
      raise_to(peak, step);
    }
  }
  return peak;
}

bool is_pod_level(std::string_view name) {
  return name == api::well_known::kCpu || name == api::well_known::kMemory || name.starts_with("hugepages-");
}

const api::ResourceList& pod_level(const api::Pod& pod, RequestsOf of) {
  return of == RequestsOf::kRunningPod && pod.held_pod_requests ? *pod.held_pod_requests : pod.pod_requests.get();
}

void replace_by_pod_level(const api::Pod& pod, RequestsOf of, ResourceNames& names, RequestSet& requests) {
  for (const auto& [name, quantity] : pod_level(pod, of)) {
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

void count(const api::Pod& pod, const Counting& counting, ResourceNames& names, RequestSet& out) {
  out.clear();
  for (const api::Container& container : pod.containers) counting.add(out, container, names);
  if (!pod.init_containers.empty()) raise_to(out, initialisation_peak(pod, counting, names, out));
  replace_by_pod_level(pod, counting.of, names, out);
  add_list(out, pod.overhead, names);
}

bool has(const RequestSet& requests, ResourceIndex resource) {
  return std::ranges::find(requests, resource, &RequestSet::value_type::first) != requests.end();
}

/// What containers are supposed to want that do not say. `counted`: the pod's requests without that.
RequestSet supposed_for(const api::Pod& pod, const RequestSet& counted) {
  const bool says_so_itself =
      std::ranges::any_of(pod.pod_requests, [](const auto& entry) { return is_pod_level(entry.first); });
  RequestSet supposed;
  if (!says_so_itself || !has(counted, kCpuIndex)) supposed.emplace_back(kCpuIndex, kSupposedCpu);
  if (!says_so_itself || !has(counted, kMemoryIndex)) supposed.emplace_back(kMemoryIndex, kSupposedMemory);
  return supposed;
}

bool says_all(const api::Container& container, const Counting& counting) {
  const api::ResourceList& list = counting.list_of(container);
  return lists(list, api::well_known::kCpu) && lists(list, api::well_known::kMemory);
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

void effective_requests(const api::Pod& pod, ResourceNames& names, RequestSet& out, RequestsOf of) {
  count(pod, {of}, names, out);
}

void pod_requests(const api::Pod& pod, ResourceNames& names, PodRequests& out, RequestsOf of) {
  Counting counting{of};
  count(pod, counting, names, out.amounts);
  const auto says = [&](const api::Container& container) { return says_all(container, counting); };
  const bool all_say = std::ranges::all_of(pod.containers, says) && std::ranges::all_of(pod.init_containers, says);
  if (all_say) {
    out.scored = {amount_of(out.amounts, kCpuIndex), amount_of(out.amounts, kMemoryIndex)};
    return;
  }
  counting.supposed = supposed_for(pod, out.amounts);
  RequestSet scored;
  count(pod, counting, names, scored);
  out.scored = {amount_of(scored, kCpuIndex), amount_of(scored, kMemoryIndex)};
}

bool is_being_resized(const api::Pod& pod) {
  const auto holds = [](const api::Container& container) { return container.held != nullptr; };
  return pod.held_pod_requests || std::ranges::any_of(pod.containers, holds) ||
         std::ranges::any_of(pod.init_containers, holds);
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

void ScoredSums::add(NodeIndex node, const ScoredRequests& requests) {
  cpu_[node] = saturating_add(cpu_[node], requests.cpu);
  memory_[node] = saturating_add(memory_[node], requests.memory);
}

void ScoredSums::subtract(NodeIndex node, const ScoredRequests& requests) {
  cpu_[node] = saturating_subtract(cpu_[node], requests.cpu);
  memory_[node] = saturating_subtract(memory_[node], requests.memory);
}

void NodeResources::clear(NodeIndex node) {
  for (auto& column : dense_) column[node] = 0;
  sparse_[node].clear();
}

}  // namespace scheduling
