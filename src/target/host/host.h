/* SPDX-License-Identifier: MIT */
/* A target that runs things, as its files see it. Inside the room only. */
#ifndef XR_TARGET_HOST_HOST_H
#define XR_TARGET_HOST_HOST_H

#include "target/backend.h"
#include "target/host/toolchain.h"
#include "util/proc.h"

enum { XR_HOST_CPUS = 4 };

struct xr_host {
	struct xr_target base;
	struct xr_toolchain tc;
	const char *runner;
	bool baked;
	int cpu;
	int cpus[XR_HOST_CPUS], n_cpus; /* where agents may go when they find no peace; 0: only there */
	struct xr_proc resident; /* the agent without generated code */
	struct xr_proc visitor;  /* the one with this batch's streams */
	const char *resident_program;
	double sample_ns; /* asked for by the user; 0: from the clock */
	double cost_ns, granule_ns;
	int repeats;        /* do times repeat exactly? -1: to be found out */
	int reference_adds; /* what the first agent found: the others must mean the same */
	double core_alone;  /* the same: what the core does while nobody else uses it */
	double patience_ns; /* left for waiting until that is so, of which this batch was given… */
	double given_ns;    /* … so much */
	double quiet_ns, quiet_all_ns; /* the same for code walks: of what the batch allows, left */

	/* the batch; streams stay ready after it, for they are often asked again */
	const struct xr_spec *specs;
	size_t n;
	uint64_t key;              /* of what was asked; 0: not to be asked again */
	struct xr_reading *outset; /* readings as they were when all was ready */
	bool count; /* events of this batch, still to be asked for */
	bool hasty;
	const char **lines;     /* what the agent is told for each specification; NULL: it takes no part */
	struct xr_strbuf works; /* lines of the works of teams */
	size_t n_works;
	bool *out_of_play; /* failed: not asked again */
	size_t *order;     /* agent's index -> ours */
	size_t n_order;
	const char *program;
	double batch_sample_ns;
	double window_ns; /* the longest window of a team in the batch */
	struct xr_raw_list *baked_samples;
};

/* The streams of the batch, those of teams included, each text once. */
struct xr_streams {
	struct xr_spec *spec;
	struct xr_compiled *compiled;
	const char **text;
	size_t n, room;
};

void xr_streams_collect(const struct xr_host *h, struct xr_streams *s, struct xr_arena *arena);
/* Writes lines[] of the host; what cannot be told is failed in out[]. After the streams were compiled. */
void xr_streams_tell(struct xr_host *h, struct xr_streams *s, struct xr_reading *out);
/* Bits of char, short, int, long, pointer, float and double, in words; and the bytes that one instruction adds. */
const char *xr_abi_words(struct xr_arena *arena, const int bits[7], const char *order);
int xr_abi_word(const struct xr_toolchain *tc, const int bits[7]);
void xr_reading_fail(struct xr_reading *out, enum xr_reading_status status, const char *reason);

#endif
