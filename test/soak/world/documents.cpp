#include "test/soak/world/documents.hpp"

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

#include "api/json/yaml.hpp"

namespace soak {

std::vector<api::Json> documents_of(const std::string& file) {
  std::ifstream stream(EVACUATOR_SOURCE_DIR "/" + file);
  std::stringstream text;
  text << stream.rdbuf();
  auto documents = api::parse_yaml(text.str());
  if (!documents) throw std::runtime_error(file + ": " + documents.error().message);
  return *std::move(documents);
}

}  // namespace soak
