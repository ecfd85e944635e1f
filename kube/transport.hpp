#pragma once

/// The one seam between Evacuator and an API server. Two families implement it: HTTP (cpprestsdk for requests, Asio +
/// Beast for watches and paged lists) and the simulator. Nothing above knows which one it has.

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/result.hpp"

namespace kube {

/// Whose turn it is when requests queue for the client's QPS: evictions and leases never wait behind lists.
enum class Flow { kLease, kEviction, kWrite, kRead, kList };

/// An unsent request. Built by the pure functions of kube/request.hpp.
struct Request {
  std::string method = "GET";
  std::string path;          ///< absolute, percent-encoded, without query: "/api/v1/namespaces/shop/pods/web-1"
  std::string query;         ///< without "?": "limit=500&continue=…"
  std::string content_type;  ///< of `body`; empty without body
  std::string accept = "application/json";
  std::string body;
  std::string traceparent;  ///< header of W3C Trace Context (telemetry/tracing/span.hpp); empty: none is sent
  Flow flow = Flow::kRead;
  base::milliseconds timeout{34'000};  ///< total: wait for a connection, connect, send, answer

  std::string target() const { return query.empty() ? path : path + "?" + query; }
  friend bool operator==(const Request&, const Request&) = default;
};

/// Any complete HTTP answer, also 4xx and 5xx.
struct Response {
  int status = 0;
  std::string body;
  std::optional<base::seconds> retry_after;  ///< header Retry-After in seconds
  std::string content_type;
};

/// A running watch. next() is called by one thread; cancel() by any.
class WatchStream {
 public:
  virtual ~WatchStream() = default;

  /// Waits at most `wait` for the next line: one watch event, of which api::split_watch_line() knows JSON from
  /// protobuf; of Transport::list() one envelope. nullopt: nothing yet. Errors end the stream: kUnavailable when the
  /// server closed it or it broke or stayed idle too long, kCancelled after cancel().
  virtual base::Result<std::optional<std::string>> next(base::milliseconds wait) = 0;

  /// Makes a waiting and every later next() return kCancelled. Idempotent.
  virtual void cancel() = 0;
};

/// Sends requests as they are: no retry, no rate limit, no interpretation. Thread-safe.
class Transport {
 public:
  virtual ~Transport() = default;

  /// Error codes: kUnavailable = surely not carried out (no connection, TLS refused); kTimeout = the deadline passed
  /// before anything was sent; kOutcomeUnknown = sent, but the answer was lost, cut or late; kCancelled = shutting
  /// down.
  virtual base::Result<Response> round_trip(const Request& request) = 0;

  /// Opens a watch. A non-200 answer is classified like any other (410 → kGone …).
  virtual base::Result<std::unique_ptr<WatchStream>> watch(const Request& request) = 0;

  /// Opens a list of which the items come one by one, so that it is never in memory as a whole: what
  /// api::protobuf::ListSplitter makes of it. A stream that ends before the envelope with the list's metadata was cut.
  /// kUnsupported: the server answers something else than protobuf, or this transport cannot; list page by page.
  virtual base::Result<std::unique_ptr<WatchStream>> list(const Request& /*request*/) {
    return base::Error{base::ErrorCode::kUnsupported, "lists are not streamed here"};
  }
};

}  // namespace kube
