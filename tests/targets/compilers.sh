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

# tcc has no atomics: threads are left out. It has no optimiser: sizes are measured, what depends on variables in registers
# is in doubt, and says why: this, or what came before it on a busy machine (tests/unit/test_trust.c has the words).
measure tcc --cc tcc --cflags '' timer cache.l1d op.add.i64
says tcc "$json" '"unoptimised": "all"'
for id in op.add.i64.latency cache.l1d.latency cpu.frequency; do
	[ -z "$(fact "$json" "$id")" ] && grep "\"$id\": {" "$json" | grep -q '"reason": "[^"]'
	result "tcc: $id is in doubt, with a reason" $?
done
measure O0 --cflags -O0 timer op.add.i64
says O0 "$json" '"unoptimised": "code"'
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

# The tool itself, for another C library and for 32 bits: built whole and run where its libraries are there, else every file
# compiled (headers are the same for all).
mkdir -p "$TMPDIR/headers"
for header in jansson.h jansson_config.h ini.h hwloc.h hwloc; do
	for place in /usr/include "/usr/include/$(cc -print-multiarch 2> /dev/null)"; do
		[ -e "$place/$header" ] && cp -R "$place/$header" "$TMPDIR/headers/"
	done
done
for cc in musl-gcc 'cc -m32 -msse2 -mfpmath=sse'; do
	name=$(echo "$cc" | cut -d ' ' -f 1,2)
	echo 'int main(void) { return 0; }' > "$TMPDIR/m.c"
	$cc -o "$TMPDIR/m" "$TMPDIR/m.c" 2> /dev/null || { echo "ok targets: tool by $name # SKIP no such compiler"; continue; }
	if CC=$cc scripts/deps --check build 2> /dev/null; then
		make -s CC="$cc" CFLAGS=-O1 BUILD="$TMPDIR/other" PAGE="$TMPDIR/no-page" "$TMPDIR/other/xray" > "$TMPDIR/other.log" 2>&1 &&
			"$TMPDIR/other/xray" --target machines/p6.ini --quiet cache.l1d | grep -q 'capacity *16 KiB'
		result "tool by $name: builds and measures a simulated machine" $? "$TMPDIR/other.log"
		continue
	fi
	: > "$TMPDIR/other.log"
	for file in src/*/*.c src/*/*/*.c cli/*.c; do
		case $file in src/agent/bare.c | cli/absent.c) continue ;; esac
		$cc -std=c11 -D_GNU_SOURCE -DXR_VERSION='"0"' -Isrc -Iinclude -Isrc/agent -isystem "$TMPDIR/headers" \
			-idirafter /usr/include -idirafter "/usr/include/$(cc -print-multiarch)" \
			-Wall -Wextra -Werror -Wno-psabi -fsyntax-only "$file" 2>> "$TMPDIR/other.log" || echo "$file" >> "$TMPDIR/other.log"
	done
	! grep -q . "$TMPDIR/other.log"
	result "tool by $name: every file compiles" $? "$TMPDIR/other.log"
done

# The agent that talks, on 32 bits: built and run for Arm, by the compiler that the other tests use.
measure armhf --target targets/qemu-armhf.ini registers.int
expect armhf "$json" registers.int 13

