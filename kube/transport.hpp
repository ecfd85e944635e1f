#pragma once

/// Interface between Evacuator and an API server. Implemented over HTTP (cpprestsdk for requests, Asio + Beast for
/// watches and paged lists) and by the simulator. Callers do not know which one they use.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/result.hpp"

namespace kube {

/// Priority class of a request in the client-side rate limiter. Evictions and leases never wait behind lists.
enum class Flow { kLease, kEviction, kWrite, kRead, kList };

/// Unsent request. Built by the pure functions of kube/request.hpp.
struct Request {
  std::string method = "GET";
  std::string path;          ///< absolute, percent-encoded, without query: "/api/v1/namespaces/shop/pods/web-1"
  std::string query;         ///< without "?": "limit=500&continue=…"
  std::string content_type;  ///< type of `body`, empty without body
  std::string accept = "application/json";
  std::string body;
  std::string traceparent;  ///< header of W3C Trace Context (telemetry/tracing/span.hpp), not sent if empty
  Flow flow = Flow::kRead;
  base::milliseconds timeout{34'000};  ///< total time to wait for a connection, connect, send and receive

  std::string target() const { return query.empty() ? path : path + "?" + query; }
  friend bool operator==(const Request&, const Request&) = default;
};

/// Any complete HTTP answer, including 4xx and 5xx.
struct Response {
  int status = 0;
  std::string body;
  std::optional<base::seconds> retry_after;  ///< header Retry-After in seconds
  std::string content_type;
};

/// Running watch or streamed list. Call next() from one thread. Any thread may call cancel().
class WatchStream {
 public:
  virtual ~WatchStream() = default;

  /// Waits at most `wait` for the next piece. For a watch, a piece is one watch event in JSON or protobuf, to be parsed
  /// by api::split_watch_line(). For Transport::list(), it is one envelope. Returns nullopt if none exists yet.
  /// Errors end the stream: kUnavailable if the server closed it, or it broke or was idle for too long; kCancelled
  /// after cancel().
  virtual base::Result<std::optional<std::string>> next(base::milliseconds wait) = 0;

  /// Makes the current and every later next() return kCancelled. Idempotent.
  virtual void cancel() = 0;
};

/// Optional interface of a WatchStream that notifies a listener, so that no thread has to wait in next().
class ReadinessSource {
 public:
  virtual ~ReadinessSource() = default;

  /// Sets a listener that is called each time next() may have a new result, including the end of the stream, and
  /// immediately if there already is one. Any thread may call it, with a lock of the stream held: it must be quick and
  /// must not use the stream. It is not called after the stream is destroyed. Call at most once, before the first
  /// next(). Returns false if the stream does not support listeners.
  virtual bool on_news(std::function<void()> news) = 0;
};

/// Sends requests unmodified, without retry, rate limit or interpretation. Thread-safe.
class Transport {
 public:
  virtual ~Transport() = default;

  /// Error codes: kUnavailable = definitely not carried out (no connection, TLS refused); kTimeout = the deadline
  /// passed before anything was sent; kOutcomeUnknown = sent, but the answer was lost, truncated or late; kCancelled =
  /// shutting down.
  virtual base::Result<Response> round_trip(const Request& request) = 0;

  /// Opens a watch. A non-200 answer is classified like any other (410 → kGone …).
  virtual base::Result<std::unique_ptr<WatchStream>> watch(const Request& request) = 0;

  /// Opens a list whose items arrive one by one, as split by api::protobuf::ListSplitter, so that it is never in
  /// memory as a whole. A stream that ends before the envelope with the list's metadata is incomplete. Returns
  /// kUnsupported if the server does not answer in protobuf, or this transport does not support it; list page by page
  /// then.
  virtual base::Result<std::unique_ptr<WatchStream>> list(const Request& /*request*/) {
    return base::Error{base::ErrorCode::kUnsupported, "this transport does not stream lists"};
  }
};

}  // namespace kube
