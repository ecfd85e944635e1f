#pragma once

/// TLS over a connected socket. Internal to the Beast engine.

#include <openssl/ssl.h>

#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include <boost/asio/ip/tcp.hpp>

namespace kube {

using TlsSession = std::shared_ptr<SSL_SESSION>;

/// OpenSSL reads and writes the socket directly, so there are no buffers in between. With SSL_MODE_RELEASE_BUFFERS an
/// idle connection has no buffers at all. Start one operation at a time, on the engine's thread. A callback must keep
/// the stream alive. Callbacks may run before the operation returns, except for read().
class TlsStream {
 public:
  using IoError = boost::system::error_code;
  using Done = std::function<void(const IoError&, std::size_t bytes)>;

  /// `socket` must be connected and must outlive the stream.
  TlsStream(boost::asio::ip::tcp::socket& socket, SSL_CTX* context);

  /// Returns nullptr if OpenSSL is out of memory.
  SSL* handle() const { return ssl_.get(); }

  /// Performs the client handshake. `known` is a session to resume, or nullptr for a full handshake.
  void handshake(const TlsSession& known, Done done);
  /// Writes all of `bytes`, which must stay valid until `done` is called.
  void write(std::string_view bytes, Done done);
  /// Reads the available bytes, at least one. Writes to `to` only directly before `done`, so connections may share it.
  void read(std::span<char> to, Done done);

  /// Returns a session that other connections with the same context can resume, nullptr if none exists yet.
  TlsSession session() const;

 private:
  /// One OpenSSL call that returns its result.
  using Step = std::function<int()>;

  void drive(Step step, Done done);
  void drive_when(boost::asio::ip::tcp::socket::wait_type ready, Step step, Done done);
  void write_rest(std::string_view rest, std::size_t sent, Done done);
  IoError error_of(int kind) const;

  boost::asio::ip::tcp::socket& socket_;
  std::unique_ptr<SSL, void (*)(SSL*)> ssl_;
};

}  // namespace kube
