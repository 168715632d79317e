# SPDX-License-Identifier: MIT
# Boards without an OS, that only print: AVR under simavr, which counts cycles; Cortex-M under QEMU, which counts
# instructions. Every number is exact.
. tests/targets/lib.sh

measure() { # NAME FACT...
	name=$1
	shift
	json=$TMPDIR/$name.json
	"$XRAY" --target "targets/$name.ini" --json "$json" --quiet "$@" > "$TMPDIR/$name.log" 2>&1
	result "$name: runs to its end" "$([ -s "$json" ] && echo 0 || echo 1)" "$TMPDIR/$name.log"
}

unsupported() { # NAME DESCRIPTION ID WORDS: the fact is unsupported, and says so in these words
	"$XRAY" show "$2" "$3" | grep -q "$4"
	result "$1: $3: $4" $?
}

measure avr frequency core_memory registers.int isa.fpu op.add.i8 op.add.i16 op.add.i32 op.mul.i8 cache.levels \
	cache.l1d.capacity tlb.d1.entries
expect avr "$json" cpu.frequency 16000000.0
expect avr "$json" op.add.i8.latency 1.0
expect avr "$json" op.add.i16.latency 2.0
expect avr "$json" op.add.i32.latency 4.0
expect avr "$json" op.mul.i8.latency 2.0
expect avr "$json" core.load_to_use 2.0
expect avr "$json" registers.int 25
expect avr "$json" isa.fpu.f32 0
expect avr "$json" cache.levels 0
unsupported avr "$json" cache.l1d.capacity 'no data cache'
unsupported avr "$json" tlb.d1.entries 'no pages'
says avr "$json" 'int 16, long 32, pointer 16'
says avr "$json" '"triple": "avr"'

measure cortex-m frequency core_memory registers.int isa.fpu op.add.i32 op.mul.i32 cache.levels
near cortex-m "$json" cpu.frequency 31250000 # the counter steps every 40 ns, an instruction takes 32
expect cortex-m "$json" op.add.i32.latency 1.0
expect cortex-m "$json" op.mul.i32.latency 1.0
expect cortex-m "$json" registers.int 13
expect cortex-m "$json" isa.fpu.f64 0
expect cortex-m "$json" cache.levels 0
says cortex-m "$json" '"triple": "arm-none-eabi"'
