#include "kube/config/process_environment.hpp"

#include <stdlib.h>
#include <unistd.h>

#include <mutex>
#include <string_view>

namespace kube {
namespace {

Environment read_environment() {
  Environment all;
  for (char** at = environ; at != nullptr && *at != nullptr; ++at) {
    const std::string_view line(*at);
    const auto equals = line.find('=');
    if (equals != std::string_view::npos && equals > 0) all.emplace(line.substr(0, equals), line.substr(equals + 1));
  }
  return all;
}

std::mutex environment_mutex;
const Environment* original_environment = nullptr;  // set once by prepare_process, then immutable

}  // namespace

Environment child_environment() {
  const std::scoped_lock lock(environment_mutex);
  return original_environment != nullptr ? *original_environment : read_environment();
}

void prepare_process() {
  const std::scoped_lock lock(environment_mutex);
  if (original_environment != nullptr) return;
  original_environment = new Environment(read_environment());  // never freed
  ::setenv("SSL_CERT_FILE", "/dev/null", 1);
  ::setenv("SSL_CERT_DIR", "/nonexistent", 1);
}

}  // namespace kube
