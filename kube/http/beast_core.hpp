#pragma once

/// Internal to the Beast engine: what its operations share. All members belong to the engine's thread unless they say
/// otherwise.

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

/// Something that runs and can be told to end.
class Operation {
 public:
  virtual ~Operation() = default;
  virtual void abort(base::Error why) = 0;
};

struct BeastEngine::Core {
  explicit Core(Endpoint endpoint_in);
  ~Core();

  std::shared_ptr<Connection> new_connection(const TlsContext& tls);
  /// Whether another one is worth a try after this one did not open: a server that cannot go on with a session may hang
  /// up on it. No more are offered then.
  bool opens_without_session(const Connection& failed);
  /// A kept-alive connection with that TLS context, or nullptr.
  std::shared_ptr<Connection> take_idle(const TlsContext& tls);
  void keep(std::shared_ptr<Connection> connection);
  /// False: shutting down.
  bool enter(const std::shared_ptr<Operation>& operation);
  void leave(const std::shared_ptr<Operation>& operation) { running.erase(operation); }
  void shut_down();  // from any thread

  const Endpoint endpoint;
  boost::asio::io_context io{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work;
  std::vector<std::shared_ptr<Connection>> idle;  // the one used last is last
  TlsContext session_of;                          // what `session` was made with
  TlsSession session;  // of the connection that was kept last; nullptr: none can be taken up again
  bool offers_sessions = true;
  std::array<char, 32 << 10> buffer;  // what is read, on its way to the operation
  std::set<std::shared_ptr<Operation>> running;
  bool closing = false;
  std::thread thread;
};

/// Opens a watch or a streamed list; in beast_watch.cpp.
base::Result<std::unique_ptr<WatchStream>> open_stream(BeastEngine::Core& core, Outgoing outgoing, StreamKind kind);

}  // namespace kube
