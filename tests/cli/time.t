# SPDX-License-Identifier: MIT
# Any C statement. On a machine that is busy the answer may be in doubt: all of it (4) or a part (1).

$ xray time 'p0 = p0 * p1' --type f64 --cache-dir c; s=$?; case $s in 0|1|4) ;; *) echo $s ;; esac
latency     * cycles (* ns)*
throughput  * cycles (* ns) per statement*
in flight   *
$ xray time 'p0 = p0 +' --cache-dir c
2| xray: 'p0 = p0 +': does not compile: statement:1:* error: *
? 2
$ xray time '*(volatile int *)0 = 1' --cache-dir c
2| xray: the statement cannot be timed: killed by SIGSEGV*
? 1
$ xray time 'for (;;) p0++' --cache-dir c
2| xray: the statement cannot be timed: did not end within * s
? 1
$ xray time 'p0 = p0' --type f63
2| xray: no type is called 'f63'; did you mean 'f6*'?
? 2
$ xray time ' ; '
2| xray: the statement is empty; try 'p0 = p0 * p1'
? 2

# A simulated machine has a small compiler of its own.
$ xray time 'p0 = p0 * p1' --target $TOP/machines/p6.ini
latency *4.00 cycles*
throughput *1.00 cycles*
in flight *4
$ xray time 'p0 = sin(p0)' --target $TOP/machines/p6.ini
2| xray: 'p0 = sin(p0)': the model's compiler knows *
? 2

# One that the compiler removes, or that leaves the loop, takes no time: a doubt, not a crash.
$ for form in barrier switch; do for s in return break continue 'p0 = p0'; do xray time "$s" --form $form --cache-dir c > out 2> err; s=$?; [ $s = 4 ] || [ $s = 1 ] || echo "$form $s"; done; done
