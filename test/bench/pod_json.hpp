#pragma once

#include <string>

namespace bench {

/// Differences between two pods of a benchmark.
struct PodText {
  int number = 0;
  std::string ns;
  std::string name;
  std::string app;
  std::string node;
  std::string cpu = "250m";
  std::string memory = "512Mi";
};

/// Returns a Pod in a real API server's form: about 7 KB, half of it managedFields and environment.
std::string pod_json(const PodText& pod);

/// Returns a PodList of `pods` pods of this form.
std::string pod_list_json(int pods);

}  // namespace bench
