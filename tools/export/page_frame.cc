#include "tools/export/page_frame.h"

#include "tools/export/svg.h"

namespace rehearse {
namespace {

// Colours that people with colour-blindness tell apart, dark ones on light ground and light ones on dark.
constexpr const char* kStyle = R"(
:root{color-scheme:light dark;--bg:#f7f7f5;--card:#fff;--ink:#1d1f23;--soft:#5d6470;--line:#dcdde0;
--c-compute:#2f6fc4;--c-comm:#d0770b;--c-save:#1c8a63;--c-start:#7a58b5;--c-lost:#c43d3d;--c-down:#8b919b;
--m0:#2f6fc4;--m1:#d0770b;--m2:#1c8a63;--m3:#7a58b5;--m4:#8b919b;--good:#1c8a63;--bad:#c43d3d}
@media(prefers-color-scheme:dark){:root{--bg:#15171b;--card:#1e2126;--ink:#e8e9eb;--soft:#a3a9b4;--line:#363b44;
--c-compute:#6aa5f2;--c-comm:#f0a24a;--c-save:#4cc596;--c-start:#b095e6;--c-lost:#f07575;--c-down:#8b919b;
--m0:#6aa5f2;--m1:#f0a24a;--m2:#4cc596;--m3:#b095e6;--m4:#8b919b;--good:#4cc596;--bad:#f07575}}
*{box-sizing:border-box}
body{margin:0;background:var(--bg);color:var(--ink);font:15px/1.5 system-ui,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}
main{max-width:960px;margin:0 auto;padding:20px 16px 60px}
h1{font-size:26px;line-height:1.2;margin:8px 0 4px;overflow-wrap:anywhere}
h2{font-size:17px;margin:0 0 10px}
p{margin:6px 0}.soft,small{color:var(--soft)}
section{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:16px;margin:16px 0}
.outcome{font-size:17px;margin:10px 0}.badge{display:inline-block;border-radius:6px;padding:1px 9px;margin-right:6px;
font-weight:600;color:var(--card);background:var(--good)}.badge.bad{background:var(--bad)}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(130px,1fr));gap:10px;margin:14px 0}
.tile{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:10px 12px}
.tile b{display:block;font-size:19px;font-variant-numeric:tabular-nums;overflow-wrap:anywhere}
.tile span{color:var(--soft);font-size:13px}
.scroll{overflow-x:auto}.scroll svg{display:block;width:100%;min-width:560px;height:auto}
table{border-collapse:collapse;width:100%;font-size:14px;font-variant-numeric:tabular-nums}
th,td{text-align:right;padding:4px 10px;border-bottom:1px solid var(--line);vertical-align:top}
th{color:var(--soft);font-weight:500}th:first-child,td:first-child{padding-left:0}
.l{text-align:left}.held{color:var(--good)}.failed{color:var(--bad);font-weight:600}
pre{white-space:pre-wrap;overflow-wrap:anywhere;font:13px/1.45 ui-monospace,"DejaVu Sans Mono",monospace;margin:0}
details{margin:8px 0}summary{cursor:pointer;color:var(--soft)}
.legend{display:flex;flex-wrap:wrap;gap:4px 16px;font-size:13px;color:var(--soft);margin:4px 0 8px}
.legend i,.key i{display:inline-block;width:11px;height:11px;border-radius:3px;margin-right:6px;vertical-align:-1px}
svg .t{fill:var(--soft);font-size:12px}svg .v{fill:var(--ink);font-size:12px}
svg .grid{stroke:var(--line);stroke-width:1}svg .axis{stroke:var(--soft);stroke-width:1}
svg .curve{fill:none;stroke:var(--c-compute);stroke-width:2;stroke-linejoin:round}
svg .other{fill:none;stroke:var(--c-comm);stroke-width:2;stroke-linejoin:round}
svg .undone{fill:none;stroke:var(--c-lost);stroke-width:1.5;stroke-dasharray:4 3}
svg .back{fill:none;stroke:var(--c-lost);stroke-width:1.5}
svg .hit{fill:transparent}svg .hit:hover{fill:var(--ink);fill-opacity:.08}
svg [data-tip]:hover{filter:brightness(1.15)}
.compute{fill:var(--c-compute);background:var(--c-compute)}.comm{fill:var(--c-comm);background:var(--c-comm)}
.save{fill:var(--c-save);background:var(--c-save)}.start{fill:var(--c-start);background:var(--c-start)}
.lost{fill:var(--c-lost);background:var(--c-lost)}.down{fill:var(--c-down);background:var(--c-down)}
.m0{fill:var(--m0);background:var(--m0)}.m1{fill:var(--m1);background:var(--m1)}.m2{fill:var(--m2);background:var(--m2)}
.m3{fill:var(--m3);background:var(--m3)}.m4{fill:var(--m4);background:var(--m4)}
svg .heat{fill:var(--c-compute)}svg .cell{fill:none;stroke:var(--line)}svg .eval{fill:var(--c-save)}
#tip{position:fixed;z-index:9;pointer-events:none;background:var(--ink);color:var(--bg);border-radius:6px;
padding:5px 9px;font-size:13px;line-height:1.4;white-space:pre-line;max-width:min(340px,90vw);display:none}
)";

constexpr const char* kScript = R"(
(function(){
var tip=document.getElementById('tip');
function show(e){
  var at=e.target.closest?e.target.closest('[data-tip]'):null;
  if(!at){tip.style.display='none';return;}
  tip.textContent=at.getAttribute('data-tip');
  tip.style.display='block';
  var x=e.clientX+14,y=e.clientY+14;
  if(x+tip.offsetWidth>innerWidth-6)x=Math.max(6,innerWidth-tip.offsetWidth-6);
  if(y+tip.offsetHeight>innerHeight-6)y=Math.max(6,e.clientY-tip.offsetHeight-10);
  tip.style.left=x+'px';tip.style.top=y+'px';
}
document.addEventListener('pointermove',show);
document.addEventListener('pointerdown',show);
document.addEventListener('scroll',function(){tip.style.display='none';},true);
})();
)";

}  // namespace

std::string page_of(const std::string& title, const std::string& body) {
  std::string page = "<!DOCTYPE html>\n<!-- made by rehearse report -->\n<html lang=\"en\">\n<head>\n";
  page += "<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n";
  page += "<link rel=\"icon\" href=\"data:,\">\n<title>" + html_escaped(title) + "</title>\n<style>" + kStyle +
          "</style>\n</head>\n";
  page += "<body>\n<main>\n" + body + "</main>\n<div id=\"tip\" role=\"status\"></div>\n<script>" + kScript +
          "</script>\n</body>\n</html>\n";
  return page;
}

std::string section(const std::string& title, const std::string& content, const std::string& note) {
  std::string out = "<section>\n<h2>" + html_escaped(title) + "</h2>\n" + content;
  if (!note.empty()) out += "<p><small>" + html_escaped(note) + "</small></p>\n";
  return out + "</section>\n";
}

}  // namespace rehearse
