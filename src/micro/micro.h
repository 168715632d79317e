/* SPDX-License-Identifier: MIT */
/* A micro-benchmark: finds one group of facts. One file in this folder each, closed by its descriptor
 * `const struct xr_micro xr_micro_NAME` in NAME.c; make collects them, nothing else is edited.
 *
 * Its control engine sees this header, the statistics, the facts and the specifications, and nothing of the OS, the
 * compiler or the machine.
 */
#ifndef XR_MICRO_MICRO_H
#define XR_MICRO_MICRO_H

#include "facts/facts.h"
#include "nano/spec.h"
#include "target/target.h"
#include "util/arena.h"
#include "util/rng.h"

#include <stdbool.h>

struct xr_run;
struct xr_watch;

/* Beside kinds: also works where times are not the target's (xr_target_info.untimed), from compiled code. */
#define XR_WITHOUT_TIME (1u << 31)
/* The same: so much code of its own is asked for that no agent carries it ready-made; needs a compiler at hand. */
#define XR_WITH_COMPILER (1u << 30)

struct xr_micro {
	const char *id;            /* file name without .c */
	const char *title;         /* one line for `xray list` */
	const char *const *finds;  /* ids or patterns, NULL-terminated; `*` stands for one dotted word: "op.*.*.latency" */
	const char *const *needs;  /* what must come before, NULL-terminated; NULL: nothing. A micro-benchmark's id: it must
	                            * have run, whatever it found. A fact's id or pattern ("cache.l1d.line"): it must be
	                            * found, else this one does not run and its facts say so; of the micro-benchmark that
	                            * finds it only those facts are wanted */
	double cost_s;             /* about, on a 2020s machine, compiling one thing after the other included */
	bool by_pairs;             /* grows with the pairs of CPUs; cost_s is for 16 CPUs */
	unsigned kinds;            /* nano-benchmark kinds without which it cannot work: bits as in xr_target_info.kinds */
	const char *(*supported)(const struct xr_run *run); /* NULL: yes, or why not. May itself be NULL: always */
	int (*run)(struct xr_run *run);                     /* 0; -1 only when xr_run_time() said so */
	const char *(*word)(int i); /* the i-th of the words that `*` in finds stands for, NULL after the last. May itself be
	                             * NULL: any word */
	bool late;                 /* for people to look at: runs after all others, whatever it costs */
};

/* Times specifications, see xr_target_time(); cycles are true core cycles once `frequency` has run. 0; -1: stop now
 * and return -1 (interrupted, budget used up, target lost); facts put so far are kept. */
int xr_run_time(struct xr_run *run, const struct xr_spec *specs, size_t n, struct xr_reading *out);
int xr_run_time_with(struct xr_run *run, const struct xr_effort *effort, const struct xr_spec *specs, size_t n,
                     struct xr_reading *out);

/* For engines that think for long without asking. go_on: 0, or -1 as above. The watch is for what thinks
 * elsewhere: when it is over, thoughts end early and mean nothing, so go_on is asked after them. */
int xr_run_go_on(struct xr_run *run);
const struct xr_watch *xr_run_watch(const struct xr_run *run);

/* Where facts go, and where those found before are. */
struct xr_description *xr_run_description(struct xr_run *run);
double xr_run_number(const struct xr_run *run, const char *id, double otherwise);

bool xr_run_wants(const struct xr_run *run, const char *id); /* asked for, or needed by what was asked for */
bool xr_run_quick(const struct xr_run *run);                 /* --quick: fewer repetitions, wider error */
enum xr_oracle xr_run_oracle(const struct xr_run *run);      /* who is asked: the clock, counters, both */
const struct xr_target_info *xr_run_info(const struct xr_run *run);
uint64_t xr_run_room(const struct xr_run *run);              /* bytes that one buffer may have */
struct xr_arena *xr_run_arena(struct xr_run *run);           /* lives until this micro-benchmark returns */
struct xr_rng *xr_run_rng(struct xr_run *run);               /* seeded by --seed and the micro-benchmark's id */
void xr_run_progress(struct xr_run *run, double fraction, const char *what); /* of this micro-benchmark, 0..1 */
void xr_run_cycle(struct xr_run *run, double reference_cycles);
	/* `frequency` only: one reference operation takes this many core cycles (1 unless adds are folded or
	 * double-pumped) */

#endif
