#pragma once

#include "api/json/json.hpp"
#include "planner/report/report.hpp"

namespace reporting {

/// The edition of the document; the viewer refuses others.
inline constexpr int kReportFormat = 1;

/// The document that the viewer draws (dashboard/src/document.ts has its type): pods in columns, names of namespaces
/// and owners once each, nodes and pods by their positions. 30,000 pods are about two megabytes.
api::Json encode_report(const Report& report);

}  // namespace reporting
