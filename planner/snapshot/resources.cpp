#include "planner/snapshot/resources.hpp"

#include <algorithm>
#include <iterator>

#include "api/meta/well_known.hpp"

namespace scheduling {
namespace {

auto place_of(auto& requests, ResourceIndex resource) {
  return std::ranges::lower_bound(requests, resource, {}, &RequestSet::value_type::first);
}

/// Adds the amount. If the set has the resource already, replaces its amount by join(known, milli).
template <typename F>
void put(RequestSet& requests, ResourceIndex resource, std::int64_t milli, F&& join) {
  const auto at = place_of(requests, resource);
  if (at == requests.end() || at->first != resource)
    requests.insert(at, {resource, milli});
  else
    at->second = join(at->second, milli);
}

std::int64_t larger(std::int64_t a, std::int64_t b) { return std::max(a, b); }

/// Maximum size of a set that is scanned linearly, which is faster for the few entries that most sets have.
constexpr std::size_t kFewResources = 16;

std::optional<std::int64_t> find_amount(const RequestSet& requests, ResourceIndex resource) {
  const auto at = requests.size() <= kFewResources
                      ? std::ranges::find(requests, resource, &RequestSet::value_type::first)
                      : place_of(requests, resource);
  return at == requests.end() || at->first != resource ? std::nullopt : std::optional(at->second);
}

/// Merges `more`, in any order and with repetitions, into `requests`. `join(known, milli)` returns the amount of a
/// resource that occurs in both. Takes O(n log n) steps regardless of how the resources interleave.
template <typename F>
void join_into(RequestSet& requests, RequestSet more, F&& join) {
  const auto middle = static_cast<std::ptrdiff_t>(requests.size());
  std::ranges::stable_sort(more, {}, &RequestSet::value_type::first);
  requests.insert(requests.end(), more.begin(), more.end());
  const auto comes_before = [](const auto& a, const auto& b) { return a.first < b.first; };
  std::inplace_merge(requests.begin(), requests.begin() + middle, requests.end(), comes_before);
  auto last = requests.begin();
  for (auto each = requests.begin(); each != requests.end(); ++each) {
    if (each == last) continue;
    if (each->first == last->first)
      last->second = join(last->second, each->second);
    else
      *++last = *each;
  }
  if (!requests.empty()) requests.erase(std::next(last), requests.end());
}

void raise_to(RequestSet& requests, const RequestSet& least) {
  if (least.size() > kFewResources) return join_into(requests, least, larger);
  for (const auto& [resource, milli] : least) put(requests, resource, milli, larger);
}

// Amounts that kube-scheduler assumes for a container without requests, in thousandths.
constexpr std::int64_t kAssumedCpu = 100;
constexpr std::int64_t kSupposedMemory = 200LL * 1024 * 1024 * 1000;

void add_list(RequestSet& requests, const api::ResourceList& list, ResourceNames& names) {
  if (list.size() <= kFewResources) {
    for (const auto& [name, quantity] : list) add_amount(requests, names.intern(name), quantity.milli());
    return;
  }
  RequestSet more;
  more.reserve(list.size());
  for (const auto& [name, quantity] : list) more.emplace_back(names.intern(name), quantity.milli());
  join_into(requests, std::move(more), saturating_add);
}

bool lists(const api::ResourceList& list, std::string_view name) {
  return std::ranges::find(list, name, &api::ResourceList::value_type::first) != list.end();
}

/// Rules for counting the containers of one pod.
struct Counting {
  RequestsOf of;
  RequestSet supposed{};  ///< assumed amounts for each container that does not list the resource

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

/// Returns the maximum over the init steps. Sidecars started earlier keep running during a step. Consecutive steps
/// differ only in the request of their container, so only that is compared.
RequestSet initialisation_peak(const api::Pod& pod, const Counting& counting, ResourceNames& names,
                               RequestSet& requests) {
  RequestSet peak;
  RequestSet sidecars;
  RequestSet step;
  for (const api::Container& container : pod.init_containers) {
    step.clear();
    counting.add(step, container, names);
    if (container.restart_always) {
      counting.add(requests, container, names);
      counting.add(sidecars, container, names);
      for (auto& [resource, milli] : step) milli = amount_of(sidecars, resource);
    } else {
      for (auto& [resource, milli] : step) milli = saturating_add(amount_of(sidecars, resource), milli);
    }
    raise_to(peak, step);
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
    if (is_pod_level(name))
      put(requests, names.intern(name), quantity.milli(), [](std::int64_t, std::int64_t milli) { return milli; });
  }
}

void count(const api::Pod& pod, const Counting& counting, ResourceNames& names, RequestSet& out) {
  out.clear();
  for (const api::Container& container : pod.containers) counting.add(out, container, names);
  if (!pod.init_containers.empty()) raise_to(out, initialisation_peak(pod, counting, names, out));
  replace_by_pod_level(pod, counting.of, names, out);
  add_list(out, pod.overhead, names);
}

/// Returns the amounts assumed for containers without requests. `counted` contains the pod's requests without them.
RequestSet supposed_for(const api::Pod& pod, const RequestSet& counted) {
  const bool says_so_itself =
      std::ranges::any_of(pod.pod_requests, [](const auto& entry) { return is_pod_level(entry.first); });
  RequestSet supposed;
  if (!says_so_itself || !find_amount(counted, kCpuIndex)) supposed.emplace_back(kCpuIndex, kAssumedCpu);
  if (!says_so_itself || !find_amount(counted, kMemoryIndex)) supposed.emplace_back(kMemoryIndex, kSupposedMemory);
  return supposed;
}

bool says_all(const api::Container& container, const Counting& counting) {
  const api::ResourceList& list = counting.list_of(container);
  return lists(list, api::well_known::kCpu) && lists(list, api::well_known::kMemory);
}

}  // namespace

ResourceNames::ResourceNames() {
  for (const std::string_view name : {api::well_known::kCpu, api::well_known::kMemory, api::well_known::kPods})
    intern(name);
}

ResourceIndex ResourceNames::intern(std::string_view name) {
  if (const auto known = find(name)) return *known;
  const auto resource = static_cast<ResourceIndex>(names_.size());
  index_.emplace(names_.emplace_back(name), resource);
  return resource;
}

std::int64_t amount_of(const RequestSet& requests, ResourceIndex resource) {
  return find_amount(requests, resource).value_or(0);
}

void add_amount(RequestSet& requests, ResourceIndex resource, std::int64_t milli) {
  put(requests, resource, milli, saturating_add);
}

void effective_requests(const api::Pod& pod, ResourceNames& names, RequestSet& out, RequestsOf of) {
  count(pod, {of}, names, out);
}

void pod_requests(const api::Pod& pod, ResourceNames& names, PodRequests& out, RequestsOf of) {
  Counting counting{of};
  count(pod, counting, names, out.amounts);
  const auto says = [&](const api::Container& container) { return says_all(container, counting); };
  const bool all_say = std::ranges::all_of(pod.containers, says) && std::ranges::all_of(pod.init_containers, says);
  RequestSet scored;
  if (!all_say) {
    counting.supposed = supposed_for(pod, out.amounts);
    count(pod, counting, names, scored);
  }
  const RequestSet& amounts = all_say ? out.amounts : scored;
  out.scored = {amount_of(amounts, kCpuIndex), amount_of(amounts, kMemoryIndex)};
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
  return find_amount(sparse_[node], resource);
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
