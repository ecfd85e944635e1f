#!/usr/bin/env bash
# Checks that docs/reference/metrics.md has a row for each metric family in the sources and no other, and that
# dashboards and alerts use only documented families. (A running operator checks types and labels:
# test/e2e/scenarios/dashboards_test.cpp.)
# usage: hack/observability/verify-metrics.sh   (part of make verify)
set -euo pipefail
cd "$(dirname "$0")/../.."
export LC_ALL=C

page=docs/reference/metrics.md
broken=0
complain_each() { while IFS= read -r line; do echo "$line"; broken=1; done; }

made() { grep -rhoP --include='*.[ch]pp' '"\K(evacuator|process)_[a-z_]+(?=")' base telemetry kube controllers cmd/run | sort -u; }
told() { sed -nE 's/^\| `([a-z_]+)` \| (counter|gauge|histogram) \|.*/\1/p' "$page" | sort; }
# Removes the suffixes of a histogram's three series.
families() { sed -E 's/_(bucket|sum|count)$//' | sort -u; }
# Prints names in PromQL expressions, without those of selectors, which are on the left of an operator.
used_by() { grep -ohE '\b(evacuator|process)_[a-z_]+' "$@" | families; }
used_by_dashboards() { jq -r '.. | .expr? // empty, (.definition? // empty)' config/chart/dashboards/*.json | used_by -; }
used_by_alerts() { grep -vE '^ *#' config/prometheus/alerts.yaml | used_by -; }

[[ $(made | wc -l) -gt 40 ]] || complain_each <<<"no metric families found in the sources: did the way they are made change?"
complain_each < <(comm -23 <(made) <(told) | sed "s|.*|$page: lacks &, which the operator serves|")
complain_each < <(comm -13 <(made) <(told | sort -u) | sed "s|.*|$page: nobody makes &|")
complain_each < <(told | uniq -d | sed "s|.*|$page: has two rows for &|")
complain_each < <(comm -23 <(used_by_dashboards) <(told) | sed 's|.*|config/chart/dashboards: there is no metric &|')
complain_each < <(comm -23 <(used_by_alerts) <(told) | sed 's|.*|config/prometheus/alerts.yaml: there is no metric &|')
((broken)) || echo "metrics: $(told | wc -l) families"
exit "$broken"
