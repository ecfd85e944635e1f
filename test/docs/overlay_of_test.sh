#!/usr/bin/env bash
# Checks which overlay hack/image/overlay_of.sh chooses for a server, with a fake kubectl.
# usage: test/docs/overlay_of_test.sh   (part of make verify)
set -euo pipefail
cd "$(dirname "$0")/../.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/kubectl" <<'KUBECTL'
#!/usr/bin/env bash
[[ "$*" == "get --raw /version" && -n $SERVER ]] || exit 1
printf '{\n  "major": "1",\n  "minor": "x",\n  "gitVersion": "%s"\n}\n' "$SERVER"
KUBECTL
chmod +x "$work/kubectl"

wrong=0
expect() { # expect WANTED SERVER [VERSION]
  local got
  got=$(SERVER=$2 PATH="$work:$PATH" hack/image/overlay_of.sh ${3:+"$3"} 2>/dev/null) || got=error
  [[ $got == "$1" ]] || { echo "overlay_of: ${3:-$2}: $got instead of $1" && wrong=1; }
}

expect legacy v1.20.2
expect legacy v1.24.17+k3s1
expect default v1.25.0
expect default v1.36.0-eks-1a2b3c
expect default v1.100.0
expect default v2.0.0
expect legacy v1.36.0 v1.20.2
expect default '' 1.31
expect error ''
expect error '' elsewhere
# Commands for a server of unknown version must not name the overlay.
if grep -nE 'manifest\.sh [^ ]+ (legacy|default) \| kubectl' test/docs/*.sh hack/e2e.sh hack/observability/*.sh ||
  grep -nE '^<!-- before: .*manifest\.sh [^ ]+ (legacy|default)' -r README.md docs; then
  echo "overlay_of: use the overlay \"auto\" there"
  wrong=1
fi
((wrong == 0)) && echo "overlay_of: ok"
exit $wrong
