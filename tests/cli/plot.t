# SPDX-License-Identifier: MIT
# Pictures in the terminal.

$ cp $TOP/tests/data/zen4.json m.json; xray plot m.json hierarchy
hierarchy: sizes, logarithmic; filled is measured, light is what the OS claims beyond it
       l1d |###################### 32 KiB
       l1i |######################## 48 KiB
        l2 |########################################... 631 KiB? of 1 MiB
        l3 |###################################################.............. 3.63 MiB of 32 MiB
$ xray plot m.json comm.latency
comm.latency: from row to column, 25.7 ns is light, 26.0 ns dark
         0 | . 0|
         1 | 4 .|
$ xray plot m.json cache.l1d.ways | sed -n '1,2p; $p'
cache.l1d.one_set: time per access, cycles over addresses one way apart (logarithmic)
      30.9 |*
            1*14
$ xray plot m.json | grep '^[a-z]' | cut -d: -f1
hierarchy
cache.walk
tlb.data
comm.latency
comm.bandwidth
$ LC_ALL=C.UTF-8 xray plot m.json tlb.data | head -n 2 | tail -n 1 | grep -c '⠉'
1
$ xray plot m.json tlb.dta
2| xray: m.json has no curve or matrix of 'tlb.dta'; did you mean 'tlb.data'?
? 2
$ xray plot m.json timer
2| xray: m.json has no curve or matrix of 'timer'
? 2
$ echo '{"schema": 1, "facts": {}}' > none.json; xray plot none.json
2| xray: none.json has nothing to draw
? 2

# Bandwidth over size of the one CPU there is: 32 flows. Latency over size: 64 walks in small pages and as many in huge ones, from the first cache to memory; drawn where there is one.
$ xray --quiet --target $TOP/machines/tlb.ini memory.curve --json c.json > out; sed -n 's/.*"memory.curve.[a-z]*": {"x"[^[]*.\([^]]*\).*/\1/p' c.json | tr -cd ',\n' | awk '{print length($0) + 1}'
32
64
64
$ xray plot c.json | grep '^[a-z]' | cut -d: -f1
hierarchy
memory.curve.small
memory.curve.huge
tlb.data

# A matrix without a number is none.
$ printf '{"schema": 1, "facts": {"comm.latency": {"status": "ok", "value": {"cpus": [0, 1], "rows": [[null, null], [null, null]]}, "unit": "ns", "confidence": 0.9}}}' > two.json; xray plot two.json

# Titles and verdicts keep to the width; nothing but ASCII where the locale has nothing else.
$ for w in 40 60 80; do for c in "plot $TOP/tests/data/genoa.json" "check $TOP/tests/data/genoa.json"; do COLUMNS=$w xray $c | grep -v '^  [a-z0-9.]*[ .].* \(agree\|differ\|unknown\|verdict\)' | awk -v most=$w 'length($0) > most'; done; done
$ for c in show 'show --full' check plot header; do xray $c $TOP/tests/data/genoa.json | LC_ALL=C grep -c '[^ -~]'; done; for c in measure time header check export plot; do xray $c --help | LC_ALL=C grep '[^ -~]'; done
0
0
0
0
0
? 1
