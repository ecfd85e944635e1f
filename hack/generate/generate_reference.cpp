/// Generates crds/legacy/ and docs/reference/api.md from crds/*.yaml, docs/troubleshooting.md from api/vocabulary, and
/// docs/reference/permissions.md from the roles in config/.
/// usage: generate_reference REPOSITORY

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "api/json/yaml.hpp"
#include "test/unit/api/api_reference.hpp"
#include "test/unit/api/permissions_page.hpp"
#include "test/unit/api/troubleshooting_page.hpp"

namespace {

base::Result<api::Json> read_crd(const std::filesystem::path& path) {
  std::ifstream in(path);
  if (!in) return base::invalid(fmt::format("{}: cannot be read", path.string()));
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  auto documents = api::parse_yaml(text);
  if (!documents) return documents.error().during(path.string());
  if (documents->size() != 1) return base::invalid(fmt::format("{}: must be one document", path.string()));
  return documents->front();
}

base::Status write_file(const std::filesystem::path& path, const std::string& text) {
  std::error_code ignored;  // a failure shows up when the file is opened
  std::filesystem::create_directories(path.parent_path(), ignored);
  std::ofstream out(path);
  out << text;
  out.close();
  if (!out) return base::invalid(fmt::format("{}: cannot be written", path.string()));
  return base::Done{};
}

base::Status generate(const std::filesystem::path& root) {
  std::vector<api::Json> crds;
  for (const std::string& name : api_reference::kCrdFiles) {
    auto crd = read_crd(root / "crds" / name);
    if (!crd) return crd.error();
    const auto written = write_file(root / "crds/legacy" / name, api_reference::legacy_file(*crd, name));
    if (!written) return written.error();
    crds.push_back(*std::move(crd));
  }
  const auto written = write_file(root / "docs/reference/api.md", api_reference::reference_page(crds));
  if (!written) return written.error();
  const auto explained = write_file(root / "docs/troubleshooting.md", api_reference::troubleshooting_page());
  if (!explained) return explained.error();
  return write_file(root / "docs/reference/permissions.md", api_reference::permissions_page(root));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: {} REPOSITORY\n", argv[0]);
    return 2;
  }
  const auto done = generate(argv[1]);
  if (!done) fmt::print(stderr, "generate_reference: {}\n", done.error().message);
  return done ? 0 : 1;
}
