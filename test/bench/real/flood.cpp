#include "test/bench/real/connection.hpp"

namespace bench {

void flood(const std::string& kubeconfig, int connections) {
  Connection connection(kubeconfig, connections);
  kube::ListOptions whole;
  whole.limit = 0;
  const auto count = static_cast<std::size_t>(connections);
  in_parallel(count, count, [&](std::size_t) {
    for (;;) (void)connection.client().send(kube::list_request(kube::kPods, whole));
  });
  die("nothing ends a flood");
}

}  // namespace bench
