#include "base/openmetrics.hpp"

#include <fmt/format.h>

#include <cmath>
#include <string_view>

namespace base {
namespace {

constexpr std::string_view kTotal = "_total";

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (c == '\\' || c == '"') out += '\\';
    out += c;
  }
  return out;
}

std::string number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  return fmt::format("{}", value);
}

/// Formats a bucket bound as a floating-point number, with ".0" if it is an integer.
std::string bound(double value) {
  std::string text = number(value);
  if (text.find_first_of(".eIN") == std::string::npos) text += ".0";
  return text;
}

std::string braces(const std::vector<std::pair<std::string, std::string>>& labels, std::string_view le = {}) {
  std::string inside;
  for (const auto& [name, value] : labels)
    inside += fmt::format("{}{}=\"{}\"", inside.empty() ? "" : ",", name, escaped(value));
  if (!le.empty()) inside += fmt::format("{}le=\"{}\"", inside.empty() ? "" : ",", le);
  return inside.empty() ? inside : "{" + inside + "}";
}

std::string tail(const std::optional<BucketExemplar>& told) {
  if (!told) return {};
  const double at = std::chrono::duration<double>(told->exemplar.at.time_since_epoch()).count();
  return fmt::format(" # {{trace_id=\"{}\"}} {} {:.3f}", escaped(told->exemplar.trace_id), number(told->value), at);
}

void add_histogram(std::string& out, const std::string& name, const MetricFamily::Series& series) {
  for (const MetricFamily::Bucket& each : series.buckets)
    out += fmt::format("{}_bucket{} {}{}\n", name, braces(series.labels, bound(each.bound)), each.count,
                       tail(each.exemplar));
  out += fmt::format("{}_count{} {}\n", name, braces(series.labels), series.count);
  out += fmt::format("{}_sum{} {}\n", name, braces(series.labels), number(series.value));
}

/// Returns the name of the family in the OpenMetrics format, and its type.
std::pair<std::string, std::string_view> head_of(const MetricFamily& family) {
  if (family.kind == MetricFamily::Kind::kGauge) return {family.name, "gauge"};
  if (family.kind == MetricFamily::Kind::kHistogram) return {family.name, "histogram"};
  if (!family.name.ends_with(kTotal)) return {family.name, "unknown"};
  return {family.name.substr(0, family.name.size() - kTotal.size()), "counter"};
}

}  // namespace

std::string render_openmetrics(const std::vector<MetricFamily>& families) {
  std::string out;
  for (const MetricFamily& family : families) {
    const auto [name, type] = head_of(family);
    out += fmt::format("# TYPE {} {}\n# HELP {} {}\n", name, type, name, escaped(family.help));
    for (const MetricFamily::Series& series : family.series) {
      if (family.kind == MetricFamily::Kind::kHistogram) {
        add_histogram(out, family.name, series);
      } else {
        out += fmt::format("{}{} {}\n", family.name, braces(series.labels), number(series.value));
      }
    }
  }
  return out + "# EOF\n";
}

}  // namespace base
