# SPDX-License-Identifier: MIT
# Five architectures under qemu's user-mode emulation: the code is the target's, the time is not.
. tests/targets/lib.sh

try() { # NAME REGISTERS_INT REGISTERS_F32 REGISTERS_F64 FMA LONG ORDER TRIPLE
	json=$TMPDIR/$1.json
	"$XRAY" --target "targets/qemu-$1.ini" --json "$json" --quiet > "$TMPDIR/$1.log" 2>&1
	result "$1: runs to its end" "$([ -s "$json" ] && echo 0 || echo 1)" "$TMPDIR/$1.log"
	[ -s "$json" ] || return
	expect "$1" "$json" registers.int "$2"
	expect "$1" "$json" registers.f32 "$3"
	expect "$1" "$json" registers.f64 "$4"
	expect "$1" "$json" isa.fpu.f64 1
	expect "$1" "$json" isa.fma.f64 "$5"
	says "$1" "$json" "long $6"
	says "$1" "$json" "$7 endian"
	says "$1" "$json" "\"triple\": \"$8\""
	says "$1" "$json" '"emulated": true'
	"$XRAY" show "$json" cpu.frequency | grep -q 'emulated, no timing model'
	result "$1: times are unsupported, with the reason" $?
	! grep -q '"cache[^"]*": {"status": "ok"' "$json"
	result "$1: no fact of time is given" $?
	"$XRAY" check "$json" > /dev/null 2> "$TMPDIR/$1.check"
	result "$1: check reads it" "$([ $? -le 1 ] && echo 0 || echo 1)" "$TMPDIR/$1.check"
}

# name, registers the compiler gives, fused multiply-add, size of long, byte order
try aarch64 30 32 32 1 64 little aarch64-linux-gnu
try riscv64 27 32 32 1 64 little riscv64-linux-gnu
try ppc64le 29 64 64 1 64 little powerpc64le-linux-gnu
try armhf 13 32 16 0 32 little arm-linux-gnueabihf
try s390x 13 16 16 1 64 big s390x-linux-gnu

# The target file has the last word.
sed 's/^\[target\]/&\ntiming = yes/' targets/qemu-riscv64.ini > "$TMPDIR/timed.ini"
"$XRAY" --target "$TMPDIR/timed.ini" --json "$TMPDIR/timed.json" --quiet timer > /dev/null 2>&1
[ -n "$(fact "$TMPDIR/timed.json" timer.resolution)" ]
result 'timing = yes: times are believed' $?
