# shellcheck shell=bash
# Background processes of one cluster: start, find, stop, await.
#
# Every process has EVACUATOR_CLUSTER=<state folder> in its environment. That mark, not the pid file, identifies the
# processes of the cluster: a pid that the kernel has reused is never signalled, and a process whose pid file was lost is
# still found.

mark() { printf 'EVACUATOR_CLUSTER=%s' "$DIR"; }

launch() { # launch NAME COMMAND...
  local name=$1
  shift
  env "$(mark)" TMPDIR="$(short_tmp)" HOME="$(short_tmp)" setsid "$@" </dev/null >>"$DIR/logs/$name.log" 2>&1 9>&- &
  printf '%s\n' "$!" >"$DIR/run/$name.pid"
  # The mark appears when the new program replaces the forked shell.
  until is_ours "$!" || ! readlink "/proc/$!/exe" >/dev/null; do sleep 0.01; done
}

short_tmp() { realpath "$DIR/tmp"; }

is_ours() { grep --quiet --null-data --line-regexp --fixed-strings "$(mark)" "/proc/$1/environ" 2>/dev/null; }

pid_of() { cat "$DIR/run/$1.pid" 2>/dev/null; }

running() { # running NAME
  local pid
  pid="$(pid_of "$1")" && is_ours "$pid"
}

our_pids() {
  grep --files-with-matches --null-data --line-regexp --fixed-strings "$(mark)" /proc/[0-9]*/environ 2>/dev/null |
    cut -d/ -f3 || true
}

# Sends SIGTERM, and SIGKILL after GRACE seconds.
stop_pids() { # stop_pids GRACE PID...
  local deadline=$((SECONDS + $1)) pid signal
  shift
  for signal in TERM KILL; do
    for pid in "$@"; do
      if is_ours "$pid"; then kill -s "$signal" "$pid" 2>/dev/null || true; fi
    done
    while any_is_ours "$@"; do
      [[ $signal == KILL ]] || ((SECONDS < deadline)) || break
      sleep 0.1
    done
  done
}

any_is_ours() {
  local pid
  for pid in "$@"; do
    is_ours "$pid" && return 0
  done
  return 1
}

# The API server would wait up to a minute for its watches to end, hence its short GRACE.
stop() { # stop NAME GRACE
  local pid
  pid="$(pid_of "$1")" && stop_pids "$2" "$pid"
  rm -f "$DIR/run/$1.pid"
}

# Stops etcd last, so that a kept state contains a clean database.
stop_all() {
  local etcd pids
  etcd="$(pid_of etcd || true)"
  mapfile -t pids < <(our_pids | grep --invert-match --line-regexp "${etcd:-none}")
  stop_pids 3 "${pids[@]}"
  mapfile -t pids < <(our_pids)
  stop_pids 5 "${pids[@]}"
  rm -f "$DIR"/run/*.pid
}

# Waits until COMMAND succeeds. Ends the script with NAME's log on a timeout.
await() { # await SECONDS NAME WHAT COMMAND...
  local limit=$1 name=$2 what=$3 deadline=$((SECONDS + $1)) answer
  shift 3
  until answer="$("$@" 2>&1)"; do
    running "$name" || blame "$name" "$name stopped before $what"
    ((SECONDS < deadline)) || blame "$name" "waited $limit s in vain until $what${answer:+; last answer: $answer}"
    sleep 0.1
  done
}

# Ends the script with the last lines of NAME's log, after the fatal line, which Go prints before the goroutines.
blame() { # blame NAME MESSAGE
  local log="$DIR/logs/$1.log"
  say "from $log:"
  {
    grep --max-count=1 --extended-regexp '^(F[0-9]{4} |panic: )' "$log" || true
    tail -n 20 "$log"
  } 2>&1 | cut -c 1-500 | sed 's/^/    /' >&2
  die "$2"
}

# ---------------------------------------------------------------- ports

port_open() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# Prints COUNT unused ports: from CLUSTER_PORT_BASE upwards, else below the range that the kernel uses for outgoing
# connections.
pick_ports() { # pick_ports COUNT
  local port=${CLUSTER_PORT_BASE:-$((20000 + RANDOM % 10000))} count=0
  while ((count < $1)); do
    if ! port_open "$port"; then
      printf '%s\n' "$port"
      ((count += 1))
    elif [[ -n ${CLUSTER_PORT_BASE:-} ]]; then
      die "port $port is taken (CLUSTER_PORT_BASE=$CLUSTER_PORT_BASE needs $1 free ports from there)"
    fi
    ((port += 1))
  done
}

# ---------------------------------------------------------------- state folder

# Marks a folder that up.sh created and that may be removed with its contents.
MARKER=.evacuator-cluster

# Serializes up, down and control for each cluster. Children must not inherit the lock: see launch.
lock() {
  mkdir -p "$CACHE"
  exec 9>"$CACHE/cluster-$(printf '%s' "$DIR" | cksum | cut -d' ' -f1).lock"
  flock --wait 300 9 || die "another script has been busy with $DIR for five minutes"
}

remove_state() {
  [[ -e $DIR ]] || return 0
  if [[ ! -e $DIR/$MARKER ]]; then
    rmdir "$DIR" 2>/dev/null || die "$DIR holds something else than a cluster, choose another CLUSTER_DIR"
    return
  fi
  [[ $(short_tmp) != /tmp/evacuator.* ]] || rm -rf "$(short_tmp)"
  rm -rf "$DIR"
}
