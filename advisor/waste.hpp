#pragma once

/// Requested but unused resources by namespace. Pure.

#include <string>
#include <vector>

#include "advisor/requests.hpp"

namespace advisor {

/// Monthly price of a core and of a GiB of memory, 0 if not given.
struct Prices {
  double core = 0;
  double gib = 0;
  bool given() const { return core > 0 || gib > 0; }
};

/// Sums over all replicas of containers with advice, in cores and bytes.
struct Waste {
  std::string ns;  ///< "" for the whole cluster
  int containers = 0;
  int without_advice = 0;
  int without_request = 0;  ///< number of containers with advice but without a CPU or memory request, which counts as 0
  double cpu_requested = 0, cpu_used = 0, cpu_recommended = 0;
  double memory_requested = 0, memory_used = 0, memory_recommended = 0;
  double cpu_unmeasured = 0, memory_unmeasured = 0;  ///< part of the requests whose usage is unknown
  double cpu_saving() const { return cpu_requested - cpu_recommended; }  ///< negative if more is needed
  double memory_saving() const { return memory_requested - memory_recommended; }
  /// Monthly cost of what is requested but on average unused, without the unmeasured part.
  double wasted_money(const Prices& prices) const;
  /// Monthly cost of the difference between requested and recommended resources.
  double saved_money(const Prices& prices) const;
};

/// Savings of one container's advice over all replicas, 0 without advice or without a current request.
double cpu_saving(const Advice& advice);
double memory_saving(const Advice& advice);

/// Returns one entry per namespace, sorted, and the sum of the cluster at the end.
std::vector<Waste> waste_of(const std::vector<Advice>& advice);

}  // namespace advisor
