#pragma once

/// One accepted connection. Internal to the server.

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

#include "base/fair_queue.hpp"
#include "base/log.hpp"
#include "http_server/server.hpp"

namespace http_server {

/// State that all connections share with the server.
struct ServerState {
  ServerOptions options;
  Handler handler;
  base::Log log;
  boost::asio::thread_pool* handlers = nullptr;
  base::FairQueue<std::function<void()>> jobs;  ///< handler jobs by peer address; guarded by mutex

  std::mutex mutex;
  std::condition_variable streams_done;
  std::size_t streams = 0;  // guarded by mutex
  bool stopping = false;    // guarded by mutex

  std::atomic<std::uint64_t> waits = 0;     ///< number of waits for peers begun so far by all connections
  std::atomic<std::size_t> body_bytes = 0;  ///< sum over all connections
  /// Closes the connections that have waited longest for the rest of their bodies, until `bytes` are freed. Returns
  /// false, and closes none, if the waiting bodies are smaller than that.
  std::function<bool(std::size_t bytes)> close_slow_bodies;

  /// Reserves `bytes` for a body. Returns false if the limit is reached; otherwise end_body() must follow.
  bool begin_body(std::size_t bytes) {
    const std::size_t all = body_bytes += bytes;
    if (all <= options.max_all_body_bytes || close_slow_bodies(all - options.max_all_body_bytes)) return true;
    end_body(bytes);
    return false;
  }
  void end_body(std::size_t bytes) { body_bytes -= bytes; }

  /// Runs `job` on a handler thread. Peer addresses take turns: a peer that sends expensive requests over many
  /// connections delays the requests of other peers by at most one job per thread.
  void run_fairly(std::string_view peer, std::function<void()> job) {
    {
      const std::scoped_lock lock(mutex);
      jobs.push(std::string(peer.substr(0, peer.rfind(':'))), std::move(job));
    }
    boost::asio::post(*handlers, [this] {
      std::unique_lock lock(mutex);
      const auto next = jobs.pop();
      lock.unlock();
      if (next) (*next)();
    });
  }

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

class Connection {
 public:
  virtual ~Connection() = default;
  virtual void start() = 0;
  virtual void close() = 0;  // thread-safe
  /// Sequence number of the current wait for the peer; smaller is older. Returns 0 while a handler runs. Thread-safe.
  virtual std::uint64_t waiting_since() const = 0;
  /// Size of the body that is being read or handled. Thread-safe.
  virtual std::size_t body_bytes() const = 0;
};

/// Makes a connection with TLS if `tls` is set, otherwise plain text. Any thread may call `on_end`, with the connection
/// that is about to be destroyed.
std::shared_ptr<Connection> make_connection(boost::asio::ip::tcp::socket socket,
                                            std::shared_ptr<boost::asio::ssl::context> tls,
                                            std::shared_ptr<ServerState> shared,
                                            std::function<void(Connection*)> on_end);

}  // namespace http_server
