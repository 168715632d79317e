/* SPDX-License-Identifier: MIT */
#include "nano/ops.h"

#include <string.h>

const struct xr_type_info xr_types[XR_N_TYPES] = {
	[XR_I8] = {"i8", "signed char", XR_I8, 1, false, false},
	[XR_I16] = {"i16", "short", XR_I16, 2, false, false},
	[XR_I32] = {"i32", "int", XR_I32, 4, false, false},
	[XR_I64] = {"i64", "long long", XR_I64, 8, false, false},
	[XR_F32] = {"f32", "float", XR_F32, 4, true, false},
	[XR_F64] = {"f64", "double", XR_F64, 8, true, false},
	[XR_V16F32] = {"v16f32", "float", XR_F32, 16, true, true},
	[XR_V16F64] = {"v16f64", "double", XR_F64, 16, true, true},
	[XR_V32F32] = {"v32f32", "float", XR_F32, 32, true, true},
	[XR_V32F64] = {"v32f64", "double", XR_F64, 32, true, true},
	[XR_V64F32] = {"v64f32", "float", XR_F32, 64, true, true},
	[XR_V64F64] = {"v64f64", "double", XR_F64, 64, true, true},
	[XR_V16I32] = {"v16i32", "int", XR_I32, 16, false, true},
	[XR_V32I32] = {"v32i32", "int", XR_I32, 32, false, true},
	[XR_V64I32] = {"v64i32", "int", XR_I32, 64, false, true},
};

/* name, int, fp, vector, operands, extra, ranged, statement, statement of XR_FRESH, most instructions for one
 *
 * In a statement $0 is the variable written, $1 the operand on the chain, $2 and $3 the other operands, T the type, U
 * its unsigned twin, M the small array in memory, I a running index into it, L a variable in memory, A the address of
 * one, W the type to convert through, V a variable of it, @ a place where the compiler must not look across.
 *
 * Divisions run through the divisor and back by an addition, so that operands stay what they were: q / p + r = p. */
const struct xr_op_info xr_ops[XR_N_OPS] = {
	[XR_ADD] = {"add", true, true, true, 2, -1, false, "$0 = (T)($1 + $2)", NULL, 1},
	[XR_SUB] = {"sub", true, true, true, 2, -1, false, "$0 = (T)($1 - $2)", NULL, 1},
	[XR_MUL] = {"mul", true, true, true, 2, -1, false, "$0 = (T)($1 * $2)", NULL, 1},
	[XR_DIV] = {"div", true, true, true, 2, XR_ADD, true, "$0 = (T)($2 / $1 + $3)", "$0 = (T)($2 / $1)", 8},
	[XR_MOD] = {"mod", true, false, false, 2, XR_ADD, true, "$0 = (T)($2 % $1 + $3)", "$0 = (T)($2 % $1)", 8},
	[XR_AND] = {"and", true, false, true, 2, -1, false, "$0 = (T)($1 & $2)", NULL, 1},
	[XR_OR] = {"or", true, false, true, 2, -1, false, "$0 = (T)($1 | $2)", NULL, 1},
	[XR_XOR] = {"xor", true, false, true, 2, -1, false, "$0 = (T)($1 ^ $2)", NULL, 1},
	[XR_SHL] = {"shl", true, false, true, 2, -1, false, "$0 = (T)((U)$1 << $2)", NULL, 1},
	[XR_SHR] = {"shr", true, false, true, 2, -1, false, "$0 = (T)($1 >> $2)", NULL, 1},
	[XR_FMA] = {"fma", false, true, true, 3, -1, false, "$0 = (T)($1 * $2 + $3)", NULL, 1},
	[XR_SQRT] = {"sqrt", false, true, false, 1, XR_MUL, true, "$0 = (T)(XR_SQRT_T($1) * $2)",
                     "$0 = (T)XR_SQRT_T($1)", 2},
	[XR_MIN] = {"min", true, true, false, 2, -1, false, "$0 = $1 < $2 ? $1 : $2", NULL, 3},
	[XR_CVT] = {"cvt", true, true, false, 1, -1, false, "V = (W)$1@$0 = (T)V", NULL, 3},
	[XR_LOAD] = {"load", true, true, false, 1, -1, false, "$0 = M[(unsigned)$1]", "$0 = M[I]", 2},
	[XR_STORE] = {"store", true, true, false, 1, -1, false, "M[I] = $1", NULL, 1},
	[XR_FORWARD] = {"forward", true, true, false, 1, -1, false, "M[0] = $1; $0 = M[0]", NULL, 2},
	[XR_BRANCH] = {"branch", true, false, false, 2, -1, false, "if ($1 == $2) goto out", NULL, 2},
	[XR_SHUFFLE] = {"shuffle", false, false, true, 1, -1, false, "$0 = XR_SHUFFLE_T($1)", NULL, 1},
	[XR_FORWARD_LOCAL] = {"forward_local", true, true, false, 1, -1, false, "L = $1; $0 = L", NULL, 2},
	[XR_FORWARD_POINTER] = {"forward_pointer", true, true, false, 1, -1, false, "*A = $1; $0 = *A", NULL, 2},
	[XR_COIN] = {"coin", true, false, false, 2, -1, true,
                     "$0 = (T)((U)$1 * 1664525u + (2u * I + 1u)); if ($2 & $3) XR_TURN()", NULL, 6},
	[XR_FUSED] = {"fused", false, true, false, 3, -1, true, "if ((T)($1 * $2 + $3) != 0) XR_LINGER()", NULL, 6},
	[XR_TEXT] = {"text", true, true, true, 1, -1, false, NULL, NULL, 1000},
};

bool xr_op_has_type(enum xr_op op, enum xr_type type)
{
	const struct xr_op_info *o = &xr_ops[op];
	const struct xr_type_info *t = &xr_types[type];
	if (t->vector && !o->on_vector)
		return false;
	if (op == XR_SHUFFLE)
		return t->vector;
	if (op == XR_DIV && t->vector)
		return t->fp; /* no machine divides vectors of integers; compilers take them apart */
	return t->fp ? o->on_fp : o->on_int;
}

int xr_op_extra(enum xr_op op, enum xr_type type)
{
	if (op == XR_DIV && xr_types[type].fp)
		return -1; /* q / p swings between two values by itself */
	return xr_ops[op].extra;
}

int xr_type_by_name(const char *name)
{
	for (int i = 0; i < XR_N_TYPES; i++)
		if (!strcmp(xr_types[i].name, name))
			return i;
	return -1;
}

const char *xr_op_word(int i)
{
	return i < XR_N_NAMED_OPS ? xr_ops[i].name : NULL;
}

int xr_op_by_name(const char *name)
{
	for (int i = 0; i < XR_N_OPS; i++)
		if (!strcmp(xr_ops[i].name, name))
			return i;
	return -1;
}
