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

#include "base/fair_lane.hpp"
#include "base/log.hpp"
#include "http_server/server.hpp"

namespace serving {

/// What every connection shares with the server.
struct SharedByConnections {
  ServerOptions options;
  Handler handler;
  base::Log log;
  boost::asio::thread_pool* handlers = nullptr;
  base::FairLane<std::function<void()>> jobs;  ///< for handlers, by the peer's address; guarded by mutex

  std::mutex mutex;
  std::condition_variable streams_done;
  std::size_t streams = 0;  // guarded by mutex
  bool stopping = false;    // guarded by mutex

  std::atomic<std::uint64_t> waits = 0;     ///< that have begun, over all connections
  std::atomic<std::size_t> body_bytes = 0;  ///< of all connections
  /// Closes connections that wait for bodies of that many bytes together, those that have waited longest. False: there
  /// are not so many, and none was closed.
  std::function<bool(std::size_t bytes)> close_slow_bodies;

  /// A body of that size may be read. end_body() must follow.
  bool begin_body(std::size_t bytes) {
    const std::size_t all = body_bytes += bytes;
    if (all <= options.max_all_body_bytes || close_slow_bodies(all - options.max_all_body_bytes)) return true;
    end_body(bytes);
    return false;
  }
  void end_body(std::size_t bytes) { body_bytes -= bytes; }

  /// Runs `job` on a handler thread. Addresses take turns: one that sends heavy requests over many connections delays
  /// those of others by no more than one of them for each thread.
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

/// A connection as the server's list of them sees it.
class Connection {
 public:
  virtual ~Connection() = default;
  virtual void start() = 0;
  virtual void close() = 0;  // any thread
  /// Which of all waits for a peer it is in: the smallest began first. 0: a request is in hand. Any thread.
  virtual std::uint64_t waiting_since() const = 0;
  /// Of the body that it reads or has in hand. Any thread.
  virtual std::size_t body_bytes() const = 0;
};

/// Speaks TLS with `tls`, plain text without. `on_end` gets the connection that is about to go; any thread.
std::shared_ptr<Connection> make_connection(boost::asio::ip::tcp::socket socket,
                                            std::shared_ptr<boost::asio::ssl::context> tls,
                                            std::shared_ptr<SharedByConnections> shared,
                                            std::function<void(Connection*)> on_end);

}  // namespace serving
