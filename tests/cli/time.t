# SPDX-License-Identifier: MIT
# Any C statement. On a machine that is busy the answer may be in doubt, all of it (4) or a part (1), or there is none, with a reason.

$ xray time 'p0 = p0 * p1' --type f64 --cache-dir c > out 2> err; s=$?; case $s in 0|1|4) ;; *) echo $s; cat err ;; esac; case $(cut -d' ' -f1 out | tr '\n' ' ') in 'latency throughput in ') test ! -s err && grep -c '^latency .* cycles (.* ns)\|^throughput .* cycles (.* ns) per statement\|^in flight  *[1-9]' out ;; '') grep -q '^xray: the statement cannot be timed: .' err && echo 3 ;; *) cat out ;; esac
3
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
latency * cycles (4.0* ns)
throughput * cycles (1* ns) per statement
in flight *4
$ xray time 'p0 = sin(p0)' --target $TOP/machines/p6.ini
2| xray: 'p0 = sin(p0)': the model's compiler knows *
? 2

# One that the compiler removes takes no longer than the loop around it: a doubt.
$ xray time 'p0 = p0' --target $TOP/machines/p6.ini
latency * (takes no time: the compiler seems to have removed the statement)
throughput * (takes no time: the compiler seems to have removed the statement)
in flight *
? 4

# So does one that leaves the loop: on this machine, whatever it is busy with, no crash.
$ for form in barrier switch; do for s in return break continue 'p0 = p0'; do xray time "$s" --form $form --cache-dir c > out 2> err; s=$?; [ $s -le 1 ] || [ $s = 4 ] || echo "$form $s"; done; done
