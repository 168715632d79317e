# SPDX-License-Identifier: MIT
# What can be made of a description.

$ cp $TOP/tests/data/icelake.json m.json; xray show m.json cache.l1d tlb.d1
  cache.l1d.capacity  48 KiB
  cache.l1d.ways      12
  cache.l1d.line      64 B
  cache.l1d.latency   5.00 cycles
  cache.l1d.policy    plru~
  tlb.d1.entries      64
  tlb.d1.ways         4
  tlb.d1.penalty      7.00 cycles
$ xray show - < m.json | head -n 2
X-Ray of Intel(R) Xeon(R) Processor @ 2.80GHz
measured  Linux 6.1 x86_64 | gcc 12.2.0 -O2 | 2026-01-02T03:04:05Z | 21.3 s
# What disturbed the run is the first line, on one screen and in full.
$ sed 's/"target": {/"target": {"conditions": {"busy": 0.41, "words": ["cc1plus and 1 other used 41 % of these CPUs: expect doubt"]}, /' m.json > busy.json; xray show busy.json | head -n 2; xray show --full busy.json | head -n 2
disturbed cc1plus and 1 other used 41 % of these CPUs: expect doubt
X-Ray of Intel(R) Xeon(R) Processor @ 2.80GHz
Disturbed: cc1plus and 1 other used 41 % of these CPUs: expect doubt
X-Ray of Intel(R) Xeon(R) Processor @ 2.80GHz
$ xray show m.json cache.l1d.wasy
2| xray: m.json has no fact 'cache.l1d.wasy'; did you mean 'cache.l1d.ways'?
? 2
$ xray show none.json
2| xray: cannot read none.json: No such file or directory
? 2
$ echo '{"schema": 1,' > bad.json; xray show bad.json
2| xray: bad.json:*: not JSON: *
? 2
$ echo '{"schema": 1, "facts": {"a": {"status": "fine"}}}' > bad.json; xray header bad.json
2| xray: bad.json: fact a: "status" must be ok, unsupported, unreliable or failed
? 2
$ xray show .
2| xray: cannot read .: Is a directory
? 2

# The C header.
$ xray header m.json | grep CACHE_L1D_CAPACITY | sed 's/#//'
define XRAY_HAS_CACHE_L1D_CAPACITY 1
define XRAY_CACHE_L1D_CAPACITY 49152 /* bytes */
define XRAY_CONF_CACHE_L1D_CAPACITY 99
# What is not sure enough is not there; how sure is the caller's choice.
$ sed 's/"cache.l2.ways": {"status": "ok", "value": 20, "unit": "count", "confidence": 0.99/"cache.l2.ways": {"status": "ok", "value": 20, "unit": "count", "confidence": 0.31/' m.json > unsure.json; xray header unsure.json | grep L2_WAYS | sed 's/#//'
define XRAY_HAS_CACHE_L2_WAYS 0 /* only 31 % sure */
$ xray header --min-confidence 0.3 unsure.json | grep L2_WAYS | sed 's/#//'
define XRAY_HAS_CACHE_L2_WAYS 1
define XRAY_CACHE_L2_WAYS 20 /* count */
define XRAY_CONF_CACHE_L2_WAYS 31
$ xray header --min-confidence 1.5 m.json
2| xray: --min-confidence needs a number from 0 to 1, not '1.5'
? 2
$ xray header --min-confidence most m.json
2| xray: --min-confidence needs a number from 0 to 1, not 'most'
? 2
# Bytes and counts are integers, for #if, however the description holds them; also beyond 32 bits.
$ sed 's/3250585/6442450944.5/' m.json > large.json; xray header large.json | grep L3_CAPACITY | sed 's/#//'
define XRAY_HAS_CACHE_L3_CAPACITY 1
define XRAY_CACHE_L3_CAPACITY 6442450945UL /* bytes */
define XRAY_CONF_CACHE_L3_CAPACITY 92
$ xray header m.json -o m.h && printf '%s\n' 'include "m.h"' 'if XRAY_CACHE_L1D_CAPACITY != 49152 || XRAY_CACHE_L1D_WAYS < 8 || XRAY_CONF_CACHE_L1D_WAYS < 90' 'error wrong' 'endif' 'int main(void) { return !XRAY_HAS_CACHE_L1D_LINE; }' | sed '/^int/!s/^/#/' > m.c && cc -std=c89 -pedantic-errors -Wall -Werror m.c -o m && ./m
$ xray header m.json | grep -c 'XRAY_CACHE_L3_WAYS'
0
? 1
$ xray header m.json --prefix MY -o my.h && grep MY_HAS_CACHE_L3_WAYS my.h | sed 's/#//'
define MY_HAS_CACHE_L3_WAYS 0 /* unreliable: a hashed cache does not show its ways */
$ xray header m.json --prefix '1 2'
2| xray: --prefix must be a C name of at most 40 characters, not '1 2'
? 2
$ xray header m.json -o none/such.h
2| xray: cannot write none/such.h: No such file or directory
? 2

# Measured beside claimed.
$ xray check m.json
  fact                measured  claimed   verdict
  cpu.frequency       3.49 GHz  2.80 GHz  differ: 24.7 % more
  cache.levels        3         3         agree
...
  cache.l3.capacity   3.10 MiB  48 MiB    differ: 1/15.5 of it
...
Verdict: this machine is not what the OS says: cpu.frequency, cache.l3.capacity, threads.cores, threads.siblings differ.
13 agree, 4 differ, 0 unknown; the OS claims nothing about 287 others.
? 1

# Beside another.
$ sed 's/"cache.l2.ways": {"status": "ok", "value": 20/"cache.l2.ways": {"status": "ok", "value": 16/' m.json > n.json; xray diff m.json n.json
  fact           m.json  n.json  verdict
  cache.l2.ways  20      16      differ: 25 % more
...
298 agree, 1 differ, 0 in one only, 5 in neither.
? 1
# A claim has its unit, measured or not.
$ xray check $TOP/tests/data/genoa.json | grep 'l2.line'
  cache.l2.line        -          64 B     unknown: not decided
$ xray check m.json --against m.json
299 agree, 0 differ, 0 in one only, 5 in neither.
Verdict: the same, within what two honest runs differ.
$ xray check n.json --against m.json | tail -n 1; xray check n.json --against m.json > /dev/null
Verdict: not the same machine, or not in the same state.
? 1
$ xray check m.json --against none.json
2| xray: cannot read none.json: No such file or directory
? 2

# How much others disturbed is no property of a machine; files are called by what tells them apart.
$ sed 's/"cache.l1d.throughput.write": {"status": "ok", "value": [0-9.]*/"cache.l1d.throughput.write": {"status": "ok", "value": 31.7/' $TOP/tests/data/genoa.json > slower.json; cmp -s slower.json $TOP/tests/data/genoa.json; echo $?; xray diff slower.json $TOP/tests/data/genoa.json | tail -n 1
1
498 agree, 0 differ, 0 in one only, 64 in neither.
$ mkdir -p far; sed 's/"noise.lost": {"status": "ok", "value": [0-9.e-]*/"noise.lost": {"status": "ok", "value": 0.9/' $TOP/tests/data/genoa.json > far/other.json; xray diff far/other.json $TOP/tests/data/genoa.json
498 agree, 0 differ, 0 in one only, 64 in neither.
$ xray diff --all far/other.json $TOP/tests/data/genoa.json | grep -E 'noise.lost|^  fact'
  fact * other.json * genoa.json * verdict
  noise.lost * 0.90 * 0.08 * of the moment
