#include "test_server.hpp"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <stdexcept>

#include "base/base64.hpp"
#include "kube/config/files.hpp"

namespace kube::testing {
namespace {

using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;

void must(bool fine, const char* what) {
  if (!fine) throw std::runtime_error(std::string("test server: ") + what);
}

Key new_key() { return {EVP_EC_gen("P-256"), &EVP_PKEY_free}; }

std::string text_of(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  std::string text(data, static_cast<std::size_t>(size));
  BIO_free(bio);
  return text;
}
std::string pem_of(X509* certificate) {
  BIO* bio = BIO_new(BIO_s_mem());
  PEM_write_bio_X509(bio, certificate);
  return text_of(bio);
}
std::string pem_of(EVP_PKEY* key) {
  BIO* bio = BIO_new(BIO_s_mem());
  PEM_write_bio_PrivateKey(bio, key, nullptr, nullptr, 0, nullptr, nullptr);
  return text_of(bio);
}

void add_extension(X509* to, X509* issuer, int id, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, to, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, id, value.c_str());
  must(extension != nullptr, "extension");
  X509_add_ext(to, extension, -1);
  X509_EXTENSION_free(extension);
}

Certificate new_certificate(EVP_PKEY* key, const char* name, long from, long to) {
  static std::atomic<long> serial = 1;
  Certificate certificate(X509_new(), &X509_free);
  X509_set_version(certificate.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), serial++);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), from);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), to);
  X509_set_pubkey(certificate.get(), key);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate.get()), "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(name), -1, -1, 0);
  return certificate;
}

std::shared_ptr<void> server_context(const ServerTls& tls) {
  SSL_CTX* context = SSL_CTX_new(TLS_server_method());
  BIO* in = BIO_new_mem_buf(tls.identity.certificate.data(), static_cast<int>(tls.identity.certificate.size()));
  X509* certificate = PEM_read_bio_X509(in, nullptr, nullptr, nullptr);
  BIO_free(in);
  in = BIO_new_mem_buf(tls.identity.key.data(), static_cast<int>(tls.identity.key.size()));
  EVP_PKEY* key = PEM_read_bio_PrivateKey(in, nullptr, nullptr, nullptr);
  BIO_free(in);
  must(SSL_CTX_use_certificate(context, certificate) == 1 && SSL_CTX_use_PrivateKey(context, key) == 1, "identity");
  X509_free(certificate);
  EVP_PKEY_free(key);
  if (!tls.client_ca_pem.empty()) {
    in = BIO_new_mem_buf(tls.client_ca_pem.data(), static_cast<int>(tls.client_ca_pem.size()));
    X509* ca = PEM_read_bio_X509(in, nullptr, nullptr, nullptr);
    BIO_free(in);
    X509_STORE_add_cert(SSL_CTX_get_cert_store(context), ca);
    X509_free(ca);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  }
  return {context, [](void* raw) { SSL_CTX_free(static_cast<SSL_CTX*>(raw)); }};
}

std::pair<int, std::uint16_t> listen_on_loopback(bool ipv6) {
  const int listener = ::socket(ipv6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  must(listener >= 0, "socket");
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  v6.sin6_addr = in6addr_loopback;
  auto* address = ipv6 ? reinterpret_cast<sockaddr*>(&v6) : reinterpret_cast<sockaddr*>(&v4);
  socklen_t size = ipv6 ? sizeof v6 : sizeof v4;
  must(::bind(listener, address, size) == 0 && ::listen(listener, 128) == 0, "bind");
  ::getsockname(listener, address, &size);
  return {listener, ntohs(ipv6 ? v6.sin6_port : v4.sin_port)};
}

}  // namespace

struct TestCa::Keys {
  explicit Keys(const char* name) : certificate(new_certificate(key.get(), name, -7200, 7200)) {}
  Key key = new_key();
  Certificate certificate;
};

TestCa::TestCa(const char* name) : keys_(std::make_unique<Keys>(name)) {}

TestCa::TestCa() : TestCa("Test CA") { sign_with(*keys_); }

TestCa TestCa::intermediate_of(const TestCa& issuer) {
  TestCa own("Test intermediate CA");
  own.sign_with(*issuer.keys_);
  return own;
}

void TestCa::sign_with(const Keys& issuer) {
  X509* own = keys_->certificate.get();
  X509_set_issuer_name(own, X509_get_subject_name(issuer.certificate.get()));
  add_extension(own, issuer.certificate.get(), NID_basic_constraints, "critical,CA:TRUE");
  X509_sign(own, issuer.key.get(), EVP_sha256());
  pem_ = pem_of(own);
}

TestCa::TestCa(TestCa&&) noexcept = default;
TestCa::~TestCa() = default;

Pem TestCa::issue(const std::vector<std::string>& names, long valid_from, long valid_to) const {
  const Key key = new_key();
  const Certificate certificate = new_certificate(key.get(), "leaf", valid_from, valid_to);
  X509_set_issuer_name(certificate.get(), X509_get_subject_name(keys_->certificate.get()));
  std::string alternatives;
  for (const std::string& name : names) {
    unsigned char parsed[16];
    const bool is_ip =
        ::inet_pton(AF_INET, name.c_str(), parsed) == 1 || ::inet_pton(AF_INET6, name.c_str(), parsed) == 1;
    alternatives += (alternatives.empty() ? "" : ",") + std::string(is_ip ? "IP:" : "DNS:") + name;
  }
  if (!alternatives.empty())
    add_extension(certificate.get(), keys_->certificate.get(), NID_subject_alt_name, alternatives);
  X509_sign(certificate.get(), keys_->key.get(), EVP_sha256());
  return {pem_of(certificate.get()), pem_of(key.get())};
}

class TestServer::Connection final : public Peer {
 public:
  Connection(TestServer& server, int socket, SSL_CTX* context)
      : server_(server), socket_(socket), tls_(context == nullptr ? nullptr : SSL_new(context)) {
    if (tls_ != nullptr) SSL_set_fd(tls_, socket);
  }
  ~Connection() override {
    if (tls_ != nullptr && !was_reset_) SSL_shutdown(tls_);
    if (tls_ != nullptr) SSL_free(tls_);
  }
  bool handshake() {
    if (tls_ == nullptr) return true;
    if (SSL_accept(tls_) != 1) return false;
    server_.resumed_sessions_ += SSL_session_reused(tls_);
    return true;
  }

  bool send(std::string_view bytes) override {
    while (!bytes.empty()) {
      note_stall();
      const auto sent = tls_ != nullptr ? SSL_write(tls_, bytes.data(),
                                                    static_cast<int>(std::min<std::size_t>(bytes.size(), 1 << 20)))
                                        : static_cast<int>(::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL));
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }
  void reset() override {
    const linger immediately{1, 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &immediately, sizeof immediately);
    was_reset_ = true;
  }
  void await_end() override {
    std::array<char, 4096> ignored;
    while (receive(ignored.data(), ignored.size()) > 0) {
    }
  }
  void dawdle() override {
    pollfd hang_up{socket_, POLLRDHUP, 0};
    ::poll(&hang_up, 1, 5);
  }
  /// Reads the next request. Returns false at the end of the connection.
  bool read(ServerRequest& request) {
    std::size_t head_end = std::string::npos;
    while ((head_end = input_.find("\r\n\r\n")) == std::string::npos) {
      if (!fill()) return false;
    }
    parse_head(input_.substr(0, head_end), request);
    input_.erase(0, head_end + 4);
    const auto length = request.headers.find("content-length");
    const std::size_t wanted = length == request.headers.end() ? 0 : std::stoul(length->second);
    while (input_.size() < wanted) {
      if (!fill()) return false;
    }
    request.body = input_.substr(0, wanted);
    input_.erase(0, wanted);
    return true;
  }

 private:
  void note_stall() {
    pollfd writable{socket_, POLLOUT, 0};
    if (::poll(&writable, 1, 200) != 0) return;
    const std::scoped_lock lock(server_.mutex_);
    server_.stalled_ = true;
    server_.changed_.notify_all();
  }
  int receive(char* into, std::size_t size) {
    return tls_ != nullptr ? SSL_read(tls_, into, static_cast<int>(size))
                           : static_cast<int>(::recv(socket_, into, size, 0));
  }
  bool fill() {
    std::array<char, 16384> block;
    const int got = receive(block.data(), block.size());
    if (got > 0) input_.append(block.data(), static_cast<std::size_t>(got));
    return got > 0;
  }
  static void parse_head(const std::string& head, ServerRequest& request) {
    const auto first = head.find(' ');
    const auto second = head.find(' ', first + 1);
    request.method = head.substr(0, first);
    request.target = head.substr(first + 1, second - first - 1);
    for (auto at = head.find("\r\n"); at != std::string::npos; at = head.find("\r\n", at + 2)) {
      const auto colon = head.find(':', at);  // cpprestsdk sends no space after the colon
      const auto end = std::min(head.find("\r\n", at + 2), head.size());
      if (colon == std::string::npos || colon > end) continue;
      std::string name = head.substr(at + 2, colon - at - 2);
      std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
      std::string& value = request.headers[name];  // Values of a repeated header are joined
      if (!value.empty()) value += ", ";
      value += trim(std::string_view(head).substr(colon + 1, end - colon - 1));
    }
  }

  TestServer& server_;
  const int socket_;
  SSL* const tls_;
  std::string input_;
  bool was_reset_ = false;
};

TestServer::TestServer(Handler handler, const ServerTls* tls, bool ipv6) : handler_(std::move(handler)), ipv6_(ipv6) {
  ::signal(SIGPIPE, SIG_IGN);  // SSL_write has no MSG_NOSIGNAL
  if (tls != nullptr) context_ = server_context(*tls);
  std::tie(listener_, port_) = listen_on_loopback(ipv6);
  acceptor_ = std::thread([this] { accept_all(); });
}

TestServer::~TestServer() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
    ::shutdown(listener_, SHUT_RDWR);
    for (const int socket : sockets_) ::shutdown(socket, SHUT_RDWR);
  }
  acceptor_.join();
  for (std::thread& each : threads_) each.join();
  ::close(listener_);
}

void TestServer::accept_all() {
  for (;;) {
    const int socket = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    const std::scoped_lock lock(mutex_);
    if (stopping_ || socket < 0) {
      if (socket >= 0) ::close(socket);
      if (stopping_) return;
      continue;
    }
    sockets_.push_back(socket);
    threads_.emplace_back([this, socket, number = ++connections_] { serve(socket, number); });
  }
}

void TestServer::serve(int socket, int number) {
  {
    Connection connection(*this, socket, static_cast<SSL_CTX*>(context_.get()));
    bool advance_switchover = connection.handshake();
    while (advance_switchover) {
      ServerRequest request;
      request.connection = number;
      if (!connection.read(request)) break;
      {
        const std::scoped_lock lock(mutex_);
        requests_.push_back(request);
        changed_.notify_all();
      }
      advance_switchover = handler_(connection, request);
    }
  }
  const std::scoped_lock lock(mutex_);
  std::erase(sockets_, socket);
  ::close(socket);
  changed_.notify_all();
}

std::string TestServer::url() const {
  return std::string(context_ ? "https://" : "http://") + (ipv6_ ? "[::1]" : "127.0.0.1") + ":" + std::to_string(port_);
}

std::vector<ServerRequest> TestServer::requests() const {
  const std::scoped_lock lock(mutex_);
  return requests_;
}

void TestServer::await_requests(std::size_t count) const {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return requests_.size() >= count; });
}

void TestServer::await_no_connections() const {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return sockets_.empty(); });
}

void TestServer::await_stall() const {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return stalled_; });
}

std::string http_answer(int status, const std::string& body, const std::string& more_headers,
                        const std::string& content_type) {
  return "HTTP/1.1 " + std::to_string(status) + " Text\r\nContent-Type: " + content_type +
         "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" + more_headers + "\r\n" + body;
}

// --- proxy

struct TestProxy::Impl {
  std::string credentials;
  int listener = -1;
  std::uint16_t port = 0;
  std::mutex mutex;
  std::vector<std::string> targets;
  std::list<int> sockets;
  std::list<std::thread> threads;
  bool stopping = false;
  std::thread acceptor;

  void accept_all();
  void serve(int client);
  int connect_to(const std::string& target);
};

void TestProxy::Impl::accept_all() {
  for (;;) {
    const int client = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    const std::scoped_lock lock(mutex);
    if (stopping || client < 0) {
      if (client >= 0) ::close(client);
      if (stopping) return;
      continue;
    }
    sockets.push_back(client);
    threads.emplace_back([this, client] { serve(client); });
  }
}

int TestProxy::Impl::connect_to(const std::string& target) {
  const int server = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(target.substr(target.rfind(':') + 1))));
  must(::connect(server, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0, "proxy connect");
  return server;
}

void TestProxy::Impl::serve(int client) {
  std::string head;
  char c = 0;
  while (head.find("\r\n\r\n") == std::string::npos && ::recv(client, &c, 1, 0) == 1) head += c;
  const std::string target = head.size() > 8 ? head.substr(8, head.find(' ', 8) - 8) : "";
  const std::string wanted = "Proxy-Authorization: Basic " + base::encode_base64(credentials) + "\r\n";
  const bool allowed = credentials.empty() || head.find(wanted) != std::string::npos;
  int server = -1;
  {
    const std::scoped_lock lock(mutex);
    targets.push_back(target);
    if (allowed && head.starts_with("CONNECT ") && !stopping) sockets.push_back(server = connect_to(target));
  }
  const std::string answer = allowed ? "HTTP/1.1 200 Connection established\r\n\r\n"
                                     : "HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n";
  ::send(client, answer.data(), answer.size(), MSG_NOSIGNAL);
  std::array<char, 16384> block;
  bool open = server >= 0;
  while (open) {
    std::array<pollfd, 2> both{pollfd{client, POLLIN, 0}, pollfd{server, POLLIN, 0}};
    ::poll(both.data(), both.size(), -1);
    for (std::size_t i = 0; i < 2 && open; ++i) {
      if (both[i].revents == 0) continue;
      const auto got = ::recv(both[i].fd, block.data(), block.size(), 0);
      open = got > 0 && ::send(both[1 - i].fd, block.data(), static_cast<std::size_t>(got), MSG_NOSIGNAL) == got;
    }
  }
  const std::scoped_lock lock(mutex);
  for (const int socket : {client, server}) {
    std::erase(sockets, socket);
    if (socket >= 0) ::close(socket);
  }
}

TestProxy::TestProxy(std::string credentials) : impl_(std::make_unique<Impl>()) {
  ::signal(SIGPIPE, SIG_IGN);
  impl_->credentials = std::move(credentials);
  std::tie(impl_->listener, impl_->port) = listen_on_loopback(false);
  impl_->acceptor = std::thread([this] { impl_->accept_all(); });
}

TestProxy::~TestProxy() {
  {
    const std::scoped_lock lock(impl_->mutex);
    impl_->stopping = true;
    ::shutdown(impl_->listener, SHUT_RDWR);
    for (const int socket : impl_->sockets) ::shutdown(socket, SHUT_RDWR);
  }
  impl_->acceptor.join();
  for (std::thread& each : impl_->threads) each.join();
  ::close(impl_->listener);
}

std::uint16_t TestProxy::port() const { return impl_->port; }

std::vector<std::string> TestProxy::targets() const {
  const std::scoped_lock lock(impl_->mutex);
  return impl_->targets;
}

}  // namespace kube::testing
