#pragma once

#include <string>

namespace bench {

/// A PodList of `pods` pods as a real API server sends it: about 7 KB a pod, half of it managedFields and environment.
std::string pod_list_json(int pods);

}  // namespace bench
