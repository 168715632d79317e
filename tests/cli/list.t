# SPDX-License-Identifier: MIT
# Every micro-benchmark, from its descriptor.

$ xray list timer
timer          cost and grain of the clock (about * s)
               finds timer.overhead timer.resolution
$ xray list cpu.frequency
frequency      * (about * s)
               finds cpu.frequency*
               needs timer
$ xray list nonsense
2| xray: no fact is called 'nonsense'; `xray list` shows what there is
? 2
$ xray list --man timer
.Bl -tag -width Ds
.It Cm timer
cost and grain of the clock; about * s.
Finds
.Li timer.overhead ,
.Li timer.resolution .
.El

# One entry for each file, or folder.
$ (cd $TOP/src/micro && ls -d *.c */) | sed 's|/$||; s|\.c$||' | LC_ALL=C sort > files; xray list | grep -oE '^[a-z]\w*' > listed; diff files listed
