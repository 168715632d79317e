# SPDX-License-Identifier: MIT
# Without a compiler the agent that xray carries does all but operations, registers, units and instructions.

$ X=$(command -v xray); env -u CC PATH=/none "$X" timer cpu.frequency core branch --json d.json > /dev/null; grep -c 'needs a C compiler' d.json; grep -o '"compiler": "[^"]*"' d.json; grep -c '"timer.resolution": {"status": "ok"' d.json
0
"compiler": "no compiler"
1
2| xray: no C compiler: what operations cost, registers, units and instructions cannot be measured (apt-get install gcc)
2| ...
$ X=$(command -v xray); env -u CC PATH=/none "$X" --quiet op.add.i32.latency registers isa.fma.f64
...
  needs a C compiler
    isa.fma.f64 registers.int *
    op.*.i32.latency
? 1
$ X=$(command -v xray); env -u CC PATH=/none "$X" --quiet time 'p0 = p0 + p1'
2| xray: timing a statement needs a C compiler (apt-get install gcc)
? 3

# The screen says what is not there, and why.
$ printf '{"schema": 1, "target": {"name": "host", "cpu": "A CPU", "compiler": "no compiler", "date": "2026-01-02T03:04:05Z"}, "facts": {"cpu.frequency": {"status": "ok", "value": 3e9, "unit": "Hz", "confidence": 0.99}, "registers.int": {"status": "unsupported", "reason": "needs a C compiler"}}}' > n.json; xray show n.json | head -n 4
X-Ray of A CPU
measured  no compiler | 2026-01-02T03:04:05Z
Core      3 GHz
          operations, registers, units and instructions need a C compiler

# Who names a compiler wants that one.
$ X=$(command -v xray); env -u CC PATH=/none "$X" --quiet timer --cc gcc-none
2| xray: cannot run the compiler 'gcc-none' *
? 3

# With an empty environment, too.
$ X=$(command -v xray); env -i PATH=/none "$X" --quiet timer | grep -c 'timer.resolution'
1
