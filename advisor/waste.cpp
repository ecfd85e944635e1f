#include "advisor/waste.hpp"

#include <cmath>
#include <map>

namespace advisor {
namespace {

constexpr double kGiB = 1024.0 * 1024 * 1024;

void count_use(double requested, double used, double& sum, double& unmeasured) {
  if (std::isnan(used)) {
    unmeasured += requested;
  } else {
    sum += used;
  }
}

void count(const Advice& advice, Waste& waste) {
  if (advice.replicas == 0) return;
  ++waste.containers;
  if (!advice.has_advice()) {
    ++waste.without_advice;
    return;
  }
  const auto replicas = static_cast<double>(advice.replicas);
  const Resources& now = advice.current;
  const Resources& then = advice.recommended;
  if (!now.cpu_request || !now.memory_request) ++waste.without_request;
  waste.cpu_requested += replicas * now.cpu_request.value_or(0);
  waste.memory_requested += replicas * now.memory_request.value_or(0);
  count_use(replicas * now.cpu_request.value_or(0), replicas * advice.cpu_used, waste.cpu_used, waste.cpu_unmeasured);
  count_use(replicas * now.memory_request.value_or(0), replicas * advice.memory_used, waste.memory_used,
            waste.memory_unmeasured);
  waste.cpu_recommended += replicas * then.cpu_request.value_or(now.cpu_request.value_or(0));
  waste.memory_recommended += replicas * then.memory_request.value_or(now.memory_request.value_or(0));
}

double money(double cores, double bytes, const Prices& prices) {
  return cores * prices.core + bytes / kGiB * prices.gib;
}

double saving(const Advice& advice, const std::optional<double>& now, const std::optional<double>& then) {
  return now && then ? static_cast<double>(advice.replicas) * (*now - *then) : 0;
}

}  // namespace

double Waste::wasted_money(const Prices& prices) const {
  return money(std::max(cpu_requested - cpu_unmeasured - cpu_used, 0.0),
               std::max(memory_requested - memory_unmeasured - memory_used, 0.0), prices);
}
double Waste::saved_money(const Prices& prices) const { return money(cpu_saving(), memory_saving(), prices); }

double cpu_saving(const Advice& advice) {
  return saving(advice, advice.current.cpu_request, advice.recommended.cpu_request);
}
double memory_saving(const Advice& advice) {
  return saving(advice, advice.current.memory_request, advice.recommended.memory_request);
}

std::vector<Waste> waste_of(const std::vector<Advice>& advice) {
  std::map<std::string, Waste> by_namespace;
  Waste cluster;
  for (const Advice& each : advice) {
    Waste& waste = by_namespace[each.key.workload.ns];
    waste.ns = each.key.workload.ns;
    count(each, waste);
    count(each, cluster);
  }
  std::vector<Waste> all;
  for (auto& [ns, waste] : by_namespace) {
    if (waste.containers > 0) all.push_back(std::move(waste));
  }
  all.push_back(std::move(cluster));
  return all;
}

}  // namespace advisor
