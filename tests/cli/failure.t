# SPDX-License-Identifier: MIT
# What goes wrong outside of the program: one line, the documented exit status, nothing left behind.

$ xray --cc nonexistent timer
2| xray: cannot run the compiler 'nonexistent' *
? 3
$ xray --cc false --no-cache timer
2| xray: the compiler 'false' cannot compile *
? 3
$ xray --runner nonexistent timer
2| xray: cannot run 'nonexistent': *
? 3
$ xray --target none.ini
2| xray: cannot read none.ini: No such file or directory
? 2
$ xray --target $TOP/LICENSE
2| xray: *LICENSE:1: *
? 2
$ xray --target $TOP/machines/p6.ini timer --json none/such.json
2| xray: cannot write none/such.json: No such file or directory
? 2
$ xray --target $TOP/machines/p6.ini timer --json . 2>&1
xray: cannot write .: Is a directory
? 2
$ [ ! -e /dev/full ] || xray --target $TOP/machines/p6.ini timer --json /dev/full > /dev/null
2| xray: cannot write /dev/full: No space left on device
? 2
$ [ ! -e /dev/full ] || xray list > /dev/full
2| xray: cannot write standard output: No space left on device
? 2
$ echo file > file; xray --cache-dir file/cache timer
2| xray: cannot write to the cache file/cache: Not a directory; try --no-cache
? 2
$ XDG_CACHE_HOME=/dev/null/x xray --target $TOP/machines/p6.ini timer > /dev/null
$ XDG_CACHE_HOME=/dev/null/x xray timer.resolution > /dev/null
2| xray: cannot use the cache /dev/null/x/xray (*: Not a directory): compiling everything anew
2| ...
$ ls
file
