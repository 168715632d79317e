# SPDX-License-Identifier: MIT
# Boards that misbehave: what each is at fails with the reason, the run goes on, nothing is left running. The board is the
# skeleton's (this machine), its wire a script that breaks it.
. tests/targets/lib.sh

"$XRAY" target init "$TMPDIR/board" > /dev/null
result 'xray target init writes a skeleton' $?
! "$XRAY" target init "$TMPDIR/board" > /dev/null 2>&1
result 'and does not write over it' $?

try() { # NAME WIRE STATUSES WORDS [FACTS]: with this script as the wire xray ends with one of these and says these words
	printf '#!/bin/sh\nprogram=$1\n%s\n' "$2" > "$TMPDIR/wire-$1"
	chmod +x "$TMPDIR/wire-$1"
	sed "s|^runner =.*|runner = $TMPDIR/wire-$1|" "$TMPDIR/board/target.ini" > "$TMPDIR/board/$1.ini"
	# shellcheck disable=SC2086 # a list of facts
	timeout 600 "$XRAY" --target "$TMPDIR/board/$1.ini" --json "$TMPDIR/$1.json" ${5:-timer op.add.i32} > "$TMPDIR/$1.log" 2>&1
	status=$?
	echo "$status" | grep -qx "$3" && grep -q "$4" "$TMPDIR/$1.log" "$TMPDIR/$1.json" 2> /dev/null
	result "$1: status $3, says '$4'" $? "$TMPDIR/$1.log"
}

# hello.elf of the first contact has no experiment: it gets through, so that the fault hits the measurement.
first='n=$(cat "$0.n" 2> /dev/null || echo 0); echo $((n + 1)) > "$0.n"; [ "$n" = 0 ] && exec "$program"'
try plain 'exec "$program"' '[014]' 'timer.resolution": {"status": "ok"'
try silent 'exit 0' 3 'said nothing'
try disconnects "$first"'
"$program" | head -n 4' 1 'the board stopped'
try garbles "$first"'
"$program" | sed "s/ 1/ 7/"' 1 'no sample\|garbled'
try noise "head -c 2000 /dev/urandom; exec \"\$program\"" '[014]' 'timer.resolution": {"status": "ok"'
try resets "$first"'
"$program" | head -n 5; exec "$program"' 1 'started again in the middle'
try crlf '"$program" | sed "s/\$/\\r/"' '[014]' 'timer.resolution": {"status": "ok"'
try no-runner 'exit 127' 3 'said nothing'
try no-memory "$first"'
ulimit -v 1000; exec "$program"' 1 'failed to map\|the board said nothing'
try hangs "$first"'
"$program" | head -n 4; exec sleep 1000' 1 'nothing on the console for 30 s' timer

# Does not fit: the linker refuses everything above some size.
cat > "$TMPDIR/small-cc" << 'CC'
#!/bin/sh
# a compiler for a board with little memory
cc "$@" || exit 1
for last; do [ "${previous-}" = -o ] && out=$last; previous=$last; done
case "$*" in *-dumpmachine* | *-E* | *-S* | *' -c '*) exit 0 ;; esac
[ "$(wc -c < "$out")" -lt 20000 ] || { rm -f "$out"; echo 'error: region ram overflowed' >&2; exit 1; }
CC
chmod +x "$TMPDIR/small-cc"
sed "s|^cc =.*|cc = $TMPDIR/small-cc|" "$TMPDIR/board/target.ini" > "$TMPDIR/board/small.ini"
timeout 600 "$XRAY" --target "$TMPDIR/board/small.ini" --json "$TMPDIR/small.json" --quiet timer op.add.i32 > "$TMPDIR/small.log" 2>&1
grep -q '"timer.resolution": {"status": "ok"' "$TMPDIR/small.json"
result 'out of memory: what fits is measured' $? "$TMPDIR/small.log"
gone "$TMPDIR/wire-"
result 'nothing is left running' $?

# Files that are none.
for line in 'speed = fast' 'talks = perhaps' 'colour = red' 'memory = 3X' 'clock = nowhere.h'; do
	printf '[target]\nkind = exec\n%s\n' "$line" > "$TMPDIR/bad.ini"
	"$XRAY" --target "$TMPDIR/bad.ini" timer > "$TMPDIR/bad.log" 2>&1
	[ $? = 2 ] && [ "$(wc -l < "$TMPDIR/bad.log")" = 1 ]
	result "a target file with '$line' is refused in one line" $? "$TMPDIR/bad.log"
done
