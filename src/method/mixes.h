/* SPDX-License-Identifier: MIT */
/* Mixes of operations as specifications: which form of each operation saturates its units, how many of each make up the
 * same time, and what the mix then took.
 */
#ifndef XR_METHOD_MIXES_H
#define XR_METHOD_MIXES_H

#include "method/ports.h"
#include "micro/micro.h"

/* One operation that takes part. */
struct xr_part {
	enum xr_op op;
	enum xr_type type;
	const char *name;          /* "add.i32" */
	struct xr_stream stream;   /* the form with the fewest variables that is as quick as any */
	double cycles;             /* alone, per operation; 0: it cannot be timed */
	double insns;              /* of a statement; 0: nobody looked */
	double spread;
	enum xr_status status;     /* when it cannot be timed */
	const char *reason;
};

struct xr_parts {
	struct xr_run *run;
	enum xr_flavour flavour;
	struct xr_part part[XR_PORT_OPS];
	int n;
	double noisy;              /* share of the last batch whose two least readings differ by more than 2 % */
};

/* Times every part alone in several forms and keeps the best. 0, or -1: stop. */
int xr_parts_find(struct xr_parts *parts);

/* So many of each that each alone takes about the same time, few altogether. */
void xr_mix_balance(const struct xr_parts *parts, struct xr_mix *mix);

/* One round of the mix. */
struct xr_spec xr_mix_spec(const struct xr_parts *parts, const struct xr_mix *mix);

/* Times them and fills in their cycles, and puts them into another order; those that could not be timed, or whose
 * variables do not fit into registers, are removed. Together with the parts alone, read again beside them, when
 * `alone`. */
int xr_mixes_time(struct xr_parts *parts, struct xr_mix *mix, size_t *n, bool alone);

#endif
