#pragma once

/// One connection of the Beast engine, driven by callbacks on the engine's thread. Internal to the engine.

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/result.hpp"
#include "kube/http/beast_engine.hpp"
#include "kube/http/response_reader.hpp"
#include "kube/http/tls_stream.hpp"

namespace kube {

/// Resolve → connect → (CONNECT through the proxy) → TLS, each with its deadline, then writes and reads. Call all
/// methods on the engine's thread, which also runs all callbacks and replaces a strand. A pending callback keeps the
/// connection alive.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  using IoError = boost::system::error_code;
  using Opened = std::function<void(std::optional<base::Error>)>;
  /// `complete` means that every byte was handed to the kernel.
  using Written = std::function<void(const IoError&, bool complete)>;
  using Received = std::function<void(const IoError&, std::string_view)>;

  /// State shared by connections. Must outlive them.
  struct Shared {
    boost::asio::io_context& io;
    const Endpoint& endpoint;
    std::span<char> buffer;  ///< holds received bytes until the callback returns
  };

  /// `tls` is nullptr for plain HTTP. `known` is a session of an earlier connection with that context, or nullptr.
  Connection(const Shared& shared, TlsContext tls, TlsSession known);

  /// Fails with kTimeout, or with kUnavailable and the reason (X509's for a bad certificate).
  void open(Opened opened);
  /// `bytes` must stay valid until `written` is called.
  void write(std::string_view bytes, Written written);
  /// The bytes passed to `received` are invalid after it returns.
  void read(Received received);
  /// Aborts the running operation, whose callback gets an error.
  void close();

  /// Returns true if the kept-alive connection is usable: still open, and the server has sent nothing since the last
  /// answer.
  bool is_fresh(std::chrono::steady_clock::time_point now, base::milliseconds keep_alive) const;
  void touch(std::chrono::steady_clock::time_point now) { used_at_ = now; }
  const TlsContext& tls() const { return tls_; }
  /// Returns true if the handshake offered the session of an earlier connection.
  bool offered_session() const { return offered_session_; }
  /// Returns the session for the next connection, nullptr if no session can be resumed.
  TlsSession session() const { return stream_ ? stream_->session() : nullptr; }
  const char* phase() const { return phase_; }
  /// Returns "connection reset" or the TLS error. Adds a hint for certificate alerts of the server.
  std::string explain(const IoError& error) const;
  /// Returns true if the server refused the client certificate after the handshake, as TLS 1.3 does. The request was
  /// then not carried out.
  static bool is_certificate_alert(const IoError& error);

 private:
  using Endpoints = boost::asio::ip::tcp::resolver::results_type;

  void start_phase(base::milliseconds limit, const char* name);
  void resolve();
  void connect(const Endpoints& endpoints);
  void connected();
  void ask_proxy();
  void read_proxy_answer(std::shared_ptr<ResponseReader> reader);
  void proxy_answered(const ResponseReader& reader);
  void handshake();
  void read_plain(Received received);
  void finish(std::optional<base::Error> error);
  void fail(const IoError& error);

  const Endpoint& endpoint_;
  const std::span<char> buffer_;
  const TlsContext tls_;
  TlsSession known_;
  bool offered_session_ = false;
  boost::asio::ip::tcp::resolver resolver_;
  boost::asio::ip::tcp::socket socket_;
  std::optional<TlsStream> stream_;
  boost::asio::steady_timer timer_;
  Opened opened_;
  const char* phase_ = "";
  std::string refusal_;  // why the certificate was not accepted
  std::string proxy_request_;
  std::chrono::steady_clock::time_point used_at_{};
};

}  // namespace kube
