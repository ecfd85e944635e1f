#!/usr/bin/env bash
# Checks the structure of the tree: every #include "folder/…" is allowed by hack/layers.txt, no layer includes upwards,
# libraries that are restricted to one folder stay there, and decision code is pure.
set -euo pipefail
cd "$(dirname "$0")/.."

# All folders with sources, so that a new one without a line in layers.txt is reported.
mapfile -t packages < <(git ls-files '*.cpp' '*.hpp' | sed 's|/.*||' | sort -u | grep -vxE 'test|hack')
# Decision code: it takes the time as an argument, starts no threads and does not log.
pure=(planner advisor evictors controllers/evacuation/phases controllers/policy/decide.cpp controllers/policy/decide.hpp
  controllers/policy/schedule)

broken=0
complain() { echo "$1"; broken=1; }
complain_each() { while IFS= read -r line; do complain "$line"; done; }

# Prints file:line:include for every include of the project.
includes() { grep -rnoP --include='*.[ch]pp' '^#include "\K[a-z_]+/[^"]+' "${packages[@]}" test; }

# The line of layers.txt with the longest prefix of the file's folder lists the allowed includes.
forbidden_includes() {
  awk -F: '
    FNR == NR { if ($0 !~ /^#/ && NF > 1) allowed[$1] = $2; next }
    {
      at = $1; sub("/[^/]*$", "", at); rule = at
      while (!(rule in allowed) && sub("/[^/]*$", "", rule)) {}
      into = $3; sub("/[^/]*$", "", into)
      ok = index(into "/", rule "/") == 1
      count = split(allowed[rule], names, " ")
      for (i = 1; i <= count && !ok; i++) ok = index(into "/", names[i] "/") == 1
      if (!ok) print $1 ":" $2 ": " (rule in allowed ? rule : "a folder that hack/layers.txt does not name") " may not include " $3
    }' hack/layers.txt -
}

# A line of layers.txt names only folders of previous lines, so that no include runs upwards.
upward_layers() {
  awk -F: '
    /^#/ || NF < 2 { next }
    {
      count = split($2, names, " ")
      for (i = 1; i <= count; i++) {
        known = 0
        for (each in seen) if (each == names[i] || index(each, names[i] "/") == 1) known = 1
        if (!known) print "hack/layers.txt:" FNR ": " $1 " names " names[i] ", which no line before it defines"
      }
      seen[$1]
    }' hack/layers.txt
}

# Checks that a library is included only in these places (extended regular expression on the path).
check_library() {
  local pattern=$1 places=$2 hit
  while IFS= read -r hit; do
    [[ $hit =~ ^($places) ]] || complain "$hit: only $places may include this"
  done < <(grep -rnE --include='*.[ch]pp' "^#include <($pattern)" "${packages[@]}" || true)
}

# Prints "folder: folders" of each package, from layers.txt and from the table of docs/design/overview.md.
package_rules() {
  awk -F: '
    /^#/ || NF < 2 { next }
    { own = $1; sub("/.*", "", own); rules[own] = rules[own] }
    own != "test" {
      count = split($2, names, " ")
      for (i = 1; i <= count; i++) { into = names[i]; sub("/.*", "", into); if (into != own && !seen[own, into]++) rules[own] = rules[own] "\n" into }
    }
    END { delete rules["test"]; for (own in rules) { print own ":"; n = split(rules[own], lines, "\n"); for (i = 1; i <= n; i++) if (lines[i] != "") print own ": " lines[i] } }' hack/layers.txt | sort
}
# shellcheck disable=SC2016  # backquotes are Markdown
documented_rules() {
  sed -nE 's/^\| `([a-z_]+)` \| .* \| (nothing of ours|`[a-z_ ]+`) \|$/\1: \2/p' docs/design/overview.md | tr -d '`' |
    awk -F: '{ print $1 ":"; if ($2 == " nothing of ours") next; n = split($2, names, " "); for (i = 1; i <= n; i++) print $1 ": " names[i] }' | sort
}

complain_each < <(includes | forbidden_includes)
complain_each < <(diff <(package_rules) <(documented_rules) |
  sed -nE 's/^([<>]) (.*)$/docs\/design\/overview.md: the table of layers differs from hack\/layers.txt: \1 \2/p')
for package in "${packages[@]}"; do
  grep -qE "^\|.*\`$package\`" CONTRIBUTING.md || complain "CONTRIBUTING.md: the table of packages has no $package"
done
complain_each < <(upward_layers)

check_library 'cpprest|pplx' 'kube/http/cpprest_[a-z_]*\.cpp'
check_library 'boost/(asio|beast)' 'kube/http/|http_server/'
check_library 'openssl' 'kube/http/|http_server/|base/crypto/'
check_library 'spdlog' 'base/log\.cpp'
check_library 'prometheus' 'base/metrics\.cpp'
check_library 'simdjson' 'api/core/(codec[a-z_]*|object_json|protobuf/value)\.[ch]pp|kube/'
check_library 'CLI' 'cmd/'
check_library 'date/' 'controllers/policy/schedule/time_zone\.cpp'

complain_each < <(grep -rnE --include='*.[ch]pp' \
  'system_clock::now|steady_clock::now|std::(jthread|thread|mutex)|base/log\.hpp' "${pure[@]}" |
  sed 's/$/: the deciding side takes time as an argument, starts no threads and logs nothing/')

if ((broken)); then exit 1; fi
echo "layers: ok"
