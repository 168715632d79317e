/* SPDX-License-Identifier: MIT */
/* The operation × type table: what each operation is in C, and for which types the language has it.
 *
 * One table feeds the emission (C text), the model (what a statement costs there), the micro-benchmarks (what to
 * loop over) and the documentation.
 */
#ifndef XR_NANO_OPS_H
#define XR_NANO_OPS_H

#include <stdbool.h>

enum xr_type {
	XR_I8, XR_I16, XR_I32, XR_I64, XR_F32, XR_F64,
	XR_V16F32, XR_V16F64, XR_V32F32, XR_V32F64, XR_V64F32, XR_V64F64, XR_V16I32, XR_V32I32, XR_V64I32,
	XR_N_TYPES
};
enum { XR_N_SCALARS = XR_V16F32 };

struct xr_type_info {
	const char *name;       /* as in fact ids: "i32", "v32f64" */
	const char *element_c;  /* C name of an element: "int", "double" */
	enum xr_type element;   /* itself for scalars */
	int bytes;              /* whole value */
	bool fp;                /* elements are floating point */
	bool vector;
};
extern const struct xr_type_info xr_types[XR_N_TYPES];

enum xr_op {
	XR_ADD, XR_SUB, XR_MUL, XR_DIV, XR_MOD, XR_AND, XR_OR, XR_XOR, XR_SHL, XR_SHR, XR_FMA, XR_SQRT, XR_MIN, XR_CVT,
	/* operations of the core that have no fact ids of their own under op.*: used by the units, load and branch
	 * tests */
	XR_LOAD,     /* read a word of a small array that stays in L1 */
	XR_STORE,    /* write one */
	XR_FORWARD,  /* write a word and read it back: store-to-load forwarding */
	XR_BRANCH,   /* a compare and branch that is never taken */
	XR_SHUFFLE,  /* permute the elements of a vector */
	XR_FORWARD_LOCAL,   /* XR_FORWARD through a variable on the stack */
	XR_FORWARD_POINTER, /* XR_FORWARD through a pointer in a register */
	XR_COIN,     /* a branch whose way is decided, under XR_LONG, by bits nobody can predict; under XR_HALF only */
	XR_FUSED,    /* p * q + r, and lingers when that is not 0: under XR_LONG it is 0 exactly when the product is rounded
		      * before the addition */
	XR_TEXT,     /* the statement is given as text (xray time); xr_stream.text */
	XR_N_OPS
};
enum { XR_N_NAMED_OPS = XR_LOAD };

struct xr_op_info {
	const char *name;      /* as in fact ids */
	bool on_int, on_fp, on_vector; /* for which types the language has it (vectors: of the fp/int kind it has) */
	int operands;          /* values it reads: 1, 2 or 3 (fma) */
	int extra;             /* operation (enum xr_op) that the dependent form needs besides itself, or -1; its latency
				* is on the chain and must be subtracted (div and mod: add; sqrt: mul) */
	bool ranged;           /* cost depends on operand values: timed with XR_SHORT and XR_LONG values */
	const char *statement; /* in C, see ops.c for the placeholders */
	const char *fresh;     /* without the extra operation, for XR_FRESH and types that need none; NULL: as statement */
	int most_insns;        /* instructions that one statement takes at most where the machine has the operation */
};
extern const struct xr_op_info xr_ops[XR_N_OPS];

/* Does C have this operation for this type (fma on int: no; sqrt on i32: no; …)? */
bool xr_op_has_type(enum xr_op op, enum xr_type type);

/* The extra operation on the dependent chain of op for this type, or -1 (see xr_op_info.extra: fp div needs none). */
int xr_op_extra(enum xr_op op, enum xr_type type);

/* -1 when there is no such name. */
int xr_type_by_name(const char *name);
const char *xr_op_word(int i); /* name of the i-th operation that facts are about; NULL after the last */
int xr_op_by_name(const char *name);

#endif
