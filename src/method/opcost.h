/* SPDX-License-Identifier: MIT */
/* Cost of one operation on one type: latency, throughput, operations in flight.
 *
 * Shared by the micro-benchmarks of scalar and of vector operations.
 */
#ifndef XR_METHOD_OPCOST_H
#define XR_METHOD_OPCOST_H

#include "micro/micro.h"

/* One operation: what it is, what was read of it, what was decided. */
enum { XR_OPCOST_READINGS = 5 };
struct xr_opcost {
	enum xr_op op;
	enum xr_type type;
	enum xr_flavour flavour;
	enum xr_values values;
	bool skip;                         /* not to be asked */
	int words;                         /* of the machine in one value of the type; 0: one */
	bool one_by_one;                   /* the machine does one instruction after the other: moves beside the operation are
	                                    * taken off */
	int n;                             /* readings; [0] is the lone chain */
	struct xr_reading reading[XR_OPCOST_READINGS];
	/* decided */
	bool ok;
	enum xr_status status;             /* when not ok */
	const char *reason;
	double latency, throughput;        /* cycles; latency without the extra operation of the chain */
	const struct xr_reading *alone, *best;
	double unrest;                     /* share of all readings that are not steady */
};

/* Reads all of them together: one batch compiles at once and is read interleaved. Sets n, reading, unrest. */
int xr_opcosts_time(struct xr_run *run, struct xr_opcost *cost, size_t n);

/* From readings to costs. extra_latency: of the operation that xr_op_extra() names, 0 where there is none. */
void xr_opcost_decide(struct xr_opcost *cost, double extra_latency);

/* Does the compiled loop hold what was asked for? NULL, or why not. */
const char *xr_opcost_objection(struct xr_arena *arena, const struct xr_opcost *cost, const struct xr_reading *reading);

/* Puts op.OP.T.latency, .throughput, .in_flight (suffix "", or e.g. "_max", "_native"). */
void xr_opcost_put(struct xr_run *run, const struct xr_opcost *cost, const char *suffix);
void xr_opcost_put_none(struct xr_run *run, const struct xr_opcost *cost, const char *suffix, enum xr_status status,
                        const char *reason);

#endif
