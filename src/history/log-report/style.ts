/** The page's styles, with the dashboard's colours: people blue, agents orange. */
export const STYLE = `
:root{color-scheme:light dark;--canvas:light-dark(#f6f5f1,#101113);--panel:light-dark(#fffefb,#17181b);
--ink:light-dark(#1c1d20,#ecebe6);--muted:light-dark(#5d6068,#a3a6ad);--rule:light-dark(#e3e1da,#2c2e33);
--people:light-dark(#1c5cab,#7fb4ff);--agents:light-dark(#a84a0b,#f2a35e);--agents-bar:light-dark(#f8e4d3,#3d2a19);--people-bar:light-dark(#dbe7f6,#1c2c45)}
*{box-sizing:border-box}
body{margin:0 auto;max-width:1080px;padding:24px;background:var(--canvas);color:var(--ink);
font:14px/20px ui-sans-serif,system-ui,-apple-system,"Segoe UI",Roboto,Arial,sans-serif;font-variant-numeric:tabular-nums}
h1{margin:0;font-size:22px;line-height:28px;overflow-wrap:anywhere}
h2{margin:0 0 8px;font-size:15px}
small,.muted,header p,footer,figcaption{color:var(--muted);font-weight:400;font-size:13px}
header p{margin:4px 0 20px}
section,figure{margin:0 0 16px;padding:16px;background:var(--panel);border:1px solid var(--rule);border-radius:8px;overflow-x:auto}
.totals{display:grid;grid-template-columns:1fr 1fr;gap:24px}
.totals .people h2{color:var(--people)}.totals .agents h2{color:var(--agents)}
dl{display:flex;flex-wrap:wrap;gap:8px 24px;margin:0}
dl div{display:flex;flex-direction:column-reverse}
dt{color:var(--muted);font-size:13px}dd{margin:0;font-size:22px;line-height:28px;font-weight:600}
svg{display:block;width:100%;height:auto}
rect.people{fill:var(--people)}rect.agents{fill:var(--agents)}
g:hover rect{opacity:.6}text{fill:var(--muted);font-size:11px}
figcaption{margin-top:8px}
.halves{display:grid;grid-template-columns:1fr 1fr;gap:16px;align-items:start}
table{width:100%;border-collapse:collapse}
th{text-align:left;font-weight:400;color:var(--muted);font-size:13px}
th,td{padding:4px 8px;border-bottom:1px solid var(--rule);vertical-align:top}
tr:last-child td{border-bottom:0}
.number{text-align:right;white-space:nowrap}
section.agents{--bar:var(--agents-bar)}section.people{--bar:var(--people-bar)}
.bar{background:linear-gradient(90deg,var(--bar) var(--share),transparent 0);overflow-wrap:anywhere;min-width:9em}
code{font:12px/18px ui-monospace,"SF Mono",Menlo,Consolas,monospace;overflow-wrap:anywhere}
@media(max-width:720px){.totals,.halves{grid-template-columns:1fr}}
@media print{body{background:none;max-width:none}section,figure{break-inside:avoid}}
`
