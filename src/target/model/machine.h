/* SPDX-License-Identifier: MIT */
/* A machine whose every answer is known: what a machine file says, as data.
 *
 * The file format is the manual page docs/machines.md. A struct xr_machine owns nothing and points nowhere outside
 * itself, so it can be copied by assignment; tests change a field and go on.
 */
#ifndef XR_TARGET_MODEL_MACHINE_H
#define XR_TARGET_MODEL_MACHINE_H

#include "infer/index.h"
#include "infer/policy.h"
#include "nano/ops.h"
#include "util/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	XR_MACHINE_NAME = 48,
	XR_MACHINE_UNITS = 16,
	XR_MACHINE_CACHES = 8,
	XR_MACHINE_TLBS = 6,
	XR_MACHINE_BTBS = 4,
	XR_MACHINE_WALK = 6,   /* levels of a page table */
	XR_MACHINE_CORES = 1024,
};

enum xr_holds { XR_HOLDS_DATA = 1, XR_HOLDS_CODE = 2, XR_HOLDS_BOTH = 3 };
enum xr_inclusion { XR_INCLUSION_NONE, XR_INCLUSIVE, XR_EXCLUSIVE };
enum xr_index { XR_VIRTUAL, XR_PHYSICAL };
enum xr_placement { XR_PLACE_RANDOM, XR_PLACE_CONTIGUOUS, XR_PLACE_RUNS };
enum xr_pages { XR_PAGES_BOTH, XR_PAGES_SMALL, XR_PAGES_HUGE };
enum xr_lies { XR_LIES_NONE, XR_LIES_ZERO, XR_LIES_SCALED, XR_LIES_RANDOM, XR_LIES_SWAPPED };

extern const char *const xr_inclusion_names[]; /* by enum xr_inclusion; NULL ends */
extern const char *const xr_holds_names[];     /* as the next ones, by their enum */
extern const char *const xr_placement_names[];
extern const char *const xr_pages_names[];
extern const char *const xr_lies_names[];

/* Sections that are there once: where they begin in the file, for complaints. */
enum xr_machine_section {
	XR_IN_CPU,
	XR_IN_REGISTERS,
	XR_IN_PAGE,
	XR_IN_WALK,
	XR_IN_CODE,
	XR_IN_DECODED,
	XR_IN_BRANCH,
	XR_IN_THREADS,
	XR_IN_COUNTERS,
	XR_IN_NOISE,
	XR_N_SECTIONS
};
extern const char *const xr_section_names[]; /* NULL ends */

struct xr_machine_unit {
	char name[16];
	int count;
};

struct xr_machine_op {
	bool there;
	double latency, busy;
	char unit_name[16]; /* "": the default for the operation */
	int unit;           /* index into units */
	int line;           /* of its section in the file; 0: not from a file */
};

struct xr_machine_cache {
	char name[16];
	int holds;           /* enum xr_holds, as the next ones: int, for the table of keys */
	uint64_t capacity, line_bytes;
	uint64_t ways;       /* 0: full */
	double latency;
	int policy, write_allocate, write_back, index, inclusion, hash;
	int rival, leaders;  /* adaptive: the policy that policy duels with (0: none), and the sets that each leads */
	int modulo;          /* the set is the line's number modulo the sets, however many */
	int slices;          /* 0: not sliced; else the sets are dealt to so many slices */
	struct xr_index_bits slice_bits; /* bits of the slice's number; none: a hash that nobody knows */
	struct xr_index_bits index_bits; /* bits of the set's number; none: plain */
	struct xr_index_bits way_bits;   /* tag of the way predictor, of virtual addresses; none: no predictor */
	double same_set_cycles;          /* more for a miss in the set of the access before */
	int shared_by;
	double bandwidth;      /* bytes a cycle that it gives to the nearer level; 0: as much as is asked for */
	int misses;            /* of it in flight; 0: as many as [memory] says */
	double neighbours_gbs; /* that others, not simulated, bring in all the time */
	int line;
};

struct xr_machine_tlb {
	char name[16];
	int holds;
	uint64_t entries, ways; /* ways 0: full */
	double penalty;
	int policy;
	int walks; /* the last one: page walks in flight; 0: as many as misses */
	int fold; /* the set is the exclusive or of the two lowest fields of the page number */
	struct xr_index_bits index_bits; /* bits of the set's number, from those of the page's; none: plain */
	int coalesce;       /* neighbouring pages, neighbours in memory, that one entry covers; 0 as 1 */
	int pages;          /* enum xr_pages: that it translates */
	uint64_t huge_ways; /* of the ways, those of huge pages alone; 0: all are everybody's */
	uint64_t code_ways; /* of the ways, those that code may have; 0: all */
	int line;
};

/* A level of jump targets. */
struct xr_machine_btb {
	char name[16];
	uint64_t entries, ways; /* ways 0: full */
	double cycles;          /* more for a foreseen jump whose target is found here */
	int shift;              /* lowest address bit of the index, and of the tag */
	struct xr_index_bits index_bits; /* none: plain */
	int line;
};

enum { XR_CLASS_INT, XR_CLASS_FP, XR_N_CLASSES };

struct xr_machine {
	char name[XR_MACHINE_NAME];

	double mhz;
	int width;
	struct xr_machine_unit unit[XR_MACHINE_UNITS];
	int n_units;
	double unit_left;            /* share of shared units that a sibling leaves; 0: all */
	double timer_ns, timer_cost_ns;
	double timer_spread;         /* relative, of the cost of a look */
	int value_prediction;        /* nobody waits for loads whose addresses follow a constant step */
	double vector_mhz, vector_ms; /* clock while wide vectors run and so long after; 0: the same */
	int vector_from;             /* bytes of a wide vector */

	int registers_int, registers_fp, registers_vector;
	int vector_bytes;
	double spill_cycles;

	struct xr_machine_op class_op[XR_N_OPS][XR_N_CLASSES];
	struct xr_machine_op type_op[XR_N_OPS][XR_N_TYPES];
	int fma_said[XR_N_SCALARS], fma[XR_N_SCALARS]; /* [fma] says something about the type, and what */
	double emulated[XR_N_SCALARS];                 /* cycles; 0: not emulated */

	struct xr_machine_cache cache[XR_MACHINE_CACHES];
	int n_caches;
	struct xr_machine_tlb tlb[XR_MACHINE_TLBS];
	int n_tlbs;

	double memory_latency, bandwidth_gbs;
	int parallelism;
	uint64_t memory_bytes;

	uint64_t page_bytes, huge_bytes; /* 0: none */
	int placement, resizing;
	double resizing_ms;
	uint64_t run_pages;              /* that lie in a row, where placement is runs */
	uint64_t host_bytes;             /* pages of the host below; 0: there is none */

	int walk_levels;                 /* of the page table; 0: a walk is the last TLB's penalty and nothing else */
	double walk_step;                /* cycles of a step that reads no cache */
	char walk_tables[16];            /* cache that keeps lines of the table, with all behind it; "": a step takes walk_step */
	int walk_entry_bits, walk_bits;  /* of an entry; of its number in a table (0: what fits a page) */
	uint64_t walk_cache[XR_MACHINE_WALK]; /* entries of the walk caches, from the level above the last on; 0: none */

	int prefetch_adjacent, prefetch_stride, prefetch_stream;
	int prefetch_code;
	int prefetch_distance;
	uint64_t prefetch_temporal;      /* misses in a row that are remembered with who came next; 0: none */
	int prefetch_code_lines;         /* next lines that a miss of code brings along */

	int lines_ahead, pages_ahead;    /* lines and translations of foreseen code that are fetched at once */
	double decode;                   /* statements decoded in a cycle; 0: no limit but width */
	uint64_t decoded_ops, decoded_ways, decoded_window; /* cache of decoded code; 0: none */
	int decoded_per_line, decoded_inclusive, decoded_index;
	struct xr_machine_btb btb[XR_MACHINE_BTBS];
	int n_btbs;
	double btb_miss;                 /* cycles of a foreseen jump that no btb knows */
	uint64_t learns;                 /* jumps of a fixed order that are foreseen at most; 0: any number */

	int cores, smt, nodes;
	uint32_t shared_units; /* bit per unit */
	char shared_names[128];
	double near_ns, far_ns;
	char second[128];      /* file of the machine that the cores of another type are like; "": all cores are alike */

	double timeslice_ms, switch_us;
	double tick_ms; /* 0: no clock shows it */
	double mispredict;
	int counters;
	int lies; /* enum xr_lies */
	int section_line[XR_N_SECTIONS];

	/* noise */
	double jitter, interrupts_hz, interrupt_us, drift;
	double preempt_hz, preempt_ms;   /* somebody else takes the CPU: so often, so long */
	double step, step_ms;            /* the clock changes by up to ±step every step_ms or so */
	double ramp, ramp_ms;            /* starts slower by ramp, comes up over ramp_ms */
	double low;                      /* share of samples that read impossibly quick (up to 10 %) */
	double sibling, sibling_ms;      /* share of time that the other thread is busy, about so long at once */
	double sibling_takes;            /* of first caches, first TLBs and shared units, while it is there */
	double migrate_hz, migrate_us;   /* a hypervisor moves the CPUs: so often, and that takes so long */
};

/* Everything at its default: no cache, no TLB, no operation. */
void xr_machine_init(struct xr_machine *machine);

/* One more level, behind those there are; whatever else it has is left ordinary. */
struct xr_machine_cache *xr_machine_add_cache(struct xr_machine *m, const char *name, int holds, uint64_t ways,
                                              uint64_t sets, uint64_t line, double latency, int policy, int index);
void xr_machine_add_tlb(struct xr_machine *m, const char *name, int holds, uint64_t entries, uint64_t ways,
                        double penalty, int policy);

/* Reads a file, or a text of `bytes` bytes (`name` stands for the file in errors). Errors are "NAME:LINE: reason" with
 * XR_EXIT_USE. */
int xr_machine_read(struct xr_machine *machine, const char *path, struct xr_error *err);
int xr_machine_parse(struct xr_machine *machine, const char *name, const char *text, size_t bytes, struct xr_error *err);

/* Resolves names and checks what single keys cannot: called by the readers, and by who builds a machine by hand. */
int xr_machine_check(struct xr_machine *machine, const char *name, struct xr_error *err);

/* The cost of an operation on a type, or NULL when the machine has no such operation. Vectors: the cost of one native
 * piece (see xr_machine_pieces). FMA only where [fma] or a section allows it. */
const struct xr_machine_op *xr_machine_op(const struct xr_machine *machine, enum xr_op op, enum xr_type type);
/* How many native registers a value of this type takes: 1, more when wider than the machine's vectors, 0: the machine
 * has no such values. */
int xr_machine_pieces(const struct xr_machine *machine, enum xr_type type);
int xr_machine_unit(const struct xr_machine *machine, const char *name); /* index or -1 */

bool xr_machine_replaces_data_randomly(const struct xr_machine *machine); /* any cache or TLB that holds data */
bool xr_machine_has_neighbours(const struct xr_machine *machine);    /* any cache */
uint64_t xr_machine_sets(const struct xr_machine_cache *cache);
uint64_t xr_machine_ways(const struct xr_machine_cache *cache);   /* full: all lines */
uint64_t xr_machine_tlb_ways(const struct xr_machine_tlb *tlb);   /* full: all entries */

/* A machine with caches divided by `by`, a power of two: large experiments over places `stride` apart are made
 * small with it. Pages shrink, too, so that there are as many as before for TLBs as large as before, as long as a
 * page has many places; what is left then divides TLBs. Neighbours stay as quick: what is divided takes that part
 * of the time. */
struct xr_machine xr_machine_scaled(const struct xr_machine *machine, uint64_t by, uint64_t stride);

/* What is left of a machine for one thread of a core while the other is busy: of first caches and TLBs. */
struct xr_machine xr_machine_beside(const struct xr_machine *machine);

#endif
