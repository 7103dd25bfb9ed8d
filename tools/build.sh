#!/usr/bin/env bash
# Shared by the scripts of this folder, sourced after setup.sh: configure and build a preset, quietly.
#
# REHEARSE_JOBS sets how many compilers run at once; the default is one a core, or fewer on a machine with less than
# 1.5 GB of memory a core, which is what a file full of coroutines takes.

rehearse_logs=$rehearse_root/build/logs

build_jobs() {
  local cores memory_kb by_memory
  cores=$(nproc)
  memory_kb=$(sed -n 's/^MemAvailable: *\([0-9]*\).*/\1/p' /proc/meminfo)
  by_memory=$((${memory_kb:-0} / 1500000))
  ((by_memory >= 1)) || by_memory=1
  echo "${REHEARSE_JOBS:-$((cores < by_memory ? cores : by_memory))}"
}

# quietly NAME COMMAND...: output goes to a log that is shown only on failure, errors first.
quietly() {
  local log=$rehearse_logs/$1.log
  shift
  mkdir -p "$rehearse_logs"
  if ! "$@" >"$log" 2>&1; then
    grep -n -m 20 -E 'error[: ]|Error[: ]|FAILED:' "$log" >&2 || true
    echo "--- the end of the log:" >&2
    tail -n 40 "$log" >&2
    echo "failed: $* (whole log: $log)" >&2
    return 1
  fi
}

# configure_preset PRESET TESTS, TESTS being ON, OFF or KEEP (whatever the build folder has; ON or OFF by what is
# installed for a new one). Runs cmake only when the answer is not in the cache already: ninja itself configures again
# when a CMake file changed. Tests on or off changes no compile command of the libraries, so it rebuilds none of them.
configure_preset() {
  local preset=$1 tests=$2 cache=$rehearse_root/build/$1/CMakeCache.txt
  if [[ -f $rehearse_root/build/$preset/build.ninja ]]; then
    [[ $tests == KEEP ]] && return 0
    grep -qx "REHEARSE_BUILD_TESTS:[A-Z]*=$tests" "$cache" && return 0
  fi
  if [[ $tests == KEEP ]]; then
    if have_packages testlib; then tests=ON; else tests=OFF; fi
  fi
  quietly "configure-$preset" cmake --preset "$preset" -DREHEARSE_BUILD_TESTS="$tests"
}

# build_preset PRESET TARGET...: on a terminal ninja shows its progress; elsewhere the log is shown on failure.
build_preset() {
  local preset=$1
  shift
  local -a command=(cmake --build --preset "$preset" --parallel "$(build_jobs)" --target "$@")
  if [[ -t 1 ]]; then
    "${command[@]}"
  else
    quietly "build-$preset" "${command[@]}"
  fi
}
