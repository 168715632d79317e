# SPDX-License-Identifier: MIT
# Any C compiler: tcc, the plain C89 form, musl, 32 bits. Nothing here looks at times.
. tests/targets/lib.sh

measure() { # NAME ARGUMENT...
	name=$1
	shift
	json=$TMPDIR/$name.json
	"$XRAY" --json "$json" --quiet "$@" > "$TMPDIR/$name.log" 2>&1
	result "$name: measures" "$(grep -q '"status": "ok"' "$json" 2> /dev/null && echo 0 || echo 1)" "$TMPDIR/$name.log"
}

# tcc has no atomics: threads are left out
printf '[target]\nkind = exec\nname = tcc\ncc = tcc\ncflags =\nthreads = no\n' > "$TMPDIR/tcc.ini"
measure tcc --target "$TMPDIR/tcc.ini" --quick timer frequency
measure switch --form switch --quick timer frequency
measure musl --cc musl-gcc --cflags '-O2 -static' --quick timer frequency

for flags in '-std=c89 -pedantic' '-std=c89 -pedantic -m32'; do
	case $flags in *-m32*) echo 'int main(void) { return 0; }' > "$TMPDIR/m.c"
		cc -m32 -o "$TMPDIR/m" "$TMPDIR/m.c" 2> /dev/null || continue ;;
	esac
	# shellcheck disable=SC2086
	cc $flags -Wall -Wextra -Werror -c -o "$TMPDIR/bare.o" src/agent/bare.c 2> "$TMPDIR/bare.log"
	result "the agent for boards is clean in $flags" $? "$TMPDIR/bare.log"
done

# The agent that talks, on 32 bits: built and run for Arm, by the compiler that the other tests use.
measure armhf --target targets/qemu-armhf.ini registers.int
expect armhf "$json" registers.int 13

