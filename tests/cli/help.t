# SPDX-License-Identifier: MIT
# Help goes to standard output; every command has its own.

$ xray --version
xray *
$ xray --help
Usage: xray [OPTION...] [FACT...]
       xray COMMAND [OPTION...] [OPERAND...]
...
Commands:
  measure [FACT...]      measure a machine (the default)
  list [FACT...]         every micro-benchmark: what it finds, what it needs, what it costs
  show FILE [FACT...]    print the report of a description
  header FILE            print a C header of a description
  time STATEMENT         latency, throughput and in-flight count of a C statement
  check [FILE]           measured against claimed, or against another description
  diff A B               what differs between two descriptions
  export FILE --to FORM  a description in a form that other programs read
  plot FILE [FACT]       draw a description: hierarchy, latency over size, core to core
  report FILE -o OUT     one page for a browser, with every chart, all in one file
  completion SHELL       print completion for bash, zsh or fish
  help [COMMAND]         help on a command
  version                the version
...
Exit status: 0 all asked-for facts found (check, diff: all agree); 1 some not found (or differ);
2 wrong use or bad input; 3 the target cannot be used; 4 measured but not trustworthy.
$ xray -h | head -n 1
Usage: xray [OPTION...] [FACT...]
$ xray time --help
Usage: xray time [OPTION...] STATEMENT
...
Latency, throughput and in-flight count of a C statement.
In 'p0 = p0 * p1 + p2', p0 is a variable of each stream's own, p1, p2, ... are constants shared by all.
...
  -T, --type TYPE        type of p0, p1, ...: i8 to i64, f32, f64, v16f32 to v64i32 [i32]
...
# Each command says what its own exit status means.
$ for c in measure check diff show; do xray $c --help | grep -A 1 '^Exit'; done
Exit status: 0 all asked-for facts found (check, diff: all agree); 1 some not found (or differ);
2 wrong use or bad input; 3 the target cannot be used; 4 measured but not trustworthy.
Exit status: 0 all agree; 1 some differ; 2 wrong use or bad input; 3 the target cannot be used;
4 measured but not trustworthy.
Exit status: 0 all agree; 1 some differ; 2 wrong use or bad input.
Exit status: 0 done; 2 wrong use or bad input.
$ for c in measure list show header time check diff export plot report completion help version; do xray $c --help > /dev/null || echo $c; done

# An option before the command is one after it.
$ xray --help header | head -n 1
Usage: xray header [OPTION...] FILE

# Every option of the manual is one of the program, and the other way round.
$ grep -o '^\.It Fl.*' $TOP/docs/xray.1 | grep -oE 'Fl -[a-z-]+' | sed 's/Fl -/--/' | sort -u > manual; for c in measure list show header time check diff export plot report completion help version; do xray $c --help; done | grep -oE '^  (-.,|   ) --[a-z-]+' | grep -oE '\-\-[a-z-]+' | sort -u > help; diff manual help
$ grep -oE '^\.It Cm [a-z]+' $TOP/docs/xray.1 | cut -d' ' -f3 | sort > manual; xray --help | sed -n '/^Commands/,/^$/p' | grep -oE '^  [a-z]+' | tr -d ' ' | sort > help; diff manual help

# Commands of their own for help and version.
$ xray help | head -n 1
Usage: xray [OPTION...] [FACT...]
$ xray help export | head -n 1
Usage: xray export [OPTION...] FILE --to FORM
$ xray help exprot
2| xray: no command is called 'exprot'; did you mean `xray help export`?
? 2
$ xray version
xray *

# The last of contradicting verbosity wins.
$ xray --target $TOP/machines/p6.ini timer --quiet --verbose 2>&1 > /dev/null | grep -c 'in all'
1
$ xray --target $TOP/machines/p6.ini timer --verbose --quiet 2>&1 > /dev/null

# The nearest word is suggested, fact or command.
$ xray chace
2| xray: no fact is called 'chace'; did you mean 'cache'?
? 2
$ xray chekc
2| xray: no command or fact is called 'chekc'; did you mean `xray check`?
? 2
