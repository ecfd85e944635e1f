#include "test/unit/controllers/evacuation/phases/life.hpp"

#include <nlohmann/json.hpp>

namespace evacuation_test {

void Life::apply_patch(const std::string& body) {
  api::Pod pod = *seen.pod;
  const nlohmann::json patch = nlohmann::json::parse(body);
  for (const auto& [key, value] : patch["metadata"]["annotations"].items()) {
    pod.meta.annotations =
        value.is_null() ? pod.meta.annotations.without(key) : pod.meta.annotations.with(key, value.get<std::string>());
  }
  set_pod(std::move(pod));
}

}  // namespace evacuation_test
