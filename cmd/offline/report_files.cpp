#include "cmd/offline/report_files.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "api/json/json.hpp"
#include "planner/report/html.hpp"
#include "planner/report/picture/svg.hpp"
#include "planner/report/report_json.hpp"

namespace cmd {
namespace {

enum class ReportKind { kHtml, kSvg, kJson };

std::optional<ReportKind> kind_of(const std::string& path) {
  const std::string ending = std::filesystem::path(path).extension();
  if (ending == ".html" || ending == ".htm") return ReportKind::kHtml;
  if (ending == ".svg") return ReportKind::kSvg;
  if (ending == ".json") return ReportKind::kJson;
  return std::nullopt;
}

std::string render(const report::Report& report, ReportKind kind) {
  switch (kind) {
    case ReportKind::kHtml: return report::html_page(report);
    case ReportKind::kSvg: return report::svg_picture(report);
    case ReportKind::kJson: return api::to_json_text(report::encode_report(report)) + "\n";
  }
  return {};
}

base::Status write_file(const std::string& path, const std::string& text) {
  const std::string temporary = path + ".part";
  std::ofstream file(temporary, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (!file) {
    const int error = errno;
    std::remove(temporary.c_str());
    return base::invalid(fmt::format("{}: cannot be written: {}", path, std::strerror(error)));
  }
  std::error_code error;
  std::filesystem::rename(temporary, path, error);
  if (error) {
    std::remove(temporary.c_str());
    return base::invalid(fmt::format("{}: cannot be written: {}", path, error.message()));
  }
  return base::Done{};
}

}  // namespace

base::Status check_report_paths(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    if (!kind_of(path)) return base::invalid(path + ": the name of a report must end in .html, .svg or .json");
  }
  return base::Done{};
}

base::Status write_reports(const report::Report& report, const std::vector<std::string>& paths) {
  if (const auto checked = check_report_paths(paths); !checked) return checked.error();
  for (const std::string& path : paths) {
    if (const auto written = write_file(path, render(report, *kind_of(path))); !written) return written.error();
  }
  return base::Done{};
}

}  // namespace cmd
