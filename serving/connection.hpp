#pragma once

/// One accepted connection; internal to the server.

#include <atomic>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>

#include "base/log.hpp"
#include "serving/server.hpp"

namespace serving {

/// What every connection shares with the server.
struct SharedByConnections {
  ServerOptions options;
  Handler handler;
  base::Log log;
  boost::asio::thread_pool* handlers = nullptr;

  std::mutex mutex;
  std::condition_variable streams_done;
  std::size_t streams = 0;  // guarded by mutex
  bool stopping = false;    // guarded by mutex

  std::atomic<std::uint64_t> waits = 0;  ///< that have begun, over all connections

  bool begin_stream() {
    const std::scoped_lock lock(mutex);
    if (stopping || streams >= options.max_streams) return false;
    ++streams;
    return true;
  }
  void end_stream() {
    const std::scoped_lock lock(mutex);
    --streams;
    streams_done.notify_all();
  }
};

/// A connection as the server's list of them sees it.
class Connection {
 public:
  virtual ~Connection() = default;
  virtual void start() = 0;
  virtual void close() = 0;  // any thread
  /// Which of all waits for a peer it is in: the smallest began first. 0: a request is in hand. Any thread.
  virtual std::uint64_t waiting_since() const = 0;
};

/// Speaks TLS with `tls`, plain text without. `on_end` gets the connection that is about to go; any thread.
std::shared_ptr<Connection> make_connection(boost::asio::ip::tcp::socket socket,
                                            std::shared_ptr<boost::asio::ssl::context> tls,
                                            std::shared_ptr<SharedByConnections> shared,
                                            std::function<void(Connection*)> on_end);

}  // namespace serving
