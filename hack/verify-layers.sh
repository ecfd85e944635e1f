#!/usr/bin/env bash
# Checks that every #include "folder/…" is allowed by hack/layers.txt (design.md section 2), and that the libraries which
# only one room may know stay there.
set -euo pipefail
cd "$(dirname "$0")/.."

broken=0
complain() { echo "$1"; broken=1; }

check_folder() {
  local folder=$1 allowed=$2 file line include
  while IFS=: read -r file line include; do
    [[ " $folder $allowed " == *" ${include%%/*} "* ]] || complain "$file:$line: $folder/ may not include $include"
  done < <(grep -rnoP --include='*.[ch]pp' '^#include "\K[a-z]+/[^"]+' "$folder" || true)
}

# A library and the only places that may include it (extended regular expression on the path).
check_library() {
  local pattern=$1 places=$2 hit
  while IFS= read -r hit; do
    [[ $hit =~ ^($places) ]] || complain "$hit: only $places may include this"
  done < <(grep -rnE --include='*.[ch]pp' "^#include <($pattern)" base api scheduling strategies planning kube evictors serving usage audit simulator controllers cmd 2>/dev/null || true)
}

while IFS=':' read -r folder allowed; do
  [[ -z $folder || $folder == \#* || ! -d $folder ]] && continue
  check_folder "$folder" "$allowed"
done < hack/layers.txt

check_library 'cpprest|pplx' 'kube/cpprest_[a-z_]*\.cpp|kube/transport_cpprest\.cpp'
check_library 'boost/(asio|beast)' 'kube/|serving/'
check_library 'openssl' 'kube/|serving/|audit/'
check_library 'spdlog' 'base/log\.cpp'
check_library 'prometheus' 'base/metrics\.cpp'
check_library 'simdjson' 'api/core_codec_?[a-z]*\.[ch]pp|kube/'
check_library 'CLI' 'cmd/'

# The left wing is pure: no clocks, threads or logs.
while IFS= read -r hit; do complain "$hit: the left wing takes time as an argument and starts no threads"; done < <(
  grep -rnE --include='*.[ch]pp' 'system_clock::now|steady_clock::now|std::(jthread|thread|mutex)|base/log\.hpp' scheduling strategies planning evictors || true)

if ((broken)); then exit 1; fi
echo "layers: ok"
