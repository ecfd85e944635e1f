#pragma once

/// What namespaces ask for and do not use. Pure.

#include <string>
#include <vector>

#include "advisor/requests.hpp"

namespace advising {

/// Of one core and one GiB of memory, for a month; 0: not given.
struct Prices {
  double core = 0;
  double gib = 0;
  bool given() const { return core > 0 || gib > 0; }
};

/// Sums over all replicas of the containers with advice, in cores and bytes.
struct Waste {
  std::string ns;  ///< "": the cluster
  int containers = 0;
  int without_advice = 0;
  int without_request = 0;  ///< with advice, but without a request of CPU or memory: they count as asking for nothing
  double cpu_requested = 0, cpu_used = 0, cpu_recommended = 0;
  double memory_requested = 0, memory_used = 0, memory_recommended = 0;
  double cpu_unmeasured = 0, memory_unmeasured = 0;  ///< of what is requested; nobody told what of it is used
  double cpu_saving() const { return cpu_requested - cpu_recommended; }  ///< below 0: more is needed
  double memory_saving() const { return memory_requested - memory_recommended; }
  /// A month of what is requested and not used (mean), as far as that was told.
  double wasted_money(const Prices& prices) const;
  /// A month of the difference between requested and recommended.
  double saved_money(const Prices& prices) const;
};

/// What one container's advice saves over all its replicas; 0 without advice or without a request now.
double cpu_saving(const Advice& advice);
double memory_saving(const Advice& advice);

/// By namespace, sorted, and the cluster's sum at the end.
std::vector<Waste> waste_of(const std::vector<Advice>& advice);

}  // namespace advising
