#pragma once

#include <string>

namespace bench {

/// What differs between two pods of a benchmark.
struct PodText {
  int number = 0;
  std::string ns;
  std::string name;
  std::string app;
  std::string node;
  std::string cpu = "250m";
  std::string memory = "512Mi";
};

/// A Pod as a real API server sends it: about 7 KB, half of it managedFields and environment.
std::string pod_json(const PodText& pod);

/// A PodList of `pods` such pods.
std::string pod_list_json(int pods);

}  // namespace bench
