/* SPDX-License-Identifier: MIT */
#include "nano/values.h"

#include <math.h>
#include <stdio.h>

/* A large odd number of each integer width; the dividend of the division tests. */
static long long large(enum xr_type element)
{
	static const long long value[] = {
		[XR_I8] = 101, [XR_I16] = 30011, [XR_I32] = 2000000011, [XR_I64] = 8000000000000000021};
	return value[element];
}

static void put_int(char *out, enum xr_type element, long long value)
{
	snprintf(out, 40, element == XR_I64 ? "%lldLL" : "%lld", value);
}

static void put_fp(char *out, enum xr_type element, double value)
{
	snprintf(out, 40, element == XR_F32 ? "%.9gF" : "%.17g", value);
	for (char *c = out; *c; c++)
		if (*c == '.' || *c == 'e')
			return;
	snprintf(out, 40, element == XR_F32 ? "%.1fF" : "%.1f", value); /* 4F is no C literal; 4.0F is */
}

/* q / p + r = p and q % p + r = p: the chain comes back to where it was. Short: quotient 1. Long: divisor 3. */
static void division_values(enum xr_op op, enum xr_type e, enum xr_values values, char *p, char *q, char *r)
{
	long long k = large(e), divisor = values == XR_LONG ? 3 : op == XR_MOD ? k - 2 : k;
	long long result = op == XR_MOD ? k % divisor : k / divisor;
	put_int(p, e, divisor);
	put_int(q, e, k);
	put_int(r, e, divisor - result);
}

static void int_values(enum xr_op op, enum xr_type e, enum xr_values values, char *p, char *q, char *r)
{
	long long vp = 3, vq = 5, vr = 7;
	switch (op) {
	case XR_DIV:
	case XR_MOD:
		division_values(op, e, values, p, q, r);
		return;
	case XR_MUL: /* the sign flips, the magnitude stays: never an overflow */
		vp = large(e);
		vq = -1;
		break;
	case XR_AND:
		vp = large(e);
		vq = large(e) - 4;
		break;
	case XR_SHL:
	case XR_SHR:
		vp = large(e);
		vq = 1;
		break;
	case XR_LOAD: /* the memory holds zeros, the chain stays at index 0 */
		vp = 0;
		break;
	case XR_COIN: /* the mask: no bit, or one that is as good as random */
		vr = values == XR_LONG ? 1LL << (xr_types[e].bytes < 4 ? xr_types[e].bytes * 8 - 2 : 29) : 0;
		break;
	case XR_BRANCH: /* never equal */
		vp = 3;
		vq = 5;
		break;
	default:
		break;
	}
	put_int(p, e, vp);
	put_int(q, e, vq);
	put_int(r, e, vr);
}

static void fp_values(enum xr_op op, enum xr_type e, enum xr_values values, char *p, char *q, char *r)
{
	double tiny = e == XR_F32 ? 0x1p-20 : 0x1p-40, vp = 1.0, vq = tiny, vr = tiny;
	switch (op) {
	case XR_MUL:
		vq = 1.0 + (e == XR_F32 ? 0x1p-22 : 0x1p-50);
		break;
	case XR_FMA: /* 1 * (1 - tiny) + tiny = 1 */
		vq = 1.0 - tiny;
		break;
	case XR_DIV: /* q / p and back again */
		vp = values == XR_LONG ? 1.1415926535897931 : 1.25;
		vq = values == XR_LONG ? 1.9182818284590451 : 1.875;
		break;
	case XR_SQRT: /* sqrt(p) * q = p */
		vp = values == XR_LONG ? 3.1415926535897931 : 4.0;
		vq = values == XR_LONG ? 1.7724538509055159 : 2.0;
		break;
	case XR_MIN:
		vp = 1.0;
		vq = 2.0;
		break;
	case XR_CVT:
		vp = 3.0;
		break;
	case XR_TEXT: /* p1 just above 1, p2 tiny: products and sums stay ordinary numbers */
		vq = 1.0 + (e == XR_F32 ? 0x1p-22 : 0x1p-50);
		break;
	case XR_FUSED: /* (1 + e) (1 - e) - 1 is -e^2, or 0 when the product is rounded to 1 first */
		tiny = values == XR_SHORT ? 0 : e == XR_F32 ? 0x1p-13 : 0x1p-30;
		vp = 1.0 + tiny;
		vq = 1.0 - tiny;
		vr = -1.0;
		break;
	case XR_LOAD:
		vp = 0.0;
		break;
	default:
		break;
	}
	put_fp(p, e, vp);
	put_fp(q, e, vq);
	put_fp(r, e, vr);
}

void xr_op_values(enum xr_op op, enum xr_type type, enum xr_values values, char p[static 40], char q[static 40],
                  char r[static 40])
{
	enum xr_type e = xr_types[type].element;
	if (xr_types[type].fp)
		fp_values(op, e, values, p, q, r);
	else
		int_values(op, e, values, p, q, r);
}

const char *xr_cvt_through(enum xr_type type)
{
	static const char *const through[] = {[XR_I8] = "float",   [XR_I16] = "float", [XR_I32] = "double",
	                                      [XR_I64] = "double", [XR_F32] = "int",   [XR_F64] = "long long"};
	return through[xr_types[type].element];
}
