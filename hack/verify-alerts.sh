#!/usr/bin/env bash
# Checks config/prometheus/alerts.yaml: promtool reads it, the tests in test/alerts pass, each alert has a case in which it
# fires and one in which it does not, each metric that it names is one that the operator writes, and docs/operations.md
# lists the same alerts.
# usage: hack/verify-alerts.sh   (part of make verify; needs promtool, which Debian's package prometheus has)
set -euo pipefail
cd "$(dirname "$0")/.."

rules=config/prometheus/alerts.yaml
tests=test/alerts/alerts_test.yaml
broken=0
complain() { echo "$1"; broken=1; }

alerts() { sed -nE 's/^ *- alert: ([A-Za-z]+)$/\1/p' "$rules"; }
metrics() { grep -vE '^ *#' "$rules" | grep -oE '\bevacuator_[a-z_]+' | sort -u; }

# A case that expects nothing is written on one line: {eval_time: …, alertname: NAME, exp_alerts: []}.
tested() { # tested ALERT: both ways
  grep -qE "alertname: $1, exp_alerts: \[\]" "$tests" && grep -qE "^ *alertname: $1$" "$tests"
}

promtool check rules "$rules" >/dev/null || complain "$rules: promtool cannot read it"
promtool test rules "$tests" || complain "$tests: see above"
while read -r alert; do
  tested "$alert" || complain "$tests: $alert needs a case in which it fires and one in which it does not"
  grep -q "^| \`$alert\` |" docs/operations.md || complain "docs/operations.md: the table of alerts lacks $alert"
done < <(alerts)
while read -r metric; do
  grep -rqF "\"$metric\"" --include='*.cpp' base audit kube controllers cmd || complain "$rules: nobody writes $metric"
done < <(metrics)
while read -r alert; do
  alerts | grep -qx "$alert" || complain "docs/operations.md: there is no alert $alert"
done < <(sed -nE 's/^\| `(Evacuator[A-Za-z]+)` \|.*/\1/p' docs/operations.md)
exit "$broken"
