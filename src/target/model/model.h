/* SPDX-License-Identifier: MIT */
/* The model target from inside: what its files share. */
#ifndef XR_TARGET_MODEL_MODEL_H
#define XR_TARGET_MODEL_MODEL_H

#include "target/backend.h"
#include "target/model/clock.h"
#include "target/model/core.h"
#include "target/model/machine.h"
#include "target/model/mem.h"

struct xr_model;

/* A specification made ready. */
struct xr_job {
	const struct xr_spec *spec;
	struct xr_sim_work one; /* one operation, access, block … */
	double quantum;         /* operations come in multiples of this (a body of statements) */
	double long_ops, short_ops;
	double script_cycles;   /* of a repetition, timed */
	int type; /* of cores it runs on */
	/* Gives one sample its own way (scripts, clocks, slices); NULL: two lengths of `one`. */
	void (*sample)(struct xr_model *model, struct xr_job *job, struct xr_raw_list *list);
	void *own; /* of that function; malloc'ed, freed with the batch */
	void (*own_free)(void *own);
};

/* Cores of one type: CPUs from first_cpu on are a machine of their own, as far as cores and caches go. */
enum { XR_MODEL_TYPES = 2 };
struct xr_model_type {
	struct xr_machine machine;
	struct xr_mem *mem;
	struct xr_machine *beside; /* what is left of it beside a busy sibling, and its caches; NULL: there is none */
	struct xr_mem *beside_mem;
	int first_cpu, n_cpus;
};

struct xr_model {
	struct xr_target target;
	struct xr_model_type type[XR_MODEL_TYPES];
	int n_types;
	int cpu;                   /* where specifications without threads run */
	struct xr_machine machine; /* of the type at hand, see xr_model_enter() */
	struct xr_sim_clock clock;
	struct xr_rng rng; /* of everything that is not time: pages, replacement */
	uint64_t seed;
	struct xr_mem *mem; /* caches, TLBs, pages of that type */
	struct xr_job *job; /* of this batch */
	size_t n_jobs;
	double sample_ns;
	int samples; /* at most, of each; 0: as many as it takes */
	int *cpu_ids;
	struct xr_walked *walked; /* teams of walks seen before (team.c) */
	size_t n_walked;
	struct xr_flowed *flowed; /* the same for flows (flow.c) */
	size_t n_flowed;
	struct xr_rolled *rolled; /* and for walks (chain.c) */
	size_t n_rolled;
};

/* Each sets status, reason and look of the reading, and fills in the job. */
void xr_model_prepare_ops(struct xr_model *model, struct xr_job *job, struct xr_reading *out);
void xr_model_prepare_chain(struct xr_model *model, struct xr_job *job, struct xr_reading *out);
void xr_model_prepare_walk(struct xr_model *model, struct xr_job *job, struct xr_reading *out);
void xr_model_prepare_team(struct xr_model *model, struct xr_job *job, struct xr_reading *out);
void xr_model_prepare_flow(struct xr_model *model, struct xr_job *job, struct xr_reading *out);
void xr_model_forget_teams(struct xr_model *model);
/* turns.c: so many members on one CPU for a window: each run between two gaps is a sample. All in ns. */
void xr_model_sample_turns(struct xr_model *model, int rivals, double window, double gap, double ref,
                           struct xr_raw_list *list);
void xr_model_sample_ticks(struct xr_model *model, double window, double ref, struct xr_raw_list *list);
void xr_model_forget_flows(struct xr_model *model);
void xr_model_forget_chains(struct xr_model *model);

/* Helpers of theirs. */
void xr_model_find_sibling(struct xr_model *model, struct xr_job *job); /* what the job costs beside a busy one */
int xr_model_type_of(const struct xr_model *model, int cpu);
void xr_model_enter(struct xr_model *model, int type); /* machine and mem are those of this type from now on */
void xr_model_refuse(struct xr_model *model, struct xr_reading *out, enum xr_reading_status status, const char *format,
                     ...) __attribute__((format(printf, 4, 5)));
double xr_model_reference(struct xr_model *model);             /* ns of one reference operation, read now */
double xr_model_reference_around(double before, double after); /* of a sample between two readings of it */
void xr_model_sample_lengths(struct xr_model *model, struct xr_job *job, struct xr_raw_list *list);

uint64_t
xr_model_granule(const struct xr_machine *machine); /* of coherence; 0: cores share nothing they could fight for */

/* A target for a machine that is already in memory (tests, random machines). */
struct xr_target *xr_model_open_machine(const struct xr_machine *machine, uint64_t seed);
/* The same with cores of two types; the second one's CPUs follow the first one's. The OS and the noise are the
 * first's. */
struct xr_target *xr_model_open_hybrid(const struct xr_machine *machine, const struct xr_machine *second,
                                       uint64_t seed);

#endif
