// SPDX-License-Identifier: Apache-2.0
#include "conformance/publish/HtmlParts.h"

const char *const backplane::conformance::html::style = R"(
:root{color-scheme:light dark;
--bg:#fcfcfd;--panel:#fff;--fg:#14181f;--soft:#5d6675;--line:#e3e7ee;
--head:#f3f5f9;--good:#18794e;--warn:#b45309;--bad:#c22f2f;--info:#2f6fd0;
--good-soft:#dff3e8;--warn-soft:#fdf0d9;--bad-soft:#fde5e3;
--core:#3b6fb6;--full:#18794e;--strict:#7a4fc4;--none:#6b7280;
--shadow:0 1px 2px rgba(16,24,40,.06),0 1px 3px rgba(16,24,40,.08)}
@media(prefers-color-scheme:dark){:root{
--bg:#0e1116;--panel:#161b22;--fg:#e7ebf1;--soft:#9aa5b4;--line:#29303b;
--head:#1c222b;--good:#4ac38a;--warn:#e5a440;--bad:#f0766a;--info:#74a6f2;
--good-soft:#12301f;--warn-soft:#33270f;--bad-soft:#3a1a18;
--core:#5c93dc;--full:#3fae7a;--strict:#a584ea;--none:#828b99;
--shadow:none}}
*{box-sizing:border-box}
html{scroll-behavior:smooth;scroll-padding-top:64px}
body{margin:0;background:var(--bg);color:var(--fg);
font:15px/1.55 "Inter",system-ui,-apple-system,"Segoe UI",sans-serif}
main{max-width:1240px;margin:0 auto;padding:8px 28px 72px}
nav{position:sticky;top:0;z-index:5;background:var(--bg);
border-bottom:1px solid var(--line)}
nav div{max-width:1240px;margin:0 auto;padding:12px 28px;display:flex;gap:22px;
overflow-x:auto;white-space:nowrap;font-size:13px}
nav b{margin-right:auto}
nav a{color:var(--soft);text-decoration:none}nav a:hover{color:var(--fg)}
h1{font-size:34px;line-height:1.15;letter-spacing:-.02em;margin:0 0 6px}
h2{font-size:21px;letter-spacing:-.01em;margin:56px 0 4px}
h3{font-size:14px;margin:22px 0 8px}
p{margin:0 0 14px;max-width:76ch}
.soft,.note{color:var(--soft)}
.eyebrow{font-size:12px;letter-spacing:.09em;text-transform:uppercase;
color:var(--soft);margin:36px 0 8px}
.hero{display:flex;flex-wrap:wrap;gap:28px;align-items:center;
justify-content:space-between}
.hero>div:first-child{flex:1 1 460px}
.medal{--c:var(--none);display:flex;align-items:center;gap:16px;
padding:18px 26px 18px 20px;border-radius:16px;background:var(--panel);
border:1px solid var(--line);box-shadow:var(--shadow)}
.medal svg{width:62px;height:62px;flex:none}
.medal svg .ring{fill:none;stroke:var(--c);stroke-width:4}
.medal svg .disc{fill:var(--c)}
.medal svg .mark{fill:none;stroke:#fff;stroke-width:5;stroke-linecap:round;
stroke-linejoin:round}
.medal b{display:block;font-size:27px;line-height:1.1;letter-spacing:-.02em}
.medal span{color:var(--soft);font-size:13px}
.medal.Core{--c:var(--core)}.medal.Full{--c:var(--full)}
.medal.Strict{--c:var(--strict)}.medal.failed{--c:var(--bad)}
.tiles{display:grid;gap:12px;margin:28px 0 0;
grid-template-columns:repeat(auto-fit,minmax(148px,1fr))}
.tiles div{padding:14px 16px;border:1px solid var(--line);border-radius:12px;
background:var(--panel);color:var(--soft);font-size:13px}
.tiles b{display:block;color:var(--fg);font-size:23px;line-height:1.3;
letter-spacing:-.02em;font-variant-numeric:tabular-nums}
.tiles .b b{color:var(--bad)}.tiles .w b{color:var(--warn)}
.tiles .g b{color:var(--good)}
.problem{margin:16px 0 0;padding:12px 16px;border-radius:10px;
background:var(--bad-soft);border:1px solid var(--bad);overflow-wrap:anywhere}
.cards{display:grid;gap:14px;margin-top:14px;
grid-template-columns:repeat(auto-fit,minmax(300px,1fr))}
.card{padding:16px 20px;border:1px solid var(--line);border-radius:12px;
background:var(--panel);min-width:0}
.card h3{margin:0 0 10px;font-size:16px;display:flex;gap:8px;
justify-content:space-between}
.card ul{list-style:none;margin:0;padding:0;font-size:13.5px}
.card li{padding:4px 0 4px 24px;position:relative;overflow-wrap:anywhere}
.card li::before{content:"✓";position:absolute;left:2px;color:var(--good);
font-weight:700}
.card li.no::before{content:"✕";color:var(--bad)}
.card li span{color:var(--soft)}
.tag{font-size:11.5px;font-weight:600;padding:2px 9px;border-radius:99px;
background:var(--head);color:var(--soft);white-space:nowrap}
.tag.g{background:var(--good-soft);color:var(--good)}
.tag.w{background:var(--warn-soft);color:var(--warn)}
.tag.b{background:var(--bad-soft);color:var(--bad)}
.wide{overflow-x:auto;border:1px solid var(--line);border-radius:12px;
background:var(--panel);margin-top:12px}
table{border-collapse:collapse;font-size:13px;width:100%}
th,td{padding:7px 12px;text-align:left;vertical-align:top;
border-bottom:1px solid var(--line)}
tr:last-child>td,tr:last-child>th{border-bottom:0}
thead th{background:var(--head);font-weight:600;white-space:nowrap;
color:var(--soft);font-size:12px}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}
td.long{min-width:260px;overflow-wrap:anywhere}
code{font:12px/1.5 ui-monospace,"SF Mono",Menlo,Consolas,monospace}
td code{white-space:nowrap}
td code.cmd{display:block;color:var(--soft);user-select:all}
.bar{display:flex;height:10px;min-width:220px;border-radius:5px;
overflow:hidden;background:var(--head);margin-top:5px}
.bar i{display:block}
i.g{background:var(--good)}i.w{background:var(--warn)}i.b{background:var(--bad)}
i.s{background:repeating-linear-gradient(45deg,var(--line) 0 4px,
transparent 4px 8px)}
.map{width:auto}
.map thead th{position:static;text-align:center}
.map thead th:first-child,.map tbody th{position:sticky;left:0;
background:var(--panel);text-align:left;font-weight:500;white-space:nowrap}
.map thead th:first-child{background:var(--head)}
.map td{padding:4px 3px;border-bottom:0;text-align:center}
.map tbody th{border-bottom:0;padding:4px 14px}
.map b{display:block;min-width:52px;padding:3px 6px;border-radius:6px;
font-weight:500;font-size:12px;font-variant-numeric:tabular-nums}
.map b.g{background:color-mix(in srgb,var(--good) var(--s),var(--panel))}
.map b.w{background:color-mix(in srgb,var(--warn) 45%,var(--panel))}
.map b.b{background:var(--bad);color:var(--panel);font-weight:700}
.map b.s{color:var(--soft);background:repeating-linear-gradient(45deg,
var(--line) 0 1px,transparent 1px 7px)}
.legend{display:flex;flex-wrap:wrap;gap:8px 20px;margin:12px 0 0;
font-size:12.5px;color:var(--soft)}
.legend i{display:inline-block;width:26px;height:12px;border-radius:3px;
margin-right:7px;vertical-align:-1px}
.ramp{background:linear-gradient(90deg,
color-mix(in srgb,var(--good) 14%,var(--panel)),
color-mix(in srgb,var(--good) 62%,var(--panel)))}
.legend i.w{background:color-mix(in srgb,var(--warn) 45%,var(--panel))}
.plots{display:grid;gap:12px;margin:12px 0 4px;
grid-template-columns:repeat(auto-fill,minmax(178px,1fr))}
.plots figure{margin:0;padding:10px 12px 6px;border:1px solid var(--line);
border-radius:10px;background:var(--panel)}
.plots figcaption{font-size:12.5px;font-weight:600;display:flex;
justify-content:space-between;gap:6px}
.plots figcaption span{color:var(--soft);font-weight:400}
.plots svg{width:100%;height:auto;display:block}
.plots rect{fill:var(--info)}.plots rect.far{fill:var(--warn)}
.plots line{stroke:var(--line)}
.plots text{fill:var(--soft);font:9px system-ui,sans-serif;text-anchor:middle}
details{margin-top:14px}
summary{cursor:pointer;font-weight:600;font-size:14px;padding:4px 0}
footer{margin-top:64px;padding-top:18px;border-top:1px solid var(--line);
color:var(--soft);font-size:13px}
dl{display:grid;grid-template-columns:minmax(120px,220px) 1fr;gap:0;
margin:12px 0 0;border:1px solid var(--line);border-radius:12px;
background:var(--panel);font-size:13px;overflow:hidden}
dt,dd{margin:0;padding:7px 16px;border-bottom:1px solid var(--line);min-width:0;
overflow-wrap:anywhere}
dt{color:var(--soft)}dt:last-of-type,dd:last-of-type{border-bottom:0}
@media(max-width:640px){main{padding:8px 16px 48px}h1{font-size:27px}
nav div{padding:12px 16px}dl{grid-template-columns:1fr}dt{border-bottom:0;
padding-bottom:0}}
@media print{nav{display:none}.wide{overflow:visible}body{background:#fff}}
)";
