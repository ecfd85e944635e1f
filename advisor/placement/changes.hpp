#pragma once

/// What a pod looks like once a piece of advice is followed. Pure.

#include "advisor/placement/report.hpp"
#include "api/core/kinds.hpp"

namespace advising {

/// REQUIRES: has_effect(cause), and it is none about budgets or requests, which change other things.
api::Pod changed_pod(Cause cause, Grade grade, const api::Pod& pod);

/// A constraint of this cause can also be dropped altogether.
bool has_grades(Cause cause);

/// Required anti-affinity, spread constraints… that changed_pod() would change are there.
bool has_required_anti_affinity(const api::Pod& pod);
bool has_hard_spread(const api::Pod& pod, bool over_hosts);
bool is_pinned(const api::Pod& pod);

}  // namespace advising
