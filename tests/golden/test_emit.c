/* SPDX-License-Identifier: MIT */
/* Prints the C of specifications: test_emit barrier|switch [BYTES]. Golden files keep a few; with BYTES it is every
 * operation on every type up to vectors of that many bytes, for compilers to complain about (tests/emit). */
#include "nano/emit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM = 1024 };

static size_t few(struct xr_spec *specs)
{
	size_t n = 0;
	specs[n++] = xr_spec_stream(XR_ADD, XR_I32, 1);
	specs[n++] = xr_spec_stream(XR_MUL, XR_F64, 3);
	struct xr_stream divide = {.op = XR_DIV, .type = XR_I64, .n = 2, .values = XR_LONG};
	specs[n++] = xr_spec_mix(&divide, 1);
	struct xr_stream half = {.op = XR_ADD, .type = XR_F32, .n = 5, .link = XR_HALF};
	specs[n++] = xr_spec_mix(&half, 1);
	struct xr_stream next = {.op = XR_ADD, .type = XR_I64, .n = 4, .link = XR_NEXT};
	specs[n++] = xr_spec_mix(&next, 1);
	struct xr_stream mix[] = {{.op = XR_ADD, .type = XR_I64, .n = 2, .share = 2},
	                          {.op = XR_LOAD, .type = XR_I64, .n = 1, .share = 1}};
	specs[n++] = xr_spec_mix(mix, 2);
	struct xr_stream text = {.op = XR_TEXT, .type = XR_F64, .n = 2, .text = "p0 = p0 * p1 + p2"};
	specs[n++] = xr_spec_mix(&text, 1);
	struct xr_stream coin = {.op = XR_COIN, .type = XR_I32, .n = 4, .link = XR_HALF, .values = XR_LONG};
	specs[n++] = xr_spec_mix(&coin, 1);
	struct xr_stream fused = {.op = XR_FUSED, .type = XR_F32, .n = 1, .values = XR_LONG};
	specs[n++] = xr_spec_mix(&fused, 1);
	specs[n++] = xr_spec_stream(XR_FORWARD_POINTER, XR_I64, 1);
	specs[n++] = xr_spec_stream(XR_FORWARD_LOCAL, XR_F64, 1);
	specs[n++] = xr_spec_stream(XR_BRANCH, XR_I32, 1);
	for (size_t i = 0; i < n; i++)
		specs[i].ops.unroll = 4;              /* short enough to read */
	specs[n] = xr_spec_stream(XR_ADD, XR_I32, 2); /* long enough for marks */
	specs[n++].ops.unroll = 16;
	return n;
}

static size_t all(struct xr_spec *specs, int widest)
{
	size_t n = 0;
	for (int op = 0; op < XR_TEXT; op++)
		for (int type = 0; type < XR_N_TYPES; type++)
			for (int values = XR_SHORT; values <= XR_LONG; values++) {
				if (!xr_op_has_type((enum xr_op)op, (enum xr_type)type) || n == ROOM)
					continue;
				if (xr_types[type].vector && xr_types[type].bytes > widest)
					continue;
				struct xr_stream s = {.op = (enum xr_op)op, .type = (enum xr_type)type, .n = 3};
				s.values = (enum xr_values)values;
				specs[n] = xr_spec_mix(&s, 1);
				specs[n++].ops.unroll = 6;
			}
	return n;
}

int main(int argc, char **argv)
{
	static struct xr_spec specs[ROOM];
	struct xr_strbuf out = {0};
	enum xr_form form = argc > 1 && !strcmp(argv[1], "switch") ? XR_FORM_SWITCH : XR_FORM_BARRIER;
	size_t n = argc > 2 ? all(specs, (int)strtol(argv[2], NULL, 10)) : few(specs);

	xr_emit_unit(&out, specs, n, form);
	if (argc <= 2)
		xr_emit_table(&out, specs, n);
	fputs(xr_strbuf_text(&out), stdout);
	xr_strbuf_release(&out);
	return 0;
}
