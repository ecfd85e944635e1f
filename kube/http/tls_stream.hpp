#pragma once

/// Internal to the Beast engine: TLS over a connected socket.

#include <openssl/ssl.h>

#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include <boost/asio/ip/tcp.hpp>

namespace kube {

using TlsSession = std::shared_ptr<SSL_SESSION>;

/// OpenSSL reads and writes the socket itself. So there are no buffers between the two, and with
/// SSL_MODE_RELEASE_BUFFERS a connection that waits for something holds none at all. One operation at a time, on the
/// engine's thread. A callback must keep the stream alive; it may be called before the operation returns, but for
/// read().
class TlsStream {
 public:
  using IoError = boost::system::error_code;
  using Done = std::function<void(const IoError&, std::size_t bytes)>;

  /// `socket` must be connected, and outlive it.
  TlsStream(boost::asio::ip::tcp::socket& socket, SSL_CTX* context);

  /// nullptr: OpenSSL has no memory.
  SSL* handle() const { return ssl_.get(); }

  /// As the client. `known` shortens it; nullptr: in full.
  void handshake(const TlsSession& known, Done done);
  /// All of `bytes`, which must stay until `done` is called.
  void write(std::string_view bytes, Done done);
  /// As much as is there, at least one byte. `to` is written to right before `done`, and not earlier: connections may
  /// share it.
  void read(std::span<char> to, Done done);

  /// What shortens the handshake of another connection with the same context; nullptr: nothing does yet.
  TlsSession session() const;

 private:
  /// One call of OpenSSL; its result.
  using Step = std::function<int()>;

  void drive(Step step, Done done);
  void drive_when(boost::asio::ip::tcp::socket::wait_type ready, Step step, Done done);
  void write_rest(std::string_view rest, std::size_t sent, Done done);
  IoError error_of(int kind) const;

  boost::asio::ip::tcp::socket& socket_;
  std::unique_ptr<SSL, void (*)(SSL*)> ssl_;
};

}  // namespace kube
