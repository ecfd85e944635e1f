#pragma once

/// State shared by the operations of the Beast engine. Internal to the engine. All members belong to the engine's
/// thread unless stated otherwise.

#include <array>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

#include "kube/http/beast_connection.hpp"

namespace kube {

/// Running operation that can be aborted.
class Operation {
 public:
  virtual ~Operation() = default;
  virtual void abort(base::Error why) = 0;
};

struct BeastEngine::Core {
  explicit Core(Endpoint endpoint_in);
  ~Core();

  std::shared_ptr<Connection> new_connection(const TlsContext& tls);
  /// Returns true if another connection should be tried after this one failed to open: a server that cannot resume a
  /// session may close the connection. Stops offering sessions then.
  bool opens_without_session(const Connection& failed);
  /// Returns a kept-alive connection with that TLS context, or nullptr.
  std::shared_ptr<Connection> take_idle(const TlsContext& tls);
  void keep(std::shared_ptr<Connection> connection);
  /// Returns false during shutdown.
  bool enter(const std::shared_ptr<Operation>& operation);
  void leave(const std::shared_ptr<Operation>& operation) { running.erase(operation); }
  void shut_down();  // callable from any thread

  const Endpoint endpoint;
  boost::asio::io_context io{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work;
  std::vector<std::shared_ptr<Connection>> idle;  // sorted by last use, most recent last
  TlsContext session_of;                          // TLS context of `session`
  TlsSession session;                             // session of the last kept connection, nullptr if none can be resumed
  bool offers_sessions = true;
  std::array<char, 32 << 10> buffer;  // received bytes, until the operation has consumed them
  std::set<std::shared_ptr<Operation>> running;
  bool closing = false;
  std::thread thread;
};

/// Opens a watch or a streamed list. Defined in beast_watch.cpp.
base::Result<std::unique_ptr<WatchStream>> open_stream(BeastEngine::Core& core, Outgoing outgoing, StreamKind kind);

}  // namespace kube
