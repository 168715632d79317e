/* SPDX-License-Identifier: MIT */
/* A small machine for tests: user-mode RV64GC, in order, with a timing model of caches, TLBs and latencies.
 *
 * It stands for the simulators that people have of their own, so it shares nothing with X-Ray: not a line, not a
 * type, not an idea of how a cache is described. X-Ray meets it through --cc and --runner alone.
 *
 *   sim [KEY=VALUE...] PROGRAM [ARGUMENT...]
 *
 *   l1d, l1i, l2, l3=SIZE:WAYS:LINE:LATENCY[:POLICY]   sizes as 12K; latency in cycles from the load to its use;
 *                                              policy lru (default), fifo, random, plru; SIZE / WAYS / LINE sets, any number;
 *                                              l2=0, l3=0: no such level
 *   memory=CYCLES                              of a load that misses everything
 *   dtlb, itlb=ENTRIES:WAYS:PENALTY[:POLICY]   the penalty of a miss; 0: none
 *   stlb=ENTRIES:WAYS:PENALTY[:POLICY]         second level of both; its penalty is that of a hit there
 *   mul, div, fp, fdiv, taken=CYCLES           latencies, and what a taken branch adds
 *   mode=stall|scoreboard                      a load stops the core until its data are there, or until they are used
 *   pages=same|shuffled                        physical pages: as virtual ones, or at random
 *   unified=caches|tlb|both                    code goes through the first data cache, the data TLB; l1i, itlb do not count
 *   stores=free|stall                          a store waits in a buffer that is never full, or for its line
 *   dirty=CYCLES                               of writing back a line of the first data cache that has to go
 *   walk=CYCLES|caches                         a page walk takes what dtlb and itlb say, or loads of three levels of tables
 *   miss=CYCLES                                of a branch foretold wrong, by a table of 512 two-bit counters; 0: none
 *   clock=fine|us|day|counter|wall             clock_gettime in ns, in whole us, not there (gettimeofday is; only
 *                                              rdcycle is), of this machine
 *   page=BYTES                                 of the TLBs
 *   writes=allocate|through                    a store that misses fetches its line, or goes on to the next level
 *   fills=both|inclusive|exclusive             the second level gets what the first gets; and what it loses, the first
 *                                              loses; or only what the first gives up
 *   ahead=no|yes                               a miss of the first data cache brings the next line, too
 *   window=N, width=N                          out of order: N in flight, N fetched in a cycle
 *   fetch=line|each                            the fetch unit looks up each line once, or every instruction
 *   speed=MIPS                                 no quicker than that
 *   hz=N                                       cycles of a second of the clock that programs see
 *   stats=FILE                                 FILE.PID gets a line: instructions and cycles
 */
#ifndef SIM_H
#define SIM_H

#include <stdint.h>

enum policy { LRU, FIFO, RANDOM, PLRU };

/* A set-associative array of tags: caches and TLBs. */
struct tags {
	uint64_t sets, ways, unit; /* unit: bytes of a line or a page */
	enum policy policy;
	int latency;
	uint64_t *tag;   /* [set * ways + way], 0: empty */
	uint64_t *stamp; /* of the last use (lru) or the fill (fifo) */
	uint32_t *tree;  /* plru, a bit for each inner node */
	uint8_t *dirty; /* of each line */
	uint64_t now, random;
};

struct timing {
	struct tags l1d, l1i, l2, l3, dtlb, itlb, stlb;
	int memory, walk_d, walk_i, mul, div, fp, fdiv, taken;
	int scoreboard, shuffled, one_cache, one_tlb, stall, write_back, walk_loads, miss;
	int through, inclusive, exclusive, next_line, each, window, width;
	uint64_t page;
	double speed;
	enum { CLOCK_FINE, CLOCK_US, CLOCK_DAY, CLOCK_COUNTER, CLOCK_WALL } clock;
	uint8_t predictor[512];
	double hz;
	uint64_t fetched;            /* line that the fetch unit holds */
	uint64_t cycle, ready[64];   /* when each register is there: integer ones, then those of the FPU */
	uint64_t instructions;
	uint64_t done[1024], retired, start; /* out of order: when each is done; all before; when this one has its operands */
};

struct cpu {
	uint64_t x[32], pc, fcsr, reserved;
	union {
		double d;
		float s;
		uint64_t bits;
		uint32_t low;
	} f[32];
	struct timing t;
	uint8_t *memory; /* guest address 0 */
	uint64_t brk, mapped;
	int ended, status, stats;
};

/* timing.c */
int timing_set(struct timing *t, const char *key, const char *value); /* 0: such a key there is */
void timing_fetch(struct timing *t, uint64_t pc);
void timing_load(struct timing *t, uint64_t address, int to);
void timing_store(struct timing *t, uint64_t address);
void timing_branch(struct timing *t, uint64_t pc, int taken);
void timing_drain(struct timing *t);
void timing_use(struct timing *t, int reg);               /* waits until it is there */
void timing_result(struct timing *t, int reg, int cycles); /* it will be, then */

/* execute.c */
void cpu_step(struct cpu *c);
uint32_t expand(uint16_t half); /* compressed.c: the instruction that it stands for; 0: none */

/* main.c */
void system_call(struct cpu *c);
void die(const struct cpu *c, const char *why);

enum { MEMORY_BITS = 32 };

#endif
