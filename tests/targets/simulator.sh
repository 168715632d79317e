# SPDX-License-Identifier: MIT
# A cycle-level simulator that knows nothing of X-Ray (tests/targets/sim), met through --cc and --runner alone: no target file, no
# word about clock or speed. Its caches, TLBs and latencies must come out exactly, and within so many simulated instructions
# that a simulator of a million a second is done in ten minutes; the first data cache alone in one.
. tests/targets/lib.sh

cc -O3 -std=gnu11 -Wall -Wextra -Werror -o "$TMPDIR/sim" tests/targets/sim/*.c -lm 2> "$TMPDIR/sim.log"
result 'the simulator builds' $? "$TMPDIR/sim.log"

# word KEY CONFIG...: the value of this key, fields apart
word() {
	key=$1
	shift
	for setting; do [ "${setting%%=*}" = "$key" ] && echo "${setting#*=}" | tr ':' ' '; done | tail -n 1
}
bytes() { case $1 in *K) echo $((${1%K} * 1024)) ;; *) echo "$1" ;; esac; }

cache() { # NAME ID SIZE WAYS LINE LATENCY
	expect "$1" "$json" "cache.$2.capacity" "$(bytes "$3")"
	expect "$1" "$json" "cache.$2.ways" "$4"
	expect "$1" "$json" "cache.$2.line" "$5"
	[ "$2" = l1i ] || near "$1" "$json" "cache.$2.latency" "$6"
}
tlb() { # NAME ID ENTRIES WAYS PENALTY
	expect "$1" "$json" "tlb.$2.entries" "$3"
	expect "$1" "$json" "tlb.$2.ways" "$4"
	near "$1" "$json" "tlb.$2.penalty" "$5"
}
# millions of instructions that the simulators of this run have done
spent() { cat "$TMPDIR/$1.stats."* | awk '{sum += $1} END {printf "%d\n", sum / 1e6}'; }
measure() { # NAME CONFIG FACT...
	name=$1 config=$2
	shift 2
	json=$TMPDIR/$name.json
	"$XRAY" --cc riscv64-linux-gnu-gcc --cflags '-O2 -static' --runner "$TMPDIR/sim $config stats=$TMPDIR/$name.stats" \
		--json "$json" --quiet "$@" > "$TMPDIR/$name.log" 2>&1
	[ -s "$json" ]
	result "simulator $name: runs to its end" $? "$TMPDIR/$name.log"
}

machine() { # NAME CONFIG: everything of its data and code side
	measure "$1" "$2" cache_l1d cache_outer memory.latency tlb.d1.entries icache itlb
	who="simulator $1"
	set -- "$1" "$2" $2
	shift 2
	# shellcheck disable=SC2046 # fields
	{
		cache "$who" l1d $(word l1d "$@")
		cache "$who" l1i $(word l1i "$@")
		next=$(word memory "$@") levels=1
		if [ "$(word l2 "$@")" != 0 ]; then
			cache "$who" l2 $(word l2 "$@")
			next=$(word l2 "$@" | cut -d ' ' -f 4) levels=2
		fi
		if [ -n "$(word l3 "$@")" ]; then
			cache "$who" l3 $(word l3 "$@")
			levels=3
		fi
		near "$who" "$json" cache.l1i.miss_penalty "$next"
		expect "$who" "$json" cache.levels "$levels"
		tlb "$who" d1 $(word dtlb "$@")
		tlb "$who" i1 $(word itlb "$@")
	}
	near "$who" "$json" memory.latency "$(word memory "$@")"
	millions=$(spent "$name")
	[ "$millions" -le 600 ]
	result "$who: ten minutes at a million instructions a second are enough ($millions s)" $?
}

# name, then what it has (tests/targets/sim/sim.h). No clock is slower than any machine simulates: it would be as quick as the wall's on
# some machine, and then nobody could tell it from a true one.
while read -r name config; do
	[ -n "$name" ] && machine "$name" "$config"
done << 'MACHINES'
odd l1d=12K:3:64:3 l1i=20K:5:64:1 l2=96K:6:64:14 dtlb=24:24:20 itlb=24:24:20 memory=90
sets l1d=20K:5:64:2 l1i=12K:3:64:1 l2=160K:10:64:11 dtlb=48:3:25 itlb=20:20:15 memory=70
trees l1d=24K:6:64:4:plru l1i=24K:6:64:1:plru l2=384K:12:64:16 dtlb=40:40:18 itlb=28:28:18 memory=110
third mode=scoreboard l1d=16K:4:64:4 l1i=16K:4:64:1 l2=256K:8:64:17 l3=1536K:12:64:41 dtlb=64:4:30 itlb=32:32:30 memory=150
fifo mode=scoreboard l1d=12K:3:64:5:fifo l1i=12K:3:64:1:fifo l2=192K:3:64:15:fifo dtlb=30:30:17:fifo itlb=12:12:9:fifo memory=77
shuffled pages=shuffled l1d=32K:8:64:4 l1i=32K:8:64:1 l2=320K:5:64:19 dtlb=36:36:24 itlb=36:36:24 memory=133
lines l1d=28K:7:128:3 l1i=14K:7:64:1 l2=448K:7:128:21 dtlb=56:7:31 itlb=14:14:31 memory=101 hz=666666667
modulo l1d=9K:3:64:3 l1i=18K:3:64:1 l2=72K:6:64:12 dtlb=21:3:22 itlb=18:3:22 memory=60
direct l1d=4K:1:64:2 l1i=4K:1:64:1 l2=64K:1:64:9 dtlb=8:8:12 itlb=8:8:12 memory=50
wide l1d=64K:16:64:4 l1i=64K:16:64:1 l2=1024K:16:64:18 dtlb=128:128:33 itlb=128:128:33 memory=200 hz=2.5e9
coarse l1d=32K:4:256:2 l1i=32K:4:256:1 l2=256K:4:256:9 dtlb=10:10:5 itlb=10:10:5 memory=44
foretold l1d=8K:2:32:1 l1i=8K:2:32:1 l2=48K:3:32:8 dtlb=12:3:15 itlb=12:3:15 memory=40 miss=9 taken=2 stores=stall dirty=9
large mode=scoreboard l1d=40K:5:64:5 l1i=24K:3:64:1 l2=640K:10:64:14 l3=2560K:20:64:44 dtlb=44:44:9 itlb=40:40:9 memory=180 taken=2 hz=3e9
behind l1d=16K:8:64:3 l1i=16K:8:64:1 l2=192K:6:64:14 dtlb=24:24:20 itlb=24:24:20 memory=90
MACHINES

# Random replacement is measured, too; what it hides is in doubt, never wrong and sure.
config='l1d=16K:4:64:3:random l1i=16K:4:64:1:random l2=128K:4:64:13:random dtlb=32:32:20:random itlb=32:32:20:random memory=95'
measure random "$config" cache_l1d icache itlb
# shellcheck disable=SC2046,SC2086 # fields
{
	cache 'simulator random' l1d $(word l1d $config)
	cache 'simulator random' l1i $(word l1i $config)
}
is=$(fact "$json" tlb.i1.entries)
[ -z "$is" ] || [ "$is" = 32 ]
result "simulator random: entries of the TLB for code are right or in doubt${is:+ ($is)}" $?

# Pages of which the system says nothing: what an entry covers is measured.
config='l1d=16K:4:64:3 l1i=16K:4:64:1 l2=128K:8:64:12 dtlb=32:4:20 itlb=32:32:20 memory=90 page=16K'
measure covers "$config" tlb.d1.entries tlb.d1.page
# shellcheck disable=SC2046,SC2086 # fields
tlb 'simulator covers' d1 $(word dtlb $config)
expect 'simulator covers' "$json" tlb.d1.page 16384

# A simulator that knows few system calls: no clock is told at once.
timeout 60 "$XRAY" --cc riscv64-linux-gnu-gcc --cflags '-O2 -static' --runner "$TMPDIR/sim memory=70 clock=counter" cache.l1d > "$TMPDIR/none.log" 2>&1
[ $? = 3 ] && [ "$(grep -c '^xray: ' "$TMPDIR/none.log")" = 1 ] && grep -q 'there is no clock' "$TMPDIR/none.log"
result 'simulator without a clock: is told so' $? "$TMPDIR/none.log"

measure first 'l1d=20K:5:64:2 memory=70' cache.l1d
millions=$(spent first)
[ "$millions" -le 60 ]
result "the first data cache alone: one minute at a million instructions a second is enough ($millions s)" $?
expect 'simulator first' "$json" cache.l1d.capacity 20480
says 'simulator first' "$json" '"clock": "simulated"'

# Runners as people write them: they say who they are, before and behind; they hand on no arguments; nothing
# reaches the program. Nothing is said of that to X-Ray.
cat > "$TMPDIR/talkative" << RUNNER
#!/bin/sh
echo "*** simulator 1.2 ***"
echo "hello, loading \$1"
printf 'run: '
"$TMPDIR/sim" l1d=20K:5:64:2 memory=70 "\$1"
echo "ended after 123 cycles"
RUNNER
printf '#!/bin/sh\necho begin\n"%s" l1d=20K:5:64:2 memory=70 "$1" < /dev/null\necho end\n' "$TMPDIR/sim" > "$TMPDIR/nothing-in"
chmod +x "$TMPDIR/talkative" "$TMPDIR/nothing-in"
for runner in talkative nothing-in; do
	json=$TMPDIR/$runner.json
	"$XRAY" --cc riscv64-linux-gnu-gcc --cflags '-O2 -static' --runner "$TMPDIR/$runner" --json "$json" --quiet cache.l1d \
		> "$TMPDIR/$runner.log" 2>&1
	result "runner $runner: runs to its end" $? "$TMPDIR/$runner.log"
	cache "runner $runner" l1d 20K 5 64 2
done

# The same without a word to it: experiments are baked into programs that read nothing and print their readings.
printf '#!/bin/sh\nexec "$@" < /dev/null\n' > "$TMPDIR/deaf"
chmod +x "$TMPDIR/deaf"
printf '[target]\nkind = exec\nname = baked\ntalks = no\ncc = riscv64-linux-gnu-gcc\ncflags = -O2 -static\nrunner = %s\n' \
	"$TMPDIR/deaf $TMPDIR/sim l1d=20K:5:64:2 memory=70" > "$TMPDIR/baked.ini"
json=$TMPDIR/baked.json
"$XRAY" --target "$TMPDIR/baked.ini" --json "$json" --quiet cache.l1d > "$TMPDIR/baked.log" 2>&1
result 'simulator baked: runs to its end' $? "$TMPDIR/baked.log"
cache 'simulator baked' l1d 20K 5 64 2
says 'simulator baked' "$json" '"clock": "simulated"'
