# SPDX-License-Identifier: MIT
# Whatever the file: one line, exit status 2; nothing of it reaches the reader's terminal, spreadsheet or page unescaped.

$ printf '{"schema": 1, "facts": {' > cut.json; echo '[1, 2]' > foreign.json; head -c 300 /dev/urandom > noise.json; : > empty.json; echo '{"schema": 9, "facts": {}}' > later.json
$ bad() { xray "$@" > out 2> err; [ $? = 2 ] && [ "$(wc -l < err)" = 1 ] && [ ! -s out ] || echo "$*"; }; o=$TOP/tests/data/icelake.json; for f in none.json cut.json foreign.json noise.json empty.json later.json . "$(printf 'a\033[31m\nb')"; do for c in show 'show --full' header plot check 'check --against' 'report -o o.html'; do bad $c "$f"; done; for t in blis cmake csv gcc glibc hwloc kerncraft markdown openblas prometheus roofline; do bad export "$f" --to $t; done; bad show "$f" cache; bad diff "$f" $o; bad diff $o "$f"; bad check --against "$f" $o; bad timer --target "$f"; bad time 'p0 = p0 + p1' --target "$f"; done; ls o.html 2> /dev/null; true

# Text with an escape sequence, a formula, a tag, quotes and a line break.
$ printf '%s' '{"schema": 1, "target": {"cpu": "\u001b]0;t\u0007=cmd|x<script>\"\n- evil: ${HOME}"}, "facts": {"cpu.frequency": {"status": "ok", "value": 3e9, "unit": "Hz", "confidence": 0.99, "method": "=1+1"}, "cache.l1d.capacity": {"status": "ok", "value": 32768, "unit": "bytes", "confidence": 0.99}, "cache.l1d.line": {"status": "ok", "value": 64, "unit": "bytes", "confidence": 0.99}, "cache.l1d.policy": {"status": "ok", "value": "<b>|\u001b[2J\"$(x)${y};\\", "confidence": 0.99, "reason": "@sum(\u001b[1m)"}, "op.mul.f64.throughput": {"status": "ok", "value": 0.5, "unit": "cycles", "confidence": 0.99}, "threads.cores": {"status": "ok", "value": 2, "confidence": 0.99}, "threads.logical": {"status": "ok", "value": 2, "confidence": 0.99}}}' > evil.json
$ for c in show 'show --full' 'show -v' header 'export --to csv' 'export --to markdown' 'export --to cmake' 'export --to prometheus' 'export --to kerncraft' 'export --to roofline' 'export --to hwloc' 'export --to blis' plot check; do xray $c evil.json 2>&1 | grep -c "$(printf '\033')\|$(printf '\007')" | grep -v '^0$' && echo "$c"; done; true
$ xray export evil.json --to csv | grep 'policy\|freq'
cpu.frequency,ok,3000000000.0,Hz,0.99,,"'=1+1",
cache.l1d.policy,ok,"<b>|\x1b[2J""$(x)${y};\",,0.99,,,"'@sum(\x1b[1m)"
$ xray export evil.json --to markdown | grep 'policy'
| cache.l1d.policy | &lt;b&gt;\|\\x1b\[2J"$(x)${y};\\ | 99 % |  |
$ xray export evil.json --to cmake | grep 'L1D_POLICY "'
set(XRAY_CACHE_L1D_POLICY "<b>|\\x1b[2J\"\$(x)\${y}\;\\")
$ xray export evil.json --to kerncraft | sed -n 4,5p
model name: "\\x1b]0;t\\x07=cmd|x<script>\"\\x0a- evil: ${HOME}"
clock: 3.00 GHz
$ xray export evil.json --to hwloc | grep -c '<script>'
0
? 1
