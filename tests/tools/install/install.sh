#!/usr/bin/env bash
# Installs a build and makes its package, as a user would, and uses both: install.sh BUILD_DIR SOURCE_DIR.
set -euo pipefail
build=$1
source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  echo "FAILED: $*"
  exit 1
}

echo "== cmake --install: the program and what comes with it"
cmake --install "$build" --prefix "$work/usr" >"$work/log" || fail "install: $(tail -5 "$work/log")"
"$work/usr/bin/rehearse" run "$work/usr/share/rehearse/scenarios/capstone.textproto" >"$work/run" ||
  fail "the installed program: $(tail -5 "$work/run")"
grep -q "^.TH REHEARSE 1" "$work/usr/share/man/man1/rehearse.1" || fail "no manual page"
bash -n "$work/usr/share/bash-completion/completions/rehearse" || fail "no completion for bash"
grep -q "^#compdef rehearse" "$work/usr/share/zsh/vendor-completions/_rehearse" || fail "no completion for zsh"

echo "== find_package(Rehearse): programs of one's own"
mkdir "$work/consumer"
cp "$source"/tests/tools/install/*.cc "$work/consumer"
cp "$source/tests/tools/install/consumer.cmake" "$work/consumer/CMakeLists.txt"
cmake -S "$work/consumer" -B "$work/consumer/build" -DCMAKE_PREFIX_PATH="$work/usr" >"$work/log" 2>&1 ||
  fail "configure: $(tail -20 "$work/log")"
cmake --build "$work/consumer/build" -j 2 >"$work/log" 2>&1 || fail "build: $(grep -m 5 error "$work/log")"
"$work/consumer/build/parameter_server" || fail "parameter_server"
"$work/consumer/build/recovery_policy" "$work/usr/share/rehearse/scenarios/crash_rolls_back.textproto" ||
  fail "recovery_policy"

echo "== cpack: a Debian package, unpacked elsewhere"
(cd "$work" && cpack --config "$build/CPackConfig.cmake" -B "$work/package" >"$work/log" 2>&1) ||
  fail "cpack: $(tail -5 "$work/log")"
deb=$(echo "$work"/package/*.deb)
dpkg-deb --info "$deb" | grep -E "^ (Package|Version|Depends):"
dpkg-deb --extract "$deb" "$work/root"
(cd / && "$work/root/usr/bin/rehearse" run "$work/root/usr/share/rehearse/scenarios/ddp.textproto" >"$work/run") ||
  fail "the program of the package: $(tail -5 "$work/run")"
dpkg-deb --contents "$deb" >"$work/contents"
grep -q "usr/share/man/man1/rehearse.1" "$work/contents" || fail "the package has no manual page"

echo "1 passed, 0 failed"
