#include "cmd/offline/report_files.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "api/json/json.hpp"
#include "planner/report/html.hpp"
#include "planner/report/picture/svg.hpp"
#include "planner/report/report_json.hpp"

namespace cmd {
namespace {

using Renderer = std::string (*)(const report::Report&);

std::string json_text(const report::Report& report) { return api::to_json_text(report::encode_report(report)) + "\n"; }

/// Returns nullptr if no format has the extension of the path.
Renderer renderer_of(const std::string& path) {
  const std::string ending = std::filesystem::path(path).extension();
  if (ending == ".html" || ending == ".htm") return report::html_page;
  if (ending == ".svg") return report::svg_picture;
  return ending == ".json" ? json_text : nullptr;
}

base::Status write_file(const std::string& path, const std::string& text) {
  const std::string temporary = path + ".part";
  std::ofstream file(temporary, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  std::error_code error(file ? 0 : errno == 0 ? EIO : errno, std::generic_category());
  if (!error) std::filesystem::rename(temporary, path, error);
  if (!error) return base::Done{};
  std::remove(temporary.c_str());
  return base::invalid(fmt::format("{}: cannot be written: {}", path, error.message()));
}

}  // namespace

base::Status check_report_paths(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    if (renderer_of(path) == nullptr)
      return base::invalid(path + ": the name of a report must end in .html, .svg or .json");
  }
  return base::Done{};
}

base::Status write_reports(const report::Report& report, const std::vector<std::string>& paths) {
  if (const auto checked = check_report_paths(paths); !checked) return checked.error();
  for (const std::string& path : paths) {
    if (const auto written = write_file(path, renderer_of(path)(report)); !written) return written.error();
  }
  return base::Done{};
}

}  // namespace cmd
