// The example service on a socket: webhook_service [port [seconds per move [bearer token]]]. Plain HTTP on loopback.
// Add TLS with a proxy in front of it or a certificate in http_server::ServerOptions.

#include <fmt/format.h>

#include <charconv>
#include <csignal>
#include <cstring>

#include "test/fakes/webhook_service.hpp"

namespace {

int number(const char* text, int otherwise) {
  int value = otherwise;
  std::from_chars(text, text + std::strlen(text), value);
  return value;
}

}  // namespace

int main(int argc, char** argv) {
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGINT);
  sigaddset(&stop, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &stop, nullptr);  // before the server starts its threads

  const base::SystemClock clock;
  fakes::WebhookBehaviour behaviour;
  behaviour.takes = base::seconds(argc > 2 ? number(argv[2], 10) : 10);
  if (argc > 3) behaviour.bearer = argv[3];
  fakes::WebhookService service(clock, behaviour);
  http_server::ServerOptions options;
  options.port = static_cast<std::uint16_t>(argc > 1 ? number(argv[1], 0) : 0);
  http_server::Server server(options, [&](const http_server::Request& request) { return service.answer(request); });
  if (const auto started = server.start(); !started) {
    fmt::print(stderr, "webhook_service: {}\n", started.error().message);
    return 1;
  }
  fmt::print("serving evacuator.dev/webhook/v1 on http://127.0.0.1:{}\n", server.port());
  std::fflush(stdout);
  int signal = 0;
  sigwait(&stop, &signal);
  return 0;
}
