#pragma once

#include "api/json/json.hpp"
#include "planner/report/report.hpp"

namespace report {

/// Version of the document format. The viewer rejects other versions.
inline constexpr int kReportFormat = 1;

/// Encodes the document that the viewer draws (typed in dashboard/src/document.ts). Pods are stored in columns, names
/// of namespaces and owners once each, nodes and pods by position. 30,000 pods take about two megabytes.
api::Json encode_report(const Report& report);

}  // namespace report
