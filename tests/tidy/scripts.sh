#!/usr/bin/env bash
# The scripts of tools/ parse, print their help, refuse unknown options, and notice what they are there to notice.
#
#   tests/tidy/scripts.sh SCRATCH_FOLDER
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
mkdir -p "$1"
scratch=$(cd "$1" && pwd)

fail() {
  echo "scripts: $*" >&2
  exit 1
}

# expect STATUS COMMAND...: its output goes to $scratch/output.
expect() {
  local want=$1 got=0
  shift
  "$@" >"$scratch/output" 2>&1 </dev/null || got=$?
  if ((got != want)); then
    cat "$scratch/output" >&2
    fail "$* ended with $got, not $want"
  fi
}

# expect_output TEXT: the last command said so.
expect_output() {
  grep -qF -- "$1" "$scratch/output" || fail "no '$1' in: $(cat "$scratch/output")"
}

for script in "$root"/tools/* "$root"/.ci/run "$root"/tests/tidy/*.sh; do
  [[ -f $script && $(head -n 1 "$script") == '#!/usr/bin/env bash' ]] || continue
  bash -n "$script" || fail "$script does not parse"
done

# From another folder, as a user would.
cd "$scratch"
for script in setup.sh demo test same_bits bench format lint; do
  [[ -x $root/tools/$script ]] || fail "tools/$script is not executable"
  expect 0 "$root/tools/$script" -h
  expect_output "tools/$script"
done
for script in setup.sh test same_bits bench format lint; do
  expect 2 "$root/tools/$script" --no-such-option
done
[[ -x $root/.ci/run ]] || fail ".ci/run is not executable"
expect 0 "$root/tools/test" --ci --list
expect_output "same bits from all builds"
expect 0 "$root/tools/test" --list
! grep -q sanitizer "$scratch/output" || fail "the everyday tests list the sanitizer stage"

# A CPU without AVX2 gets a message, not an illegal instruction later.
echo 'flags : fpu avx bmi1 bmi2 f16c fma abm movbe' >"$scratch/cpuinfo"
expect 2 env REHEARSE_CPUINFO="$scratch/cpuinfo" "$root/tools/setup.sh"
expect_output "This one lacks: avx2."

# same_bits over commands that only print: equal, different weights, different events, failed, missing.
mkdir -p "$scratch/tree/tools" "$scratch/tree/scenarios"
cp "$root/tools/same_bits" "$scratch/tree/tools/"
touch "$scratch/tree/scenarios/capstone.textproto"
fake_build() {  # NAME WEIGHTS EVENTS STATUS [OTHER FIELDS]
  mkdir -p "$scratch/tree/build/$1"
  printf '#!/bin/sh\necho \x27{"weights_sha256": "%s", "event_digest": "%s"%s}\x27\nexit %s\n' "$2" "$3" "${5:-}" "$4" \
    >"$scratch/tree/build/$1/rehearse"
  chmod +x "$scratch/tree/build/$1/rehearse"
}
one=$(printf '%064d' 1)
two=$(printf '%064d' 2)
fake_build a "$one" "e1" 0
fake_build same "$one" "e1" 0
fake_build weights "$two" "e1" 0
fake_build events "$one" "e2" 0
fake_build fails "$one" "e1" 1
fake_build short "12ab" "e1" 0
fake_build gave_up "" "e1" 0 ', "outcome": "FAILED"'
fake_build done "" "e1" 0 ', "outcome": "DONE"'
expect 0 "$scratch/tree/tools/same_bits" --builds a,same
expect_output "weights $one events e1"
expect 1 "$scratch/tree/tools/same_bits" --builds a,same,weights
expect_output "build weights differs from build a"
expect 1 "$scratch/tree/tools/same_bits" --builds a,events capstone
expect 1 "$scratch/tree/tools/same_bits" --builds a,fails
expect 1 "$scratch/tree/tools/same_bits" --builds a,short
expect_output "64 hex digits were expected"
expect 0 "$scratch/tree/tools/same_bits" --builds gave_up,gave_up
expect_output "FAILED weights none events e1"
expect 1 "$scratch/tree/tools/same_bits" --builds gave_up,done
expect_output "64 hex digits were expected"
expect 1 "$scratch/tree/tools/same_bits" --builds a,same --all
expect_output "scenarios/ has only 0"
expect 1 "$scratch/tree/tools/same_bits" --builds a,missing
echo "scripts: all well"
