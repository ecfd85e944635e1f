#!/usr/bin/env bash
# Checks the properties of hardened programs: position-independent, all relocations read-only after the start, no
# executable
# stack, stack protector, checked C library calls, and (x86-64) landing pads for indirect branches.
# usage: hack/verify-hardening.sh [PROGRAM...]   default: the programs of every build folder with EVACUATOR_HARDENED=ON
set -euo pipefail
cd "$(dirname "$0")/.."
export LC_ALL=C

programs=("$@")
if ((${#programs[@]} == 0)); then
  for cache in build/*/CMakeCache.txt; do
    grep -qs '^EVACUATOR_HARDENED:BOOL=ON$' "$cache" || continue
    for name in evacuator kubectl-evacuator; do
      [[ -x ${cache%/*}/cmd/$name ]] && programs+=("${cache%/*}/cmd/$name")
    done
  done
fi
if ((${#programs[@]} == 0)); then
  echo "skipped: there is no hardened build (cmake --preset package)"
  exit
fi

failed=0
program=
expect() { # expect WHAT TEXT PATTERN
  grep -qE "$3" <<<"$2" || { echo "hardening: $program: $1"; failed=1; }
}

for program in "${programs[@]}"; do
  headers=$(readelf -hlW "$program")
  dynamic=$(readelf -dW "$program")
  symbols=$(readelf --dyn-syms -W "$program")
  expect "is not position-independent" "$headers" '^ *Type: +DYN'
  expect "is a library, not a position-independent program" "$dynamic" 'Flags:.*PIE'
  expect "has no read-only relocations" "$headers" 'GNU_RELRO'
  expect "binds its symbols late" "$dynamic" 'BIND_NOW|Flags:.*NOW'
  expect "may have an executable stack" "$headers" 'GNU_STACK +[^ ]+ [^ ]+ [^ ]+ [^ ]+ [^ ]+ RW '
  expect "has no stack protector" "$symbols" '__stack_chk_fail'
  expect "has no checked C library calls" "$symbols" '__[a-z]+_chk(@|$)'
  [[ $headers == *X86-64* ]] || continue
  # _init and similar functions come from the C library. A program without the option has only these.
  pads=$(objdump -d --section=.text "$program" | grep -c 'endbr64' || true)
  ((pads > 100)) || { echo "hardening: $program: $pads landing pads for indirect branches"; failed=1; }
done
((failed == 0)) && echo "hardening: ok (${programs[*]})"
