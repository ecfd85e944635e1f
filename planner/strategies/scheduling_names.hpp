#pragma once

/// Names of the model of scheduling that nearly every strategy uses.

#include "planner/scheduling/refusal.hpp"
#include "planner/scheduling/what_if.hpp"
#include "planner/snapshot/cluster_snapshot.hpp"
#include "planner/snapshot/measured_usage.hpp"

namespace strategies {

using scheduling::amount_of;
using scheduling::ClusterSnapshot;
using scheduling::FitLevel;
using scheduling::FitQuery;
using scheduling::kCpuIndex;
using scheduling::kMemoryIndex;
using scheduling::kNoNode;
using scheduling::kNoPod;
using scheduling::kPodsIndex;
using scheduling::MeasuredUsage;
using scheduling::NamespaceIndex;
using scheduling::NodeIndex;
using scheduling::PodIndex;
using scheduling::Refusal;
using scheduling::RequestSet;
using scheduling::ResourceIndex;
using scheduling::saturating_add;
using scheduling::saturating_subtract;
using scheduling::taken_of;
using scheduling::Topology;
using scheduling::UsageNeed;
using scheduling::WhatIf;

}  // namespace strategies
