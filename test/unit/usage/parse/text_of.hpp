#pragma once

/// Rows and samples as text, for expected values in tables of tests.

#include <fmt/format.h>

#include <cmath>
#include <string>

#include "usage/parse/rows.hpp"

namespace usage_test {

inline std::string text_of(double value) { return std::isnan(value) ? "?" : fmt::format("{:.6g}", value); }

/// Returns text such as "n1=0.25/1024 shop/web=?/1".
inline std::string text_of(const usage::Rows& rows) {
  std::string text;
  for (std::size_t i = 0; i < rows.rows.size(); ++i) {
    if (i > 0) text += " ";
    const std::string ns(rows.ns_of(rows.rows[i]));
    if (!ns.empty()) text += ns + "/";
    text += std::string(rows.rows[i].name()) + "=";
    for (std::size_t j = 0; j < rows.width; ++j) text += (j > 0 ? "/" : "") + text_of(rows.values[i * rows.width + j]);
  }
  return text;
}

/// Returns the nodes followed by the pods.
inline std::string text_of(const usage::Samples& samples) {
  std::string text;
  for (const auto& node : samples.nodes) {
    text += (text.empty() ? "" : " ") + node.name + "=";
    for (std::size_t j = 0; j < node.values.size(); ++j) text += (j > 0 ? "/" : "") + text_of(node.values[j]);
  }
  const std::size_t width = samples.pod_columns.size();
  for (std::size_t i = 0; i < samples.pods.size(); ++i) {
    text += (text.empty() ? "" : " ") + samples.pods[i].ns + "/" + samples.pods[i].name + "=";
    for (std::size_t j = 0; j < width; ++j) text += (j > 0 ? "/" : "") + text_of(samples.pod_values[i * width + j]);
  }
  return text;
}

inline std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += (text.empty() ? "" : "; ") + line;
  return text;
}

}  // namespace usage_test
