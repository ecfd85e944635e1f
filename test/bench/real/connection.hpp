#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/time/steady_clock.hpp"
#include "kube/client.hpp"
#include "kube/http/transport.hpp"

namespace bench {

/// A client without a rate limit. Thread-safe. Errors end the program with a message and status 1.
class Connection {
 public:
  explicit Connection(const std::string& kubeconfig, int connections = 64);

  kube::Client& client() { return *client_; }
  /// Returns the metadata of existing objects. An empty `ns` means all namespaces.
  std::vector<api::ObjectMeta> list(const kube::ResourceType& type, const std::string& ns = {});
  /// Creates the object. An existing one stays unchanged.
  void create(const kube::ResourceType& type, const std::string& ns, const api::Json& body);
  void patch(const kube::ResourceType& type, const api::ObjectKey& key, const api::Json& body,
             std::string_view subresource = {});

 private:
  base::SystemClock clock_;
  std::unique_ptr<kube::HttpTransport> transport_;
  std::unique_ptr<kube::Client> client_;
};

[[noreturn]] void die(const std::string& message);

/// Calls `work(i)` for each i below `count` on `threads` threads.
void in_parallel(std::size_t threads, std::size_t count, const std::function<void(std::size_t)>& work);

// --- the commands of main.cpp

/// Creates missing nodes, ReplicaSets and bound, Running pods. The first third of the nodes has twice `pods_per_node`,
/// the last third none.
void fill(Connection& connection, int nodes, int pods_per_node);
/// Removes all Evacuations, including those with finalizers.
void clean(Connection& connection);
/// Evicts `count` pods as fast as this number of connections allows. Prints evictions per second.
void loop(const std::string& kubeconfig, int connections, int count);
/// Lists all pods in one response, repeatedly on each connection, whatever the answer. Ends only with its process.
[[noreturn]] void flood(const std::string& kubeconfig, int connections);

}  // namespace bench
