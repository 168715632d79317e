/* SPDX-License-Identifier: MIT */
/* What a kind of target must be able to do: behind the seam.
 *
 * A backend gives raw samples; target.c turns them into readings (overhead cancelled by two lengths, cycles by the
 * reference beside each sample, 3rd lowest of 9, more rounds where the spread is large). So the host and the model of
 * a machine go through the same statistics.
 */
#ifndef XR_TARGET_BACKEND_H
#define XR_TARGET_BACKEND_H

#include "target/target.h"
#include "util/watch.h"

/* One sample. Two lengths of the same work: time per operation is (long - short) / (long_ops - short_ops). Scripts
 * (chains of several phases), whose cost of looking at the clock is already taken off: short_ops = 0, short_ns = 0. For
 * XR_CLOCK, XR_SLICES and XR_TICKS long_ns is the observation itself and long_ops 1. */
struct xr_raw {
	double long_ns, long_ops;
	double short_ns, short_ops;
	double ref_ns;   /* one operation of the reference chain (dependent integer adds), read beside this sample */
	bool hit;        /* disturbed, known from the OS or by looking: dropped when enough others remain */
	int how_much;    /* … if that can be told: more is worse */
};

struct xr_raw_list {
	struct xr_raw *raw;
	size_t n, room;
};
void xr_raw_add(struct xr_raw_list *list, struct xr_raw raw); /* grows by malloc; released by target.c */

struct xr_backend {
	/* Whole readings instead of samples (recordings). NULL: the others are used. */
	int (*time)(struct xr_target *target, const struct xr_effort *effort, const struct xr_spec *specs, size_t n,
	            struct xr_reading *out, struct xr_error *err);
	/* Makes the specifications ready to be timed: compiles, lays out, calibrates repetitions. Sets status, reason,
	 * look, code_bytes, granule_ns of out[i]; those not XR_READ_OK take no part in the rounds. The specifications
	 * live until done(). */
	int (*prepare)(struct xr_target *target, const struct xr_effort *effort, const struct xr_spec *specs, size_t n,
	               struct xr_reading *out, struct xr_error *err);
	/* Adds to lists[idx[j]] one sample for each j < k in each of `rounds` interleaved rounds; order within a round
	 * is the backend's. A specification that fails now gets its out[] status set and no more samples. */
	int (*rounds)(struct xr_target *target, const size_t *idx, size_t k, int rounds, struct xr_raw_list *lists,
	              struct xr_reading *out, struct xr_error *err);
	void (*done)(struct xr_target *target); /* this batch is over; may be NULL */
	/* Goes on on another CPU; sets info.cpu_used. NULL: cannot. */
	int (*move)(struct xr_target *target, int cpu, struct xr_error *err);
	/* Goes to where others disturb least, before something new begins. NULL: does not matter. */
	void (*settle)(struct xr_target *target);
	void (*free)(struct xr_target *target); /* releases the backend's struct, target included */
};

/* First member of every backend's own struct. */
struct xr_target {
	const struct xr_backend *backend;
	struct xr_target_info info;
	struct xr_effort effort;      /* defaults for this target */
	struct xr_arena arena;        /* lives as long as the target: reasons, names */
	struct xr_arena samples;      /* reading.sample of the last call */
	struct xr_recorder *recorder; /* --record: NULL when off */
	struct xr_watch watch;        /* until when everything that takes time may take it */
	double timing_s, preparing_s; /* spent in rounds() and in prepare(), for --verbose */
};

void xr_target_init(struct xr_target *target, const struct xr_backend *backend);
void xr_target_deinit(struct xr_target *target); /* what xr_target_init() made; called by free() */

#endif
