/* Cost of one operation on one type: latency, throughput, operations in flight.
 *
 * Shared by the micro-benchmarks of scalar and of vector operations.
 */
#ifndef XR_METHOD_OPCOST_H
#define XR_METHOD_OPCOST_H

#include "micro/micro.h"

enum { XR_OPCOST_SPECS = 6 };

/* The experiments for one operation: filled by make, read back by decide. */
struct xr_opcost {
	enum xr_op op;
	enum xr_type type;
	enum xr_flavour flavour;
	enum xr_values values;
	int n;                             /* experiments */
	const struct xr_spec *spec;        /* where they are in the batch: spec[0] is the lone chain */
	const struct xr_reading *reading;
	/* decided */
	bool ok;
	enum xr_status status;             /* when not ok */
	const char *reason;
	double latency, throughput;        /* cycles; latency without the extra operation of the chain */
	const struct xr_reading *alone, *best;
	double unrest; /* see xr_opcost_unrest() */
};

/* Writes the experiments for the operation to spec; returns their number, at most XR_OPCOST_SPECS. */
int xr_opcost_make(struct xr_spec *spec, enum xr_op op, enum xr_type type, enum xr_flavour flavour, enum xr_values values);

/* From readings to costs. extra_latency: of the operation that xr_op_extra() names, 0 where there is none. */
void xr_opcost_decide(struct xr_opcost *cost, double extra_latency);

/* The share of these readings that are not steady. Whoever disturbs so many may have moved the others steadily. */
double xr_opcost_unrest(const struct xr_reading *reading, size_t n);

/* Does the compiled loop hold what was asked for? NULL, or why not. */
const char *xr_opcost_objection(struct xr_arena *arena, const struct xr_opcost *cost, const struct xr_reading *reading);

/* Puts op.OP.T.latency, .throughput, .in_flight (suffix "", or e.g. "_max", "_native"). */
void xr_opcost_put(struct xr_run *run, const struct xr_opcost *cost, const char *suffix);
void xr_opcost_put_none(struct xr_run *run, const struct xr_opcost *cost, const char *suffix, enum xr_status status,
                        const char *reason);

#endif
