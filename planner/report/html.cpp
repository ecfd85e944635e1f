#include "planner/report/html.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "api/json/json.hpp"
#include "base/base64.hpp"
#include "planner/report/embedded_viewer.hpp"
#include "planner/report/plain_text.hpp"
#include "planner/report/report_json.hpp"
#include "planner/report/summary.hpp"

namespace report {
namespace {

/// Formats a digest as a Content-Security-Policy source: 'sha256-…'.
std::string source_of(std::string_view hexadecimal) {
  const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hexadecimal.size(); i += 2)
    bytes += static_cast<char>(digit(hexadecimal[i]) * 16 + digit(hexadecimal[i + 1]));
  return "'sha256-" + base::encode_base64(bytes) + "'";
}

std::string content_policy() {
  return fmt::format("default-src 'none'; script-src {}; style-src {}; base-uri 'none'; form-action 'none'",
                     source_of(viewer_script_digest()), source_of(viewer_style_digest()));
}

std::string without_script(const Report& report) {
  std::string text = "<noscript><p>This report requires JavaScript, which is disabled in your browser.</p>";
  for (const std::string& line : summary_lines(report)) text += "<p>" + escape_markup(line) + "</p>";
  return text + "</noscript>";
}

}  // namespace

std::string html_page(const Report& report) {
  std::string page = "<!doctype html>\n<html lang=\"en\" class=\"ev-page\">\n<head>\n<meta charset=\"utf-8\">\n";
  page += "<meta http-equiv=\"Content-Security-Policy\" content=\"" + content_policy() + "\">\n";
  page += "<meta name=\"referrer\" content=\"no-referrer\">\n";
  page += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
  page += "<title>Evacuator: " + escape_markup(report.policy) + "</title>\n<style>";
  page += viewer_style();
  page += "</style>\n</head>\n<body>\n<div id=\"report\"></div>\n" + without_script(report) + "\n";
  page += "<script type=\"application/json\" id=\"data\">";
  page += escape_json_for_html(api::to_json_text(encode_report(report)));
  page += "</script>\n<script data-report=\"report\" data-from=\"data\">";
  page += viewer_script();
  return page + "</script>\n</body>\n</html>\n";
}

}  // namespace report
