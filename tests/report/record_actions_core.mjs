// Records what GitHub's own toolkit prints for annotations, for test_github.py to compare with.
//
//   npm install --prefix FOLDER @actions/core
//   node tests/report/record_actions_core.mjs FOLDER > tests/report/data/actions_core.json
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const folder = join(resolve(process.argv[2]), "node_modules/@actions/core");
const core = await import(pathToFileURL(join(folder, "lib/core.js")));
const { version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));

const nasty = [
  "plain", "", " ", "100%", "%", "%%25", "%0A", "%250A", "%3A,%2C", "a\nb", "a\r\nb", "\r", "\n\n", "a:b", "a,b",
  "a::b", "::error::forged", "\n::error::forged", "##[error]forged", "\n##[group]x", "file=x,line=3", "a=b", ";]",
  "src/a b.py", "C:\\x\\y", "a\tb", "\u001b[31mred\u001b[0m", "\u202egnp.exe", "\u2028x\u2029y", "Zürich", "日本語",
  "😀", "`code`", "<b>&amp;</b>", "$(id)", "::set-output name=a::b", "::stop-commands::x", "\u00a0::debug::x",
];

let printed = "";
const write = process.stdout.write;
function print(kind, message, properties) {
  printed = "";
  process.stdout.write = (text) => { printed += text; return true; };
  try {
    core[kind](message, properties);
  } finally {
    process.stdout.write = write;
  }
  return printed;
}

const cases = nasty.flatMap((text, at) => {
  const kind = ["error", "warning", "notice"][at % 3];
  return [
    { kind, message: text, title: "", file: "", line: 0 },
    { kind, message: "m", title: text, file: text, line: at },
    { kind, message: text, title: text, file: text, line: 1 },
  ];
});
const recorded = cases.map((it) => ({
  ...it,
  printed: print(it.kind, it.message, { title: it.title, file: it.file, startLine: it.line }),
}));
write.call(process.stdout, JSON.stringify({ package: "@actions/core", version, cases: recorded }, null, 1) + "\n");
