# SPDX-License-Identifier: MIT
# Measuring a simulated machine: its facts are known.

$ xray --target $TOP/machines/p6.ini timer cpu.frequency
  timer.overhead    *
  timer.resolution  * ns
  cpu.frequency     * MHz
$ xray --target $TOP/machines/p6.ini timer --json - | grep -c '"status": "ok"'
2
$ xray --target $TOP/machines/p6.ini timer --json p6.json --quiet && xray show p6.json timer.resolution && ls
  timer.overhead    *
  timer.resolution  * ns
  timer.resolution  * ns
p6.json

# What is needed comes along, but only what was asked for is shown.
$ xray --target $TOP/machines/p6.ini cpu.frequency --json x.json && grep -o '"timer.resolution": {"status": "ok"' x.json
  cpu.frequency  * MHz
"timer.resolution": {"status": "ok"

# The same seed, the same answer.
$ for i in 1 2; do xray --target $TOP/machines/server.ini timer cpu --seed 7 --json - | grep '"timer\.\|"cpu\.' > $i; done; diff 1 2

# A micro-benchmark can be named itself; hurry is said in the confidence.
$ xray --target $TOP/machines/p6.ini --quick frequency -v 2> /dev/null | grep -oE '[0-9]+ % sure'
8* % sure

# The tick is what moves the OS's clock; how often a thread is stopped is no proof of it, and in doubt where nothing else tells.
$ sed 's/^timeslice_ms.*/&\ntick_ms = 4/' $TOP/machines/unified.ini > tick.ini; grep -c tick_ms tick.ini; xray --target tick.ini os.tick
1
  os.tick  4.00 ms
$ xray --target $TOP/machines/unified.ini os.tick | grep -c 4.00
0
? 1

# Lines handed over beside somebody who has the CPUs most of the time are no sure way to know how far cores are apart.
$ sed '/^\[noise\]/,$d' $TOP/machines/shared.ini > crowd.ini; printf '[noise]\npreempt_hz = 100000\npreempt_ms = 0.1\n' >> crowd.ini; xray --target crowd.ini --quiet comm.latency | tail -n 2; xray --target $TOP/machines/shared.ini --quiet comm.latency
  somebody else had one of the two CPUs while they talked, in 100 % of the pairs
    comm.latency
  comm.latency  * to * ns

# A fact that the machine has not.
$ xray --target $TOP/machines/p6.ini op.fma.i32.latency 2>&1 | tail -n 2; xray --target $TOP/machines/p6.ini op.fma.i32.latency > /dev/null
*
    op.fma.i32.latency
? 1

# No time at all: what was not measured says so.
$ xray --target $TOP/machines/p6.ini timer --budget 0.0001ms
2| xray: the time allowed was used up: 0 facts were found, 2 not
...
Failed
  the time allowed was used up; a larger --budget measures it
    timer.overhead timer.resolution
? 1

# Progress only on a terminal, results on standard output, one line each when asked for more.
$ xray --target $TOP/machines/p6.ini timer -v 2>&1 > /dev/null
xray: * s  timer done (1 of 1)
xray: * s in all, of which * s preparing (compiling, laying out) and * s timing

# No colour where there is no terminal.
$ xray --target $TOP/machines/p6.ini timer | grep -c "$(printf '\033')"
0
? 1

# A recording is a target.
$ xray --target $TOP/machines/p6.ini timer cpu --record rec > once; xray --target rec/machine.ini timer cpu > again; diff once again; xray --target rec timer cpu > again; diff once again
$ xray --target rec op.add.i32.latency | tail -n 2; xray --target rec op.add.i32.latency > /dev/null
  not in the recording: ops *
    op.add.i32.latency
? 1

# A compiler that marks where jumps may land makes larger blocks of code: the instruction side is asked with what there is.
$ echo 'int x;' > x.c; cc -fcf-protection -c x.c -o x.o 2> /dev/null || { echo 1; exit 0; }; xray --quiet --cc cc --cflags '-O2 -fcf-protection' --cache-dir cet cache.l1i --json cet.json > /dev/null; grep 'no block' cet.json; grep -c '"cache.l1i.capacity"' cet.json
1

# Five ways are few, but may be six of which somebody else holds one: in doubt beside others, and only there.
$ for hz in 100 3000; do sed -e '/^\[tlb d1\]/,/^\[/{s/^entries.*/entries = 80/;s/^ways.*/ways = 5/}' -e "s/^interrupts_hz.*/interrupts_hz = $hz/; s/^jitter.*/jitter = 0.003/" $TOP/machines/p6.ini > five.ini; xray --quiet --target five.ini noise tlb.d1.ways --json five.json > /dev/null; grep -o '"tlb.d1.ways": {"status": "[a-z]*", "value": [0-9]*' five.json; done
"tlb.d1.ways": {"status": "ok", "value": 5
"tlb.d1.ways": {"status": "unreliable", "value": 5
