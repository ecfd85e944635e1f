#!/usr/bin/env bash
# Checks references: citations of the specification (T22, I15, scenario 31, page.md#anchor, ADR 7), paths of pages and
# sources in comments and docs, links and anchors in all pages, and the tests that docs/design/faults.md cites.
# CONTRIBUTING.md describes the forms.
# usage: hack/verify-docs.sh   (part of make verify; prints file:line: what, and fails)
set -euo pipefail
cd "$(dirname "$0")/.."
export LC_ALL=C

# Placeholder names for any file, and files that exist only where they are described.
examples='x.hpp x_test.cpp page.md slo.koordinator.sh karpenter.sh'
# Folders whose subfolders a page may name.
packages='base api planner advisor kube evictors usage http_server telemetry simulator controllers cmd test docs config crds hack dashboard'

all() { git ls-files --cached --others --exclude-standard -- "$@"; }
# Excludes seeds and captured cases, which are data.
files() { all "$@" | grep -vE '^test/(fuzz/seeds|conformance/cases)/'; }

# Prints page.md#anchor for every heading (by GitHub's rule) and every explicit anchor.
anchors() {
  files '*.md' | xargs awk '
    FNR == 1 { fence = 0; split("", seen) }
    /^ *(```|~~~)/ { fence = !fence; next }
    fence { next }
    {
      rest = $0
      while (match(rest, /<a (id|name)="[^"]*"/)) {
        found = substr(rest, RSTART, RLENGTH); rest = substr(rest, RSTART + RLENGTH)
        sub(/^[^"]*"/, "", found); sub(/"$/, "", found)
        print FILENAME "#" found
      }
    }
    /^#+ / {
      text = $0
      sub(/^#+ +/, "", text); gsub(/<[^>]*>/, "", text); gsub(/\]\([^)]*\)/, "", text); sub(/ +$/, "", text)
      text = tolower(text); gsub(/[^a-z0-9 _-]/, "", text); gsub(/ /, "-", text)
      times = seen[text]++
      print FILENAME "#" text (times ? "-" times : "")
    }'
}

# Prints file:line:text of prose: complete pages, and the comments of all other files.
prose() {
  files '*.md' | xargs awk '
    FNR == 1 { fence = 0 }
    /^ *(```|~~~)/ { fence = !fence }
    { text = $0; if (fence) gsub(/\]\(/, "] (", text); print FILENAME ":" FNR ":" text }'
  files '*.cpp' '*.hpp' '*.cpp.in' | xargs grep -noHE '//.*' || true
  # Pages in messages must exist, too.
  files '*.cpp' '*.hpp' | xargs grep -noHE '"[^"]*docs/[a-z/0-9-]*\.md[^"]*"' || true
  files '*.sh' '*.yaml' '*.yml' '*.txt' Makefile .ci/run | xargs grep -noHE '(^|[[:space:]])#.*' || true
}

# Prints file:line:text of lines that may cite a transition, an invariant or a scenario, including code (names of tests,
# messages).
rows() {
  files '*.cpp' '*.hpp' '*.sh' '*.md' '*.yaml' '*.txt' Makefile |
    xargs grep -nHE '(^|[^A-Za-z0-9_])[TI][0-9]|[Ss]cenarios? ?[0-9]|S[0-9][0-9]_' || true
}

check='
  function complain(what) { print where ": " what; broken = 1 }
  function folder(path) { return path ~ "/" ? substr(path, 1, match(path, "/[^/]*$") - 1) : "" }
  # base/path without . and ..
  function joined(base, path,   parts, kept, count, n, i, result) {
    count = split((base == "" ? path : base "/" path), parts, "/")
    for (i = 1; i <= count; i++) {
      if (parts[i] == ".." && n > 0) n--
      else if (parts[i] != "." && parts[i] != "") kept[++n] = parts[i]
    }
    for (i = 1; i <= n; i++) result = result (i > 1 ? "/" : "") kept[i]
    return result
  }
  function there(path,   pattern, each) {
    if (path in tree) return 1
    if (path !~ /\*/) return 0
    pattern = path; gsub(/\./, "[.]", pattern); gsub(/\*/, "[^/]*", pattern); pattern = "^" pattern "$"
    for (each in tree) if (each ~ pattern) return 1
    return 0
  }
  # Returns the file that a path in this file refers to, "" if none.
  function meant(path) {
    if (there(joined(folder(file), path))) return joined(folder(file), path)
    if (path ~ "/" && path !~ /^\./ && there(path)) return path
    if (path ~ /^[A-Za-z]+[.]md$/ && there(path)) return path
    if (path ~ /[.]md$/ && path !~ "/" && there("docs/design/" path)) return "docs/design/" path
    return ""
  }
  function check_anchor(page, anchor) {
    if (!((page "#" anchor) in anchored)) complain("no anchor #" anchor " in " page)
  }
  function check_link(target,   path, anchor) {
    sub(/ +".*"$/, "", target)
    if (target ~ /^[a-z]+:/) return
    path = target; anchor = ""
    if (match(target, "#")) { path = substr(target, 1, RSTART - 1); anchor = substr(target, RSTART + 1) }
    path = path == "" ? file : joined(folder(file), path)
    if (!there(path)) complain("dead link " target)
    else if (anchor != "" && path ~ /[.]md$/) check_anchor(path, anchor)
  }
  function check_links(text,   rest, target) {
    rest = text
    gsub(/`[^`]*`/, "", rest)
    while (match(rest, /\]\([^)]*\)/)) {
      target = substr(rest, RSTART + 2, RLENGTH - 3); rest = substr(rest, RSTART + RLENGTH)
      check_link(target)
    }
    gsub(/\[[^][]*\]\([^)]*\)/, "", text)
    return text
  }
  function check_path(path, anchor,   page) {
    if (path in example || path ~ /[$}>~]/ || path ~ "^/" || path ~ /^[.]?[*]?[.][a-z]+$/) return
    if (path !~ "/" && path ~ /[.](ya?ml|txt)$/) return  # a file of the user, or of every folder
    page = meant(path)
    if (page == "" && there(path ".in")) return
    if (page == "") complain("no file " path)
    else if (anchor != "") check_anchor(page, anchor)
  }
  function check_paths(text,   path, anchor) {
    while (match(text, /[A-Za-z0-9_.\/*$}>~-]+[.](cpp|hpp|sh|md|yaml|yml|txt)/)) {
      path = substr(text, RSTART, RLENGTH); text = substr(text, RSTART + RLENGTH); anchor = ""
      if (text ~ /^[A-Za-z0-9_]/) continue
      if (path ~ /[.]md$/ && match(text, /^#[A-Za-z0-9_-]+/)) anchor = substr(text, 2, RLENGTH - 1)
      check_path(path, anchor)
    }
  }
  # Checks folders in backquotes and pairs of files without extension.
  function check_folders(text,   path) {
    while (match(text, /`[a-z]+(\/[A-Za-z0-9_-]+)+\/?`/)) {
      path = substr(text, RSTART + 1, RLENGTH - 2); text = substr(text, RSTART + RLENGTH); sub("/$", "", path)
      if ((substr(path, 1, index(path, "/") - 1) in package) && !there(path) && !there(path ".hpp")) complain("no folder or pair of files " path)
    }
  }
  function check_records(text,   number) {
    while (match(text, /ADRs? 0*[0-9]+/)) {
      number = substr(text, RSTART, RLENGTH); text = substr(text, RSTART + RLENGTH); sub(/^ADRs? /, "", number)
      if (!(sprintf("%04d", number) in record)) complain("no record ADR " number " in docs/adr")
    }
  }
  function check_row(prefix, name) {
    if (!((specification "#" prefix name) in anchored)) complain("no row " name " (#" prefix name ") in " specification)
  }
  function check_rows(text,   rest, name, prefix, found) {
    rest = text
    while (match(rest, /(^|[^A-Za-z0-9_])[TI][0-9]+[a-z]?/)) {
      name = substr(rest, RSTART, RLENGTH); rest = substr(rest, RSTART + RLENGTH)
      sub(/^[^TI]/, "", name)
      if (rest !~ /^[A-Za-z0-9_]/ && length(name) <= 4) check_row("", tolower(name))
    }
    rest = text
    while (match(rest, /([Ee]nd-to-end )?[Ss]cenarios? ?[0-9]+(( to | and |, |-|\342\200\223)[0-9]+)*/)) {
      found = substr(rest, RSTART, RLENGTH); rest = substr(rest, RSTART + RLENGTH)
      prefix = found ~ /^[Ee]nd/ ? "e2e-" : "scenario-"
      while (match(found, /[0-9]+/)) {
        name = substr(found, RSTART, RLENGTH); found = substr(found, RSTART + RLENGTH)
        check_row(prefix, name + 0)
      }
    }
    rest = text
    while (match(rest, /[ (]S[0-9][0-9]_[A-Z]/)) {
      name = substr(rest, RSTART + 2, 2); rest = substr(rest, RSTART + RLENGTH)
      if (file ~ /^test\//) check_row("scenario-", name + 0)
    }
  }
  function check_retired(text) {
    if (text ~ /(^|[^a-z])(protocols|semantics) [A0-9]/ || (text ~ /[Ss]ection [0-9]/ && text !~ /RFC/))
      complain("a section by its number: cite page.md#anchor")
  }
  BEGIN {
    specification = "docs/design/state-machine.md"
    split(examples, list, " "); for (i in list) example[list[i]]
    split(packages, list, " "); for (i in list) package[list[i]]
  }
  pass == "tree" {
    for (path = $0; path != "" && !(path in tree); path = folder(path)) tree[path]
    if ($0 ~ /^docs\/adr\/[0-9]/) record[substr($0, 10, 4)]
    next
  }
  pass == "anchors" { anchored[$0]; next }
  {
    file = $0; sub(/:.*/, "", file)
    text = substr($0, length(file) + 2); line = text; sub(/:.*/, "", line); text = substr(text, length(line) + 2)
    where = file ":" line
  }
  pass == "rows" { check_rows(text); next }
  file ~ /[.]md$/ { text = check_links(text) }
  file ~ /[.]md$/ { check_folders(text) }
  { check_paths(text); check_records(text); check_retired(text) }
  END { exit broken }'

# Prints Suite.Test of each test in the sources.
tests() {
  files 'test/*.cpp' | xargs cat | tr '\n' ' ' | grep -oE 'TEST(_F|_P)?\( *[A-Za-z0-9_]+, *[A-Za-z0-9_]+ *\)' |
    sed -E 's/.*\( *//; s/, */./; s/ *\)//' | sort -u
}

# Prints tests in docs/design/faults.md that do not exist. A cited name may end with *, and may have the instance and the
# parameter of a parametrized test: Plans/Wave.IsOver/Late.
lost_tests() {
  grep -oE '`([A-Za-z]+/)?[A-Z][A-Za-z]+\.[A-Za-z0-9_]*\*?(/[A-Za-z0-9_]+)?`' docs/design/faults.md | tr -d '`' | sed -E 's|^[A-Za-z]+/||; s|/.*||' |
    sort -u | awk '
      NR == FNR { test[$0]; next }
      /\*$/ { for (each in test) if (index(each, substr($0, 1, length($0) - 1)) == 1) next }
      !($0 in test) { print "docs/design/faults.md: no test " $0 }' <(tests) -
}

lost=$(lost_tests)
[[ -z $lost ]] || { echo "$lost"; exit 1; }

awk -v examples="$examples" -v packages="$packages" "$check" \
  pass=tree <(all) pass=anchors <(anchors) pass=prose <(prose) pass=rows <(rows) | sort -u
echo "docs: ok"
