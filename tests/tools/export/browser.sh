#!/usr/bin/env bash
# Opens the page of a run in headless Chromium, in both themes and at two widths: browser.sh CHROMIUM REHEARSE SOURCE_DIR.
# No message on the console, nothing wider than the window, tips that show their text, colors that follow the theme.
set -euo pipefail
chromium=$1
rehearse=$2
source=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  echo "FAILED: $*"
  exit 1
}

# What the page finds out about itself, as attributes of its body.
probe='<script>
var marked=document.querySelector("[data-tip]"),box=marked.getBoundingClientRect();
marked.dispatchEvent(new PointerEvent("pointermove",{bubbles:true,clientX:box.x,clientY:box.y}));
var tip=document.getElementById("tip"),body=document.body;
body.dataset.tipShown=tip.style.display=="block"&&tip.textContent==marked.dataset.tip;
body.dataset.overflow=document.documentElement.scrollWidth>innerWidth;
body.dataset.ground=getComputedStyle(body).backgroundColor;
</script>'

# browse PAGE WIDTH OPTION...: the page as it stands after its scripts, in $work/dom.
browse() {
  local page=$1 width=$2
  shift 2
  timeout 60 "$chromium" --headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking \
    --disable-component-update --disable-sync --hide-scrollbars --user-data-dir="$(mktemp -d -p "$work")" \
    --enable-logging=stderr --window-size="$width",900 "$@" --dump-dom "file://$page" >"$work/dom" 2>"$work/log" ||
    fail "chromium ended with $?"
}
said_something() { grep -q "CONSOLE" "$work/log"; }

# A page with an error must be found out, or this test proves nothing.
echo '<script>nothing.here()</script>' >"$work/wrong.html"
browse "$work/wrong.html" 800
said_something || fail "an error on the console is not noticed"

count=0
for name in rack_lost text seven_ranks; do
  "$rehearse" run "$source/scenarios/$name.textproto" --out "$work/$name" >"$work/run"
  "$rehearse" report "$work/$name" >"$work/run"
  cat "$work/$name/report.html" <(echo "$probe") >"$work/$name.html"
  for theme in 0 1; do
    for width in 500 1200; do
      browse "$work/$name.html" "$width" --blink-settings=preferredColorScheme=$theme
      if said_something; then fail "$name says on the console: $(grep -m 1 CONSOLE "$work/log")"; fi
      grep -q 'data-tip-shown="true"' "$work/dom" || fail "$name: a tip does not show"
      grep -q 'data-overflow="false"' "$work/dom" || fail "$name is wider than $width pixels"
      ground="rgb(247, 247, 245)"
      if [ "$theme" = 0 ]; then ground="rgb(21, 23, 27)"; fi
      grep -q "data-ground=\"$ground\"" "$work/dom" || fail "$name has not the colors of theme $theme"
      count=$((count + 1))
    done
  done
done
echo "$count passed, 0 failed"
