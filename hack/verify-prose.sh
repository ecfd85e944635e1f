#!/usr/bin/env bash
# Checks the language of comments, pages and test names: the words and first words that CONTRIBUTING.md#how-to-write
# rules out. Prints file:line: what to write instead. hack/prose-allowed.txt lists the lines in which such a word is allowed.
# usage: hack/verify-prose.sh [PATH...]   (part of make verify; default: everything)
set -euo pipefail
cd "$(dirname "$0")/.."

# pattern <tab> advice. Case-insensitive Perl regular expressions, applied to comments and paragraphs.
words() {
  cat <<'WORDS'
\b(nobody|somebody|anybody|whoever|whomever)\b	name the component that acts
\bone who\b	name the component that acts
\bby hand\b	manual, manually
\bmend(s|ed|ing)?\b	fix
\b(is|are|was|were|be) told\b	"is notified", "is reported", or name who sends what to whom
\b(tells|tell) (it|them|us|whether|when|what|how|all)\b	report, publish, return, show
\b(counts?|stands?) for nothing\b	discard, ignore
\bcomes? to nothing\b	fail
\bfor people\b	human-readable
\bgets on\b	a heartbeat; makes progress
\bso (many|long|often|soon|few)\b	give the quantity
\b(looked at) (by|in) (a|the|this) (policy|cycle|strategy)\b	in scope
\bno less\b	say it positively
(?<!there )\bis none\b	say it positively
WORDS
}
# First words of a comment that refer to the line above.
openings='(The same|Of|As|Those|Likewise|Ditto)\b(?! (soon|long|of) )'

allowed=hack/prose-allowed.txt
found=$(mktemp)
trap 'rm -f "$found"' EXIT

sources() { git ls-files --cached --others --exclude-standard -- "${@:-.}" | grep -E '\.(cpp|hpp)$' | grep -vE '^test/(fuzz/seeds|conformance/cases)/'; }
pages() { git ls-files --cached --others --exclude-standard -- "${@:-.}" | grep -E '\.md$' | grep -vE '^(README\.zh-CN\.md|docs/adr/)'; }

# check FILTER PATTERN ADVICE FILES: the pattern must follow a match of FILTER.
check() {
  local before=$1 pattern=$2 advice=$3
  shift 3
  (($#)) || return 0
  grep -nHPi "$before$pattern" "$@" | sed "s|^\([^:]*:[0-9]*\):.*|&\t$advice|" >>"$found" || true
}

mapfile -t code < <(sources "$@")
mapfile -t text < <(pages "$@")
while IFS=$'\t' read -r pattern advice; do
  check '//.*' "$pattern" "$advice" "${code[@]}"
  check '' "$pattern" "$advice" "${text[@]}"
done < <(words)
((${#code[@]} == 0)) || grep -nHP "^\s*///?<? *$openings" "${code[@]}" | sed 's|$|\tname the subject: a comment is read alone|' >>"$found" || true
((${#code[@]} == 0)) || grep -nHP '^\s*(TEST|TEST_F|TEST_P|TYPED_TEST)\(\w+, \w*(Nobody|Somebody|Whoever|ByHand|Mends?[A-Z]|IsTold|AreTold|SoMany|SoLong|SoOften|SoSoon)' "${code[@]}" |
  sed 's|$|\ta test is named by a behaviour in plain words|' >>"$found" || true

# A line "path: words" of the allow-list permits lines of that file that contain the words.
broken=0
while IFS= read -r hit; do
  line=${hit%$'\t'*} advice=${hit##*$'\t'}
  file=${line%%:*}
  if ! awk -F': ' -v file="$file" -v line="$line" '!/^#/ && NF > 1 && $1 == file && index(line, substr($0, length($1) + 3)) { ok = 1 } END { exit !ok }' "$allowed"; then
    rest=${line#*:}
    echo "$file:${rest%%:*}: $advice: ${rest#*:}"
    broken=1
  fi
done < <(sort -u -t: -k1,1 -k2,2n "$found")

if ((broken)); then exit 1; fi
echo "prose: ok"
