#!/usr/bin/env bash
# Makes a Debian 12 machine ready to build Rehearse: checks the CPU and installs the packages that are missing.
#
#   tools/setup.sh [GROUP...]    groups: build (default), testlib, bench, check, clang, lint; all of them: all
#
# The other scripts source this file and call require_cpu and ensure_packages themselves. When nothing is missing it
# costs one dpkg-query and prints nothing.
set -euo pipefail

rehearse_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# What each group needs. Boost: Debian's default libboost-dev is 1.74, too old for the coroutines here, and the two
# versions of libboost*-dev exclude each other; so the 1.81 packages are named, and nothing else of Boost.
declare -A rehearse_packages=(
  [build]="g++ cmake ninja-build pkg-config libboost1.81-dev libboost-program-options1.81-dev libeigen3-dev
           protobuf-compiler libprotobuf-dev libssl-dev nlohmann-json3-dev libxxhash-dev"
  [testlib]="libgtest-dev libgmock-dev libbenchmark-dev"
  [bench]="time"
  [check]="clang-format python3"
  [clang]="clang"
  [lint]="clang clang-tidy"
)

declare -A rehearse_package_why=(
  [g++]="the compiler, C++20"
  [cmake]="configures the build"
  [ninja-build]="runs the build"
  [pkg-config]="finds Eigen and xxHash"
  [libboost1.81-dev]="Asio, the event loop"
  [libboost-program-options1.81-dev]="the command line"
  [libeigen3-dev]="matrix products"
  [protobuf-compiler]="the scenario schema"
  [libprotobuf-dev]="reads scenarios"
  [libssl-dev]="SHA-256"
  [nlohmann-json3-dev]="manifests and summaries"
  [libxxhash-dev]="fast digests"
  [libgtest-dev]="the tests"
  [libgmock-dev]="the tests' matchers"
  [libbenchmark-dev]="the benchmarks"
  [time]="peak memory in tools/bench"
  [clang-format]="the format test"
  [python3]="tests that read our files with other software"
  [clang]="the second compiler, whose bits must agree"
  [clang-tidy]="tools/lint"
)

# The packages of the groups that dpkg does not know as installed, one a line.
missing_packages() {
  local group package installed
  local -a wanted=()
  for group in "$@"; do
    # shellcheck disable=SC2206  # the list is split at its blanks
    wanted+=(${rehearse_packages[$group]})
  done
  # dpkg-query fails when it has never heard of one of the names; the others are still listed.
  installed=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' "${wanted[@]}" 2>/dev/null || true)
  for package in "${wanted[@]}"; do
    grep -qxF "$package installed" <<<"$installed" || echo "$package"
  done
}

have_packages() {
  command -v dpkg-query >/dev/null && [[ -z $(missing_packages "$@") ]]
}

# Every build targets x86-64-v3, because the bits of the arithmetic depend on the instruction set. Without this check a
# CPU that lacks it would end in an illegal instruction.
require_cpu() {
  local flags flag
  local -a lacks=()
  if [[ $(uname -m) != x86_64 ]]; then
    echo "Rehearse is built for x86-64-v3 processors (Intel since Haswell, AMD since Excavator); this machine is" \
         "$(uname -m)." >&2
    exit 2
  fi
  flags=" $(grep -m1 '^flags' "${REHEARSE_CPUINFO:-/proc/cpuinfo}" || true) "
  for flag in avx avx2 bmi1 bmi2 f16c fma abm movbe; do  # abm is Linux's name for lzcnt
    [[ $flags == *" $flag "* ]] || lacks+=("$flag")
  done
  if ((${#lacks[@]})); then
    echo "Rehearse is built for x86-64-v3 processors (Intel since Haswell, AMD since Excavator). This one lacks:" \
         "${lacks[*]}. In a virtual machine, let the guest see the host's CPU features." >&2
    exit 2
  fi
}

# Installs what is missing of the groups; returns at once when nothing is.
ensure_packages() {
  local package log plan removed
  local -a missing as_root=()
  [[ -n ${REHEARSE_SKIP_SETUP:-} ]] && return 0
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    echo "This machine has no apt, so the packages cannot be installed for you. What is needed, in Debian 12's names:" >&2
    local group
    for group in "$@"; do
      for package in ${rehearse_packages[$group]}; do
        printf '  %-34s %s\n' "$package" "${rehearse_package_why[$package]}" >&2
      done
    done
    echo "Once they are there (Boost 1.81 or later), set REHEARSE_SKIP_SETUP=1 and start again." >&2
    exit 1
  fi
  mapfile -t missing < <(missing_packages "$@" | sort -u)
  ((${#missing[@]} == 0)) && return 0

  echo "Installing ${#missing[@]} Debian package(s) with apt:"
  for package in "${missing[@]}"; do
    printf '  %-34s %s\n' "$package" "${rehearse_package_why[$package]}"
  done
  if ((EUID != 0)); then
    if ! command -v sudo >/dev/null; then
      echo "That needs root, and there is no sudo. As root, run:" >&2
      echo "  apt-get update && apt-get install --no-install-recommends ${missing[*]}" >&2
      exit 1
    fi
    as_root=(sudo)
    echo "(apt needs root: sudo may ask for your password)"
  fi

  log=$rehearse_root/build/logs/apt.log
  mkdir -p "$(dirname "$log")"
  # A freshly started machine may still be updating itself, so wait for the lock.
  local -a apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300)
  if ! "${apt[@]}" update >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    echo "apt-get update failed (whole log: $log)" >&2
    exit 1
  fi
  if ! plan=$(apt-get -s install --no-install-recommends "${missing[@]}" 2>&1); then
    echo "$plan" >&2
    echo "apt cannot install these packages here. They are Debian 12's; on another system install the equivalents" \
         "(Boost 1.81 or later), set REHEARSE_SKIP_SETUP=1 and start again." >&2
    exit 1
  fi
  removed=$(sed -n 's/^Remv \([^ ]*\).*/\1/p' <<<"$plan" | tr '\n' ' ')
  if [[ -n $removed ]]; then
    echo "apt removes these, because they exclude one of the above (Boost 1.74's headers exclude 1.81's): $removed"
  fi
  if ! "${apt[@]}" install -y --no-install-recommends "${missing[@]}" >>"$log" 2>&1; then
    tail -n 40 "$log" >&2
    echo "apt-get install failed (whole log: $log)" >&2
    exit 1
  fi
}

if [[ ${BASH_SOURCE[0]} == "$0" ]]; then
  groups=()
  for argument in "$@"; do
    case $argument in
      -h | --help)
        sed -n '2,/^set /{/^set /!s/^# \{0,1\}//p}' "$0"
        exit 0
        ;;
      all) groups+=(build testlib bench check clang lint) ;;
      *)
        if [[ -z ${rehearse_packages[$argument]+there} ]]; then
          echo "tools/setup.sh: '$argument' is no group; the groups are build, testlib, bench, check," \
               "clang, lint, all" >&2
          exit 2
        fi
        groups+=("$argument")
        ;;
    esac
  done
  ((${#groups[@]})) || groups=(build)
  require_cpu
  ensure_packages "${groups[@]}"
  echo "Ready: ${groups[*]}."
fi
