#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/time/steady_clock.hpp"
#include "kube/client.hpp"
#include "kube/http/transport.hpp"

namespace bench {

/// A client without a rate limit, for any number of threads. Errors end the program with a message and status 1.
class Connection {
 public:
  explicit Connection(const std::string& kubeconfig, int connections = 64);

  kube::Client& client() { return *client_; }
  /// Names of what there is; `ns` empty: all namespaces.
  std::vector<api::ObjectMeta> list(const kube::ResourceType& type, const std::string& ns = {});
  /// Creates it; what is there already stays as it is.
  void create(const kube::ResourceType& type, const std::string& ns, const api::Json& body);
  void patch(const kube::ResourceType& type, const api::ObjectKey& key, const api::Json& body,
             std::string_view subresource = {});

 private:
  base::SystemClock clock_;
  std::unique_ptr<kube::HttpTransport> transport_;
  std::unique_ptr<kube::Client> client_;
};

[[noreturn]] void die(const std::string& message);

/// Calls `work(i)` for each i below `count`, on that many threads.
void in_parallel(std::size_t threads, std::size_t count, const std::function<void(std::size_t)>& work);

// --- the commands of main.cpp

/// Nodes, ReplicaSets and bound, Running pods; only what is missing. The first third of the nodes has twice
/// `pods_per_node`, the last third none.
void fill(Connection& connection, int nodes, int pods_per_node);
/// Removes all Evacuations, finalizers or not.
void clean(Connection& connection);
/// Evicts `count` pods as fast as that many connections can; prints evictions a second.
void loop(const std::string& kubeconfig, int connections, int count);
/// Lists all pods in one piece, on each connection again and again, whatever the answer. Ends only with its process.
[[noreturn]] void flood(const std::string& kubeconfig, int connections);

}  // namespace bench
