/* SPDX-License-Identifier: MIT */
/* The seam: time these specifications.
 *
 * A target is where nano-benchmarks run: this machine, another behind a runner, a model of a machine, a recording of
 * one. A control engine cannot tell which; it asks for readings and gets them.
 *
 * All specifications of one call are comparable: they were read interleaved, round after round, with a reference
 * chain beside them, so a burst of noise or a step of the clock hits them all alike. Compare readings of different
 * calls only in cycles.
 */
#ifndef XR_TARGET_TARGET_H
#define XR_TARGET_TARGET_H

#include "nano/spec.h"
#include "util/arena.h"
#include "util/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum xr_reading_status {
	XR_READ_OK,
	XR_READ_UNSUPPORTED,  /* this target has no such thing (no such operation, no executable memory, …) */
	XR_READ_FAILED,       /* did not compile, crashed, hung: reason in its own words */
};

/* What a look at the compiled loop shows (GNU toolchains; `looked` false elsewhere). Per statement of the body. */
struct xr_look {
	bool looked;
	double insns;       /* instructions */
	double stack_refs;  /* of them, that read or write the stack: spilled variables */
	double calls;       /* calls of library functions: software does the operation */
	double moves;       /* from register to register, or of nothing into one */
};

/* Event counts per operation, where the target has counters (xr_target_info.counters) and xr_effort.count asks
 * for them. Real machines: the least of eight runs, what counting itself takes off; of caches and TLBs only the
 * first level. */
enum { XR_EVENT_LEVELS = 8 };
struct xr_events {
	bool counted;
	bool no_cache, no_tlb; /* of what is counted, these are not */
	double cycles, insns;
	double cache_miss[XR_EVENT_LEVELS]; /* by level from the core outwards, as data, or as code for XR_WALK */
	double tlb_miss[XR_EVENT_LEVELS];
	double switches, faults; /* context switches, page faults */
};

struct xr_reading {
	enum xr_reading_status status; /* not OK: all numbers are NaN */
	const char *reason;   /* when not OK; lives as long as the target */
	bool refused;         /* FAILED because the compiler refused it: reason has its complaint */
	double ns, cycles;    /* per operation, access, jump…: 3rd lowest of 9 (about the lower quartile) */
	double median_ns, median_cycles;
	double spread;        /* (p50 - p10) / p25 of the samples: <= 1 % good, <= 5 % usable */
	double nonlinear;     /* |t(2 lengths) - t(1 length) - …|: relative misfit of time against length; > 3 %: suspicious */
	double cycle_ns;      /* the reference cycle read beside it */
	int samples, dropped;
	int n_disturbed;      /* of the samples: interrupted, or taken while somebody else had a part of the core */
	double waited_ns;     /* until nobody did (see xr_effort), for all specifications of the call together */
	const double *sample; /* the samples in cycles per operation (plain observations: in ns), in order of time; if
	                       * some are disturbed, these after the others, the worst last; lives until the next
	                       * call for the same target */
	bool bimodal;         /* samples fall into two modes more than 25 % apart (a busy sibling); the value is the fast one */
	bool disturbed;       /* most samples were taken while somebody else had a part of the core, and had to be used */
	struct xr_look look;
	double code_bytes;    /* XR_WALK: bytes of one block or statement; 0 elsewhere */
	double granule_ns;    /* XR_CLOCK: smallest step of the clock */
	struct xr_events events;
};

/* How much trouble to take. {0} means the target's defaults. */
struct xr_effort {
	int samples;      /* first this many rounds (default 9) */
	int samples_max;  /* more, for readings whose spread is above 1 %, up to this many (default 45) */
	double sample_ns; /* length of one sample (default: from the clock, 20..100 us) */
	bool hasty;       /* no waiting until nobody else uses the core: the answer does not hang on a few percent */
	bool count;       /* events, too, where they can be counted: XR_OPS, XR_WALK, endless XR_CHAIN */
	double quiet_ns;  /* XR_WALK, XR_CHAIN: wait so long, all in all, for moments in which nobody else uses the core */
};

/* What a target is, and what may be asked of it. */
struct xr_target_info {
	const char *kind;      /* "host", "exec", "simulated", "recorded" */
	const char *name;
	const char *cpu, *compiler, *cflags, *os; /* words for people; may be "" */
	const int *cpu_ids;    /* logical CPUs that threads may be pinned to */
	int n_cpus;
	int cpu_used;          /* that specifications without threads run on; -1: wherever the OS likes */
	double cpu_quota;      /* CPUs' worth of time allowed by a quota; 0: no limit */
	bool can_pin;
	uint64_t memory_bytes; /* that buffers may take altogether */
	uint64_t page_bytes;   /* granularity at which buffers are laid out, 0: no pages. For laying out, never an answer */
	bool has_flavour[2];   /* indexed by enum xr_flavour */
	bool no_compiler;      /* only what was compiled before can be timed: no operations of one's own */
	bool counters;
	const char *warning;   /* something the user should know (a cache that cannot be used); NULL: nothing */
	unsigned kinds;        /* bit (1u << enum xr_kind) for each kind that can be timed */
	const char *triple, *runner, *clock, *abi; /* words for people, too; NULL or "": nothing to say */
	bool emulated;         /* software plays the machine: a simulator with a clock of its own, or a translator */
	const char *unoptimised; /* the compiler does not optimise "code", what is measured, or "all": the agent, too; NULL: it does */
	const char *untimed;   /* why no time read here is the target's; NULL: times are */
	bool exact;            /* the clock is simulated and times repeat exactly: one sample is as good as many */
	int word_bytes;        /* that one instruction adds; 0: not known, as many as any type has */
	double mips;           /* millions of additions per second of the wall clock; 0: not known */
};

struct xr_target;

/* Times n specifications, out[i] for specs[i]. 0, or -1 when the target as a whole is lost (err says why). A
 * specification that fails is no error: its reading says so. effort may be NULL. */
int xr_target_time(struct xr_target *target, const struct xr_effort *effort, const struct xr_spec *specs, size_t n,
                   struct xr_reading *out, struct xr_error *err);

/* From now on whatever takes time (compiling, running, simulating) stops at end_s by xr_clock_s() (0: never), or
 * as soon as *interrupt is not 0 (NULL: never); what is being timed then is lost, with that as the error. */
void xr_target_until(struct xr_target *target, double end_s, const volatile int *interrupt);

const struct xr_target_info *xr_target_info(const struct xr_target *target);
void xr_target_spent(const struct xr_target *target, double *preparing_s, double *timing_s); /* compiling and alike; timing */
/* Specifications without threads run on this CPU from now on. -1: this target cannot (err is untouched when it never
 * can). */
int xr_target_move(struct xr_target *target, int cpu, struct xr_error *err);
/* Something new begins: a good moment to go on where others disturb less. */
void xr_target_settle(struct xr_target *target);
void xr_target_free(struct xr_target *target);

#endif
