#!/usr/bin/env bash
# Runs all checks of a review. Each check prints its name. Fails if any check fails.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

failed=()
check() {
  local name=$1 output
  shift
  if output=$("$@" 2>&1); then
    local last=${output##*$'\n'}
    if [[ $last == skipped:* ]]; then echo "verify: $name $last"; else echo "verify: $name ok"; fi
  else
    echo "$output" | tail -n 40
    echo "verify: $name FAILED"
    failed+=("$name")
  fi
}

format_is_clean() { git ls-files '*.cpp' '*.hpp' | xargs clang-format-14 --dry-run --Werror; }
scripts_are_clean() { git ls-files '*.sh' .ci/run | xargs shellcheck -x -S warning; }
# Ignores names of fields and constants that look like misspelled words.
spelling_is_right() {
  git ls-files '*.md' '*.yaml' '*.cpp' '*.hpp' Makefile | grep -vE '^(test|dashboard)/' |
    xargs codespell --quiet-level 3 --ignore-words-list inflight,kno,atleast,fro,te
}
generated_is_current() { hack/generate.sh && git diff --exit-code -- crds docs/reference docs/troubleshooting.md config; }
manifests_render() {
  local overlay
  for overlay in config/default config/legacy config/surge config/cronjob config/job; do
    [[ -d $overlay ]] || continue
    kubectl kustomize "$overlay" >/dev/null || return 1
  done
}

check layers hack/verify-layers.sh
check docs hack/verify-docs.sh
check prose hack/verify-prose.sh
check commits hack/verify-commits.sh
check command-blocks test/docs/command_blocks.py --check
check overlays test/docs/overlay_of_test.sh
check metrics hack/observability/verify-metrics.sh
check dashboards hack/observability/verify-dashboards.sh
check alerts hack/verify-alerts.sh
check chart hack/verify-chart.sh
check viewer hack/verify-viewer.sh
check hardening hack/verify-hardening.sh
check format format_is_clean
check spelling spelling_is_right
check shellcheck scripts_are_clean
check generated generated_is_current
check manifests manifests_render
check lint hack/lint.sh "${LINT:-changed}"

if ((${#failed[@]})); then
  echo "verify: failed: ${failed[*]}"
  exit 1
fi
