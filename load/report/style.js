import { COLOURS, darkStyle } from './colours.js'

const names = Object.entries(COLOURS)
const light = names.map(([name, colour]) => `--${name}:${colour.light}`).join(';')
const dark = names.map(([name, colour]) => `--${name}:${colour.dark}`).join(';')

/** The style sheet of report.html. */
export const STYLE = `
:root{color-scheme:light dark;${light}}
@media screen and (prefers-color-scheme:dark){:root{${dark}}}
${darkStyle('svg ')}
*{box-sizing:border-box}
body{margin:0 auto;max-width:62rem;padding:1rem 1.25rem 4rem;background:var(--paper);color:var(--ink);font:1rem/1.55 system-ui,sans-serif;overflow-wrap:break-word}
h1{font-size:1.05rem;font-weight:600;color:var(--muted);margin:.5rem 0}
h2{font-size:1.2rem;line-height:1.3;margin:2.2rem 0 .6rem}
.answer{font-size:1.5rem;line-height:1.35;font-weight:600;margin:.2rem 0 1.4rem;max-width:46rem}
p,li{max-width:46rem}
ul{padding-left:1.2rem}
a{color:var(--blue)}
code{font-family:ui-monospace,monospace;font-size:.9em}
figure{margin:1.6rem 0;padding:.9rem;border:1px solid var(--grid);border-radius:6px}
figcaption{margin-bottom:.6rem;color:var(--muted)}
figcaption strong{display:block;color:var(--ink)}
svg{display:block;width:100%;height:auto}
.narrow{display:none}
.scroll{overflow-x:auto;max-width:100%;margin:.8rem 0}
table{border-collapse:collapse;font-size:.8125rem;font-variant-numeric:tabular-nums}
th,td{padding:.25rem .45rem;border-bottom:1px solid var(--grid);text-align:left;vertical-align:top;white-space:nowrap}
td{max-width:34rem;overflow-wrap:anywhere}
td:first-child,th:first-child{padding-left:0}
td.long{white-space:normal;min-width:14rem;text-align:left!important}
thead th{color:var(--muted);font-weight:600;border-bottom-color:var(--muted)}
summary{cursor:pointer;color:var(--muted);padding:.2rem 0}
summary h2{display:inline;font-size:1.05rem;color:var(--ink)}
details.part{border-top:1px solid var(--grid);padding:.5rem 0}
:focus-visible{outline:3px solid var(--orange);outline-offset:2px}
main:focus{outline:none}
.skip{position:absolute;left:-999rem}
.skip:focus{left:1rem;top:.5rem;background:var(--paper);padding:.3rem .6rem}
.unseen{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
@media screen and (max-width:40rem){body{padding:.75rem .75rem 3rem}figure{padding:.5rem}.wide{display:none}.narrow{display:block}.answer{font-size:1.2rem}}
@media print{body{max-width:none;padding:0;font-size:10pt}figure,tr{break-inside:avoid}.scroll{overflow:visible}table{font-size:7.5pt}th,td{white-space:normal;padding:.15rem .3rem}.skip,figure details{display:none}}
`.trim()
