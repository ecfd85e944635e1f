#!/usr/bin/env bash
# Checks the structure of config/chart/dashboards/*.json: the fields that Grafana needs exist, panels do not overlap,
# every panel
# with data has a query and refers to its data source by the variable, every variable of a query is declared. (A real
# Prometheus checks that each query has data: test/e2e/scenarios/dashboards_test.cpp.)
# usage: hack/observability/verify-dashboards.sh [FOLDER]   (part of make verify; needs jq)
set -euo pipefail
cd "$(dirname "$0")/../.."

folder=${1:-config/chart/dashboards}

# shellcheck disable=SC2016 # $ is jq's
problems='
  def cells: .gridPos as $g | [range($g.x; $g.x + $g.w) as $x | range($g.y; $g.y + $g.h) as $y | "\($x),\($y)"];
  def known: ["__rate_interval", "__range"] + [.templating.list[].name];
  def mentioned: [scan("\\$\\{?([A-Za-z_]+)")[0]];
  . as $board
  | (["uid", "title", "description", "schemaVersion", "time", "templating", "panels"][] as $field
      | select($board[$field] == null) | "lacks \($field)"),
    (select((.uid | test("^evacuator-[a-z]+$")) | not) | "has the uid \(.uid)"),
    (select([.templating.list[] | select(.type == "datasource" and .name == "datasource")] | length != 1)
      | "has no variable datasource"),
    (select(.panels | length < 8) | "has only \(.panels | length) panels"),
    (.panels | group_by(.id)[] | select(length > 1) | "has two panels with the id \(.[0].id)"),
    (.panels | group_by(.title)[] | select(length > 1) | "has two panels called \(.[0].title)"),
    ([.panels[] | cells[]] | group_by(.)[] | select(length > 1) | "has panels on top of each other at \(.[0])"),
    (.panels[] | select(.title == "" or .title == null) | "panel \(.id) has no title"),
    (.panels[] | select(.gridPos.x < 0 or .gridPos.x + .gridPos.w > 24) | "panel \(.title) is wider than the page"),
    (.panels[] | select(.type != "row") | . as $panel
      | (select(["stat", "timeseries", "table", "heatmap"] | index($panel.type) == null) | "panel \(.title) is a \(.type)"),
        (select((.targets // []) | length == 0) | "panel \(.title) asks nothing"),
        (select(.fieldConfig.defaults.unit == null) | "panel \(.title) has no unit"),
        (select((.targets // []) | group_by(.refId) | map(length) | any(. > 1)) | "panel \(.title) has a refId twice"),
        (.targets[]? | select(.datasource.uid != "${datasource}") | "panel \($panel.title) has a fixed data source"),
        (.targets[]? | .expr | mentioned[] | . as $name | select($board | known | index($name) == null)
          | "panel \($panel.title) uses the variable \($name), which is not declared")),
    (.templating.list[] | .name as $name | select($name != "datasource")
      | select([$board.panels[].targets[]?.expr | mentioned[]] | index($name) == null)
      | "variable \($name) is not used")'

broken=0
count=0
for file in "$folder"/*.json; do
  count=$((count + 1))
  found=$(jq -r "$problems" "$file" 2>&1) || { echo "$file: $found" && broken=1 && continue; }
  [[ -z $found ]] || { sed "s|^|$file: |" <<<"$found" && broken=1; }
done
uids=$(jq -r .uid "$folder"/*.json | sort | uniq -d)
[[ -z $uids ]] || { echo "$folder: two dashboards have the uid $uids" && broken=1; }

# Verifies that the check itself finds injected faults.
finds_faults() {
  local scratch change
  scratch=$(mktemp)
  # shellcheck disable=SC2064 # now
  trap "rm -f '$scratch'" RETURN
  while read -r change; do
    jq "$change" "$folder/overview.json" >"$scratch"
    [[ -n $(jq -r "$problems" "$scratch") ]] || { echo "dashboards: a fault on purpose was not found: $change" && return 1; }
  done <<'END'
del(.uid) + {uid: "x"}
.panels[1].gridPos = .panels[2].gridPos
.panels[1].targets = []
.panels[1].targets[0].expr = "up{job=\"$job\"}"
.panels[1].targets[0].datasource.uid = "prometheus"
.panels[1].id = .panels[2].id
.panels[1].type = "text"
END
}
[[ $folder != config/chart/dashboards ]] || finds_faults || broken=1
((count > 0)) || { echo "$folder: no dashboards" && broken=1; }
((broken)) || echo "dashboards: $count, $(jq '[.panels[] | select(.type != "row")] | length' "$folder"/*.json | awk '{ n += $1 } END { print n }') panels"
exit "$broken"
