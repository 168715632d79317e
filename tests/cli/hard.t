# SPDX-License-Identifier: MIT
# What an attacker, a full disk or a mistake would like to make of this program.

# Whatever goes wrong, the old file stays; links are not followed; devices stay.
$ echo precious > h.h; xray header $TOP/tests/data/icelake.json --prefix 1bad -o h.h; cat h.h
2| xray: *1bad*
precious
$ ln -s h.h link.h; xray header $TOP/tests/data/icelake.json -o link.h && cat h.h && grep -c XRAY_HAS link.h > /dev/null && [ ! -L link.h ]
precious
$ xray header $TOP/tests/data/icelake.json -o h.h && grep -c XRAY_HAS h.h > /dev/null && ls
h.h
link.h
$ (ulimit -f 1; echo old > o.h; xray header $TOP/tests/data/icelake.json -o o.h; echo $?; cat o.h; ls -A)
2| xray: cannot write o.h: File too large
2
old
h.h
link.h
o.h
$ [ ! -e /dev/full ] || { xray header $TOP/tests/data/icelake.json -o /dev/full; [ -c /dev/full ]; }
2| xray: cannot write /dev/full: No space left on device
$ rm *.h; mkdir rec; echo victim > victim; ln -s ../victim rec/machine.ini; ln -s ../victim rec/readings.jsonl; xray --target $TOP/machines/p6.ini timer --record rec > /dev/null && cat victim && xray --target rec timer > /dev/null
victim
$ mkdir keep; k() { xray time 'p0 = p0 + p1' --type i16 --no-cache --keep keep > /dev/null; s=$?; case $s in 0|1|4) ;; *) echo $s ;; esac; }; k; for f in keep/*; do rm $f; ln -s ../victim $f; done; k; find keep -type f | grep -q . && cat victim
victim

# Text from outside does not steer the terminal, whichever way it comes.
$ printf '{"schema": 1, "target": {"name": "n\\u009b2J", "cpu": "\\u001b]0;x\\u0007", "os": "\\u0085", "date": "\\u009d"}, "facts": {"a.b": {"status": "ok", "value": 3, "unit": "u\\u009b", "confidence": 1, "method": "m\\u001b", "reason": "r\\u0090"}, "a.c": {"status": "failed", "reason": "\\u001b[2J"}, "a.d": {"status": "ok", "value": "\\u0080\\u009f", "claimed": "\\u009b"}}}' > evil.json; for c in 'show' 'show -v' 'show -f' 'show -fv' check 'check --all' header; do xray $c evil.json 2>&1; done > said; xray diff evil.json $TOP/tests/data/icelake.json --all >> said 2>&1; wc -l < said | grep -q '[0-9][0-9]' && LC_ALL=C tr -d '\n\040-\176' < said | LC_ALL=C sed 's/\xc2[\xa0-\xbf]//g; s/\xe2[\x80-\xbf][\x80-\xbf]//g; s/\xc3[\x80-\xbf]//g; s/\xce[\x80-\xbf]//g' | od -c | head -3
0000000
$ printf '{"\033[2J": \0333}' > bad.json; xray show bad.json
2| xray: bad.json:1: not JSON: *
? 2
$ xray show "$(printf 'no\033[2Jsuch\302\233')" ; xray "$(printf 'ca\033[2Jche')"; xray time "$(printf 'p0 = \033[2J')" --target $TOP/machines/p6.ini
2| xray: cannot read no\x1b[2Jsuch\u{9b}: No such file or directory
2| xray: * 'ca\x1b[2Jche'*
2| xray: *\x1b[2J*
? 2
$ printf '#!/bin/sh\nprintf "\\033[2Jerror: \\302\\233 no\\n" >&2; exit 1\n' > cc; chmod +x cc; xray --cc ./cc --no-cache timer
2| xray: the compiler './cc' cannot compile the agent: \x1b[2Jerror: \u{9b} no
? 3
$ printf '#!/bin/sh\nprintf "\\033[2Jwhat\\n" >&2; exit 9\n' > runner; chmod +x runner; xray --runner ./runner --cache-dir c timer
2| xray: the agent does not answer behind the runner ./runner: exited with status 9: \x1b[2Jwhat
? 3
$ sed 1q rec/readings.jsonl > one; printf '{"spec": "clock", "reading": {"status": 2, "reason": "\\u001b[2J\\u009b"}}\n' | cat one - > rec/readings.jsonl; xray --target rec timer -v 2>&1 | LC_ALL=C grep -c "$(printf '[\033\233]')"
0
? 1

# What is no program is not handed to a shell, and is not kept.
$ printf '#!/bin/sh\nwhile [ $# != 0 ]; do [ "$1" != -o ] || { echo "touch shell" > "$2"; chmod +x "$2"; }; shift; done\n' > text-cc; chmod +x text-cc; xray --cc ./text-cc --cache-dir c timer; ls shell c/*.exe 2> /dev/null
2| xray: cannot run '*.exe': it is no program
? 2
$ printf 'touch shell\n' > no-program; chmod +x no-program; xray --runner ./no-program --cache-dir c timer; [ ! -e shell ]
2| xray: cannot run './no-program': it is no program

# Nothing without end is waited for.
$ timeout 60 xray --target /dev/zero timer
2| xray: cannot read /dev/zero: it is no file
? 2
$ mkfifo fifo; timeout 60 xray --target fifo --budget 1s timer
2| xray: cannot read fifo: *
? 2
$ printf '[target]\nkind = recorded\nreadings = /dev/zero\n' > zero.ini; timeout 60 xray --target zero.ini timer
2| xray: cannot read the recording /dev/zero: it is no file
? 2
$ cat $TOP/machines/p6.ini | xray --target /dev/stdin timer.resolution
*timer.resolution*
$ printf '#!/bin/sh\nexec >&- 2>&-\nsleep 100\n' > hang; chmod +x hang; timeout 60 xray --cc ./hang --budget 1s timer
2| xray: the compiler './hang' did not answer: the time allowed was used up
? 3
$ printf '#!/bin/sh\ncase "$*" in *-dM*|*print*) exec cc "$@";; esac\nexec >&- 2>&-\nsleep 100\n' > hang; timeout 60 xray --cc ./hang --budget 2s --no-cache timer
2| xray: *the time allowed was used up
? 3

$ mkfifo unread; timeout 60 xray header $TOP/tests/data/icelake.json -o unread
2| xray: cannot write unread: nobody reads it
? 2
$ mkfifo golden; timeout -s INT -k 30 1 xray check --against golden --target $TOP/machines/p6.ini; [ $? = 124 ]

# Every word of a runner counts.
$ printf '#!/bin/sh\n[ $# -ge 80 ] || exit 9\nwhile [ "$1" = x ]; do shift; done\nexec "$@"\n' > many; chmod +x many; xray --runner "./many $(yes x | head -90 | tr '\n' ' ')" --cache-dir c timer.resolution
*timer.resolution*

# Nothing is left behind: not after a signal, and what a killed run left is swept by the next.
$ mkdir tmp; for s in HUP TERM INT; do TMPDIR=$PWD/tmp xray --quiet --cache-dir c op > out 2> err & p=$!; for i in $(seq 1200); do [ -z "$(ls tmp)" ] || break; sleep 0.05; done; kill -$s $p; wait $p; ls tmp; done; echo done
done
$ (TMPDIR=$PWD/tmp xray --quiet --cache-dir c op > out 2> err & p=$!; for i in $(seq 1200); do [ -z "$(ls tmp)" ] || break; sleep 0.05; done; kill -9 $p; wait $p) 2> /dev/null; ls tmp | wc -l; TMPDIR=$PWD/tmp xray --cache-dir c --quiet timer.resolution > /dev/null; ls tmp
1
$ xray clear-cache --cache-dir c; ls c
* files, * KiB removed

# Machines that leave a program no time are no machines; one that takes its time is stopped like the others.
$ printf '[noise]\ninterrupts_hz = 100000\ninterrupt_us = 20\n' | sed '/^\[noise\]/,$d' - > /dev/null; sed '/^\[noise\]/,$d' $TOP/machines/p6.ini > busy.ini; printf '[noise]\ninterrupts_hz = 100000\ninterrupt_us = 20\n' >> busy.ini; timeout 60 xray --target busy.ini timer
2| xray: busy.ini:*: [noise] interrupts and migrations leave the program no time: they last 2.6 s a second
? 2
$ timeout 60 xray --target $TOP/machines/server.ini --budget 1s --quiet > out; echo $?
1

# A directory's name is text from outside, too.
$ xray target init "$(printf 'b\033[2J\302\233')" | LC_ALL=C grep -c "$(printf '[\033\233]')"
0
? 1
