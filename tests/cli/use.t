# SPDX-License-Identifier: MIT
# Wrong use: one line that says what to do, exit status 2, nothing done.

$ xray lsit
2| xray: no command or fact is called 'lsit'; did you mean `xray list`?
? 2
$ xray cahce
2| xray: no fact is called 'cahce'; did you mean 'cache'?
? 2
$ xray timer op.add.i32.latncy
2| xray: no fact is called 'op.add.i32.latncy'; did you mean 'op.add.i32.latency'?
? 2
$ xray measure op.ad.i32
2| xray: no fact is called 'op.ad.i32'; did you mean 'op.add.i32'?
? 2
$ xray measure op.mull
2| xray: no fact is called 'op.mull'; did you mean 'op.mul'?
? 2
$ xray --josn x
2| xray: no option '--josn'; did you mean '--json'?
? 2
$ xray --entirely-different
2| xray: no option '--entirely-different'; `xray --help` lists them
? 2
$ xray -x
2| xray: no option '-x'; `xray --help` lists them
? 2
$ xray --json
2| xray: --json needs a value: --json FILE
? 2
$ xray --json=
2| xray: --json needs a FILE that is not empty
? 2
$ xray --quiet=yes
2| xray: --quiet takes no value
? 2
$ xray --oracle tea-leaves timer
2| xray: --oracle is 'time', 'counters' or 'both', not 'tea-leaves'
? 2
$ xray --quiet --oracle time --target $TOP/machines/p6.ini counters | grep -A1 only
  only times are asked (--oracle time)
    counters.usable *

# Options that contradict each other, or do not belong to the command.
$ xray --quick --budget 3s
2| xray: --quick and --budget contradict each other; leave one out
? 2
$ xray --no-cache --cache-dir x
2| xray: --no-cache and --cache-dir contradict each other; leave one out
? 2
$ xray list --json x
2| xray: `xray list` takes no --json; see `xray list --help`
? 2
$ xray check $TOP/tests/data/icelake.json --quick
2| xray: --quick is for measuring, but *icelake.json was measured already; leave one out
? 2

# Values that are none.
$ xray --budget abc
2| xray: --budget needs a time such as 30s or 2m, not 'abc'
? 2
$ xray --budget -3
2| xray: --budget needs a time such as 30s or 2m, not '-3'
? 2
$ xray --budget 0
2| xray: --budget needs a time such as 30s or 2m, not '0'
? 2
$ xray --sample 1parsec
2| xray: --sample needs a time such as 50us or 1ms, not '1parsec'
? 2
$ xray --cpu first
2| xray: --cpu needs a number from 0 on, not 'first'
? 2
$ xray --seed 1x
2| xray: --seed needs a number, not '1x'
? 2
$ xray --form verse timer
2| xray: --form is 'barrier' or 'switch', not 'verse'
? 2
$ xray time 'p0 = p0' --flavour salty
2| xray: --flavour is 'plain' or 'native', not 'salty'
? 2

# Too few words, too many.
$ xray show
2| xray: `xray show` needs FILE [FACT...]; see `xray show --help`
? 2
$ xray time
2| xray: `xray time` needs STATEMENT; see `xray time --help`
? 2
$ xray diff a
2| xray: `xray diff` needs A B; see `xray diff --help`
? 2
$ xray diff a b c
2| xray: `xray diff` takes A B, 'c' is too much
? 2
$ xray header
2| xray: `xray header` needs FILE; see `xray header --help`
? 2

# After -- everything is an operand.
$ xray -- --json
2| xray: no fact is called '--json'; *
? 2
