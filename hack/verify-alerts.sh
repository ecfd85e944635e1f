#!/usr/bin/env bash
# Checks config/prometheus/alerts.yaml: promtool accepts it, the tests in test/alerts pass, each alert has a case in
# which
# it fires and one in which it does not, each has a runbook of the usual form, each metric in it is one that the operator
# exports, and docs/operations.md lists the same alerts.
# usage: hack/verify-alerts.sh   (part of make verify; needs promtool of Debian's package prometheus)
set -euo pipefail
cd "$(dirname "$0")/.."

rules=config/prometheus/alerts.yaml
tests=test/alerts/alerts_test.yaml
broken=0
complain() { echo "$1"; broken=1; }

alerts() { sed -nE 's/^ *- alert: ([A-Za-z]+)$/\1/p' "$rules"; }
metrics() { grep -vE '^ *#' "$rules" | grep -oE '\bevacuator_[a-z_]+' | sed -E 's/_(bucket|sum|count)$//' | sort -u; }

# A case without expected alerts is on one line: {eval_time: …, alertname: NAME, exp_alerts: []}.
tested() { # tested ALERT: both ways
  grep -qE "alertname: $1, exp_alerts: \[\]" "$tests" && grep -qE "^ *alertname: $1$" "$tests"
}

# A page of docs/runbooks with the name of the alert and a section with the actions.
has_runbook() { # has_runbook ALERT
  local page section
  page=docs/runbooks/$(sed -E 's/^Evacuator//; s/([a-z])([A-Z])/\1-\2/g' <<<"$1" | tr '[:upper:]' '[:lower:]').md
  awk -v alert="$1" -v want="runbook_url: $page" '$0 ~ "- alert: " { inside = $NF == alert } inside && index($0, want) { found = 1 }
    END { exit !found }' "$rules" || { echo "$rules: $1 needs the annotation runbook_url: $page" && return 1; }
  [[ -f $page && $(head -n 1 "$page") == "# $1" ]] || { echo "$page: must exist and begin with \"# $1\"" && return 1; }
  for section in "Meaning" "Impact" "Look" "Do"; do
    awk -v title="## $section" '$0 == title { on = 1; next } /^## / { on = 0 } on && NF { found = 1 } END { exit !found }' "$page" ||
      { echo "$page: says nothing under \"## $section\"" && return 1; }
  done
  grep -qF "[$1](${page##*/})" docs/runbooks/README.md || { echo "docs/runbooks/README.md: lacks $1" && return 1; }
}

promtool check rules "$rules" >/dev/null || complain "$rules: promtool cannot read it"
promtool test rules "$tests" || complain "$tests: see above"
while read -r alert; do
  tested "$alert" || complain "$tests: $alert needs a case in which it fires and one in which it does not"
  missing=$(has_runbook "$alert") || complain "$missing"
  grep -q "^| \`$alert\` |" docs/operations.md || complain "docs/operations.md: the table of alerts lacks $alert"
done < <(alerts)
for page in docs/runbooks/*.md; do
  [[ $page == */README.md ]] || grep -qF "runbook_url: $page" "$rules" || complain "$page: no alert names it"
done
while read -r metric; do
  grep -rqF "\"$metric\"" --include='*.[ch]pp' base telemetry kube controllers cmd || complain "$rules: nobody writes $metric"
done < <(metrics)
while read -r alert; do
  alerts | grep -qx "$alert" || complain "docs/operations.md: there is no alert $alert"
done < <(sed -nE 's/^\| `(Evacuator[A-Za-z]+)` \|.*/\1/p' docs/operations.md)
exit "$broken"
