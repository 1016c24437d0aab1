"""How the page looks. Colours are Okabe and Ito's, which most eyes tell apart."""

__all__ = ["STYLE"]

STYLE = """
:root { color-scheme: light dark; --text: #1c1c1c; --quiet: #5c5c5c; --ground: #fff;
  --edge: #d4d4d4; --plus: #0072b2; --minus: #d55e00; --mind: #fff3d6;
  --c0: #0072b2; --c1: #d55e00; --c2: #009e73; --c3: #b0558a; --c4: #b07800; --c5: #3f8fc0; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e8e8e8; --quiet: #a8a8a8; --ground: #16181a; --edge: #3c4043;
    --plus: #56a8d8; --minus: #f08a3c; --mind: #4a3a10;
    --c0: #56a8d8; --c1: #f08a3c; --c2: #2fc79a; --c3: #e090c0; --c4: #e6b030; --c5: #8fd0f5; } }
* { box-sizing: border-box; }
body { margin: 0; color: var(--text); background: var(--ground);
  font: 16px/1.5 system-ui, sans-serif; }
main { max-width: 62rem; margin: 0 auto; padding: 1rem; overflow-wrap: anywhere; }
h1 { margin: 0.5rem 0; } h2 { margin: 2rem 0 0.3rem; } h3 { margin: 1rem 0 0.2rem; }
p { margin: 0.3rem 0 0.8rem; }
code, pre { font: 0.85rem/1.4 ui-monospace, monospace; }
pre { overflow-x: auto; padding: 0.6rem; border: 1px solid var(--edge); overflow-wrap: normal; }
.warning { padding: 0.5rem 0.8rem; background: var(--mind); border-left: 4px solid var(--minus); }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; overflow-wrap: normal; }
th, td { padding: 0.3rem 0.6rem; border-bottom: 1px solid var(--edge); text-align: right; }
th { font-weight: 600; min-width: 5.5rem; max-width: 14rem; overflow-wrap: anywhere; }
th:first-child { text-align: left; min-width: 9rem; }
td { white-space: nowrap; }
td small { display: block; color: var(--quiet); }
td.drawn { min-width: 10rem; width: 40%; }
svg { display: block; width: 100%; overflow: visible; }
.bar { height: 16px; }
.axis { stroke: var(--quiet); opacity: 0.6; fill: none; vector-effect: non-scaling-stroke; }
.range { stroke: var(--plus); stroke-width: 3; } .mean { fill: var(--plus); }
.figures { display: grid; grid-template-columns: repeat(auto-fill, minmax(15rem, 1fr));
  gap: 1.5rem; }
figure { margin: 0; } figcaption { font-weight: 600; }
.histogram { height: 6rem; border-bottom: 1px solid var(--edge); }
.above { fill: var(--plus); } .below { fill: var(--minus); } .level { fill: var(--quiet); }
.scale { display: flex; justify-content: space-between; }
.scale, .end, .legend { color: var(--quiet); font-size: 0.85rem; }
.end { margin: 0; }
.curves { height: 16rem; border: solid var(--edge); border-width: 0 0 1px 1px; }
.curve { fill: none; stroke-width: 1.5; vector-effect: non-scaling-stroke; }
.point { fill: none; stroke-width: 6; stroke-linecap: round; vector-effect: non-scaling-stroke; }
.s0 { stroke: var(--c0); } .s1 { stroke: var(--c1); } .s2 { stroke: var(--c2); }
.s3 { stroke: var(--c3); } .s4 { stroke: var(--c4); } .s5 { stroke: var(--c5); }
.c0 { background: var(--c0); } .c1 { background: var(--c1); } .c2 { background: var(--c2); }
.c3 { background: var(--c3); } .c4 { background: var(--c4); } .c5 { background: var(--c5); }
.entry { margin-right: 1rem; white-space: nowrap; }
.swatch { display: inline-block; width: 0.8em; height: 0.8em; margin-right: 0.3em; }
summary { cursor: pointer; }
footer { margin: 2rem 0 1rem; padding-top: 0.5rem; border-top: 1px solid var(--edge);
  color: var(--quiet); }
"""
