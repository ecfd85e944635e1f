#!/usr/bin/env bash
# Checks the shape of the tree: every #include "folder/…" is allowed by hack/layers.txt, libraries that only one folder may
# know stay there, the deciding side is pure, and no source folder holds more than twenty files.
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(base api scheduling strategies planning extending reporting advising kube evictors usage serving signing audit simulator controllers cmd)
# Deciding code: it takes time as an argument, starts no threads and logs nothing.
pure=(scheduling strategies planning reporting advising evictors controllers/evacuation/phases controllers/policy/decide.cpp controllers/policy/decide.hpp
  controllers/schedule)
most_files=20

broken=0
complain() { echo "$1"; broken=1; }
complain_each() { while IFS= read -r line; do complain "$line"; done; }

# file:line:include for every include of ours
includes() { grep -rnoP --include='*.[ch]pp' '^#include "\K[a-z_]+/[^"]+' "${packages[@]}" test; }

# The longest line of layers.txt that is a prefix of the file's folder says what it may include.
forbidden_includes() {
  awk -F: '
    FNR == NR { if ($0 !~ /^#/ && NF > 1) allowed[$1] = $2; next }
    {
      at = $1; sub("/[^/]*$", "", at); rule = at
      while (!(rule in allowed) && sub("/[^/]*$", "", rule)) {}
      into = $3; sub("/[^/]*$", "", into)
      own = at; sub("/.*", "", own)
      ok = (into == at || index(into "/", rule "/") == 1 && own == "test")
      count = split(allowed[rule], names, " ")
      for (i = 1; i <= count && !ok; i++) {
        package = names[i]; sub("/.*", "", package)
        ok = into == names[i] || package != own && index(into "/", names[i] "/") == 1
      }
      if (!ok) print $1 ":" $2 ": " at "/ may not include " $3
    }' hack/layers.txt -
}

# A library and the only places that may include it (extended regular expression on the path).
check_library() {
  local pattern=$1 places=$2 hit
  while IFS= read -r hit; do
    [[ $hit =~ ^($places) ]] || complain "$hit: only $places may include this"
  done < <(grep -rnE --include='*.[ch]pp' "^#include <($pattern)" "${packages[@]}" || true)
}

# Folders with more files than a stranger reads at a glance. Seeds of fuzzers are data.
crowded_folders() {
  git ls-files -- "${packages[@]}" test hack |
    awk -F/ -v most=$most_files '!/^test\/fuzz\/seeds\// { sub("/[^/]*$", ""); n[$0]++ }
      END { for (d in n) if (n[d] > most) print d "/ holds " n[d] " files; at most " most " a folder" }'
}

complain_each < <(includes | forbidden_includes)
complain_each < <(crowded_folders)

check_library 'cpprest|pplx' 'kube/http/cpprest_[a-z_]*\.cpp'
check_library 'boost/(asio|beast)' 'kube/http/|serving/'
check_library 'openssl' 'kube/http/|serving/|signing/'
check_library 'spdlog' 'base/log\.cpp'
check_library 'prometheus' 'base/metrics\.cpp'
check_library 'simdjson' 'api/core/(codec[a-z_]*|object_json|protobuf/value)\.[ch]pp|kube/'
check_library 'CLI' 'cmd/'
check_library 'date/' 'controllers/schedule/time_zone\.cpp'

complain_each < <(grep -rnE --include='*.[ch]pp' \
  'system_clock::now|steady_clock::now|std::(jthread|thread|mutex)|base/log\.hpp' "${pure[@]}" |
  sed 's/$/: the deciding side takes time as an argument, starts no threads and logs nothing/')

if ((broken)); then exit 1; fi
echo "layers: ok"
