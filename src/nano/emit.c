/* SPDX-License-Identifier: MIT */
#include "nano/emit.h"

#include "nano/values.h"
#include "util/hash.h"

#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { DEFAULT_UNROLL = 64, CONSTANTS_MAX = 8 };

static int stream_share(const struct xr_stream *s)
{
	return s->share ? s->share : s->n;
}

static int round_length(const struct xr_ops_spec *ops)
{
	int length = 0;
	for (int i = 0; i < ops->n_streams; i++)
		length += stream_share(&ops->stream[i]);
	return length;
}

int xr_ops_body(const struct xr_ops_spec *ops)
{
	int unroll = ops->unroll ? ops->unroll : DEFAULT_UNROLL, length = round_length(ops);
	assert(length > 0);
	return (unroll + length - 1) / length * length;
}

int xr_ops_middle(int body)
{
	return body < 16 ? 0 : body / 2;
}

void xr_emit_name(const struct xr_spec *spec, char name[static 32])
{
	struct xr_arena arena = {0};
	const char *text = xr_spec_text(&arena, spec);
	snprintf(name, 32, "xr_nano_%016" PRIx64, xr_hash(0, text, strlen(text)));
	xr_arena_release(&arena);
}

/* Names: stream i is told apart by a letter, so that mixes stay readable: a0 a1 …, its constants aq ar; in a body of
 * one stream the papers' p0 p1 …, q r. */
static char letter(const struct xr_ops_spec *ops, int stream)
{
	return ops->n_streams == 1 ? 'p' : (char)('a' + stream);
}

static void put_constant(struct xr_strbuf *out, const struct xr_ops_spec *ops, int stream, char name)
{
	if (ops->n_streams == 1)
		xr_strbuf_printf(out, "%c", name);
	else
		xr_strbuf_printf(out, "%c%c", letter(ops, stream), name);
}

static bool uses_constants(const struct xr_stream *s)
{
	return s->link == XR_SELF || s->link == XR_FRESH;
}

/* A statement of `xray time`: p0 is the stream's own variable, the others are constants. */
static void put_text(struct xr_strbuf *out, const struct xr_ops_spec *ops, int stream, int i)
{
	const char *c = ops->stream[stream].text;
	bool in_word = false;
	while (*c) {
		int digits = 0;
		if (*c == 'p' && !in_word)
			while (isdigit((unsigned char)c[1 + digits]))
				digits++;
		char after = c[1 + digits];
		if (digits && !isalnum((unsigned char)after) && after != '_') {
			if (digits == 1 && c[1] == '0')
				xr_strbuf_printf(out, "%c%d", letter(ops, stream), i);
			else
				xr_strbuf_printf(out, "k%.*s", digits, c + 1);
			c += 1 + digits;
			continue;
		}
		in_word = isalnum((unsigned char)*c) || *c == '_';
		xr_strbuf_printf(out, "%c", *c == '\n' || *c == '\r' ? ' ' : *c);
		c++;
	}
}

static const char *stream_form(const struct xr_stream *s)
{
	bool bare = s->link == XR_FRESH || (xr_ops[s->op].extra >= 0 && xr_op_extra(s->op, s->type) < 0);
	return bare && xr_ops[s->op].fresh ? xr_ops[s->op].fresh : xr_ops[s->op].statement;
}

/* (p & q) & q is p & q, and (p ^ q) ^ q is p: without a barrier a compiler may know, so the operand changes each
 * time. */
static bool is_idempotent(enum xr_op op)
{
	return op == XR_AND || op == XR_OR || op == XR_XOR;
}

static bool second_operand_alternates(const struct xr_stream *s, enum xr_form form, int count)
{
	return form == XR_FORM_SWITCH && is_idempotent(s->op) && count / s->n % 2;
}

/* A macro of the frame: XR_NAME_T is one per type. Returns how much of the template it took. */
static size_t put_macro(struct xr_strbuf *out, const struct xr_type_info *t, const char *c)
{
	size_t len = strcspn(c, "(");
	if (!strncmp(c, "XR_SQRT_T", len))
		xr_strbuf_printf(out, "XR_SQRT_%s", t->name);
	else if (!strncmp(c, "XR_SHUFFLE_T", len))
		xr_strbuf_printf(out, "XR_SHUFFLE_%d", t->bytes / xr_types[t->element].bytes);
	else
		xr_strbuf_printf(out, "%.*s", (int)len, c);
	return len;
}

/* The i-th statement of a stream: the operation's template with its placeholders filled in. `count` runs over all
 * statements of the stream in the body (for the index into memory). */
static void put_statement(struct xr_strbuf *out, const struct xr_ops_spec *ops, int stream, int count,
                          enum xr_form form_of, const char *inner_barrier)
{
	const struct xr_stream *s = &ops->stream[stream];
	const struct xr_type_info *t = &xr_types[s->type];
	const char *form = stream_form(s);
	int i = count % s->n;
	int j = s->link == XR_HALF ? (i + s->n - s->n / 2) % s->n : (i + s->n - 1) % s->n;

	if (s->op == XR_TEXT) {
		put_text(out, ops, stream, i);
		return;
	}
	for (const char *c = form; *c; c++) {
		if (*c == '$') {
			c++;
			if (*c == '0' || (*c == '1' && s->link != XR_FRESH))
				xr_strbuf_printf(out, "%c%d", letter(ops, stream), i);
			else if (*c == '2' && !uses_constants(s))
				xr_strbuf_printf(out, "%c%d", letter(ops, stream), j);
			else
				put_constant(out, ops, stream,
				             *c == '1'                                                   ? 's'
				             : *c == '3' || second_operand_alternates(s, form_of, count) ? 'r'
				                                                                         : 'q');
		} else if (!strncmp(c, "XR_", 3)) {
			c += put_macro(out, t, c) - 1;
		} else if (*c == 'T' && (c == form || !isalpha((unsigned char)c[-1])) && c[1] == ')') {
			xr_strbuf_printf(out, "XR_%s", xr_types[s->type].name);
		} else if (*c == 'U' && c[1] == ')') {
			xr_strbuf_printf(out, "XR_u%s", t->name);
		} else if (*c == 'W' && c[1] == ')') {
			xr_strbuf_printf(out, "%s", xr_cvt_through(s->type));
		} else if (*c == 'V') {
			xr_strbuf_printf(out, "%cv", letter(ops, stream));
		} else if (*c == '@') {
			xr_strbuf_printf(out, "; %s", inner_barrier);
		} else if (*c == 'M') {
			xr_strbuf_printf(out, "%cm", letter(ops, stream));
		} else if (*c == 'L') {
			xr_strbuf_printf(out, "%cl", letter(ops, stream));
		} else if (*c == 'A') {
			xr_strbuf_printf(out, "%ca", letter(ops, stream));
		} else if (*c == 'I') {
			xr_strbuf_printf(out, "%d", count % 8);
		} else {
			xr_strbuf_printf(out, "%c", *c);
		}
	}
}

static bool touches_memory(enum xr_op op)
{
	return op == XR_LOAD || op == XR_STORE || op == XR_FORWARD || op == XR_FORWARD_POINTER;
}

/* How many constants k1 k2 … a text statement mentions. */
static int text_constants(const char *text)
{
	int most = 0;
	for (const char *c = text; *c; c++)
		if (*c == 'p' && isdigit((unsigned char)c[1]) &&
		    (c == text || (!isalnum((unsigned char)c[-1]) && c[-1] != '_'))) {
			int k = 0;
			while (isdigit((unsigned char)*++c) && k < 1000)
				k = k * 10 + (*c - '0');
			c--;
			if (k > most)
				most = k;
		}
	return most < CONSTANTS_MAX ? most : CONSTANTS_MAX;
}

/* Does the stream's statement read this constant? Only those that are read may take a register. */
static bool reads_constant(const struct xr_stream *s, enum xr_form form_of, char name)
{
	const char *form = stream_form(s);
	if (!form) /* XR_TEXT */
		return false;
	switch (name) {
	case 'q':
		return uses_constants(s) && strstr(form, "$2");
	case 'r':
		return strstr(form, "$3") != NULL ||
		       (form_of == XR_FORM_SWITCH && is_idempotent(s->op) && uses_constants(s));
	default:
		return s->link == XR_FRESH && strstr(form, "$1");
	}
}

static void put_start(struct xr_strbuf *out, const struct xr_type_info *t, char v, int index)
{
	if (t->vector)
		xr_strbuf_printf(out, " = %cin[%d] - (XR_%s){0};\n", v, index, t->name);
	else
		xr_strbuf_printf(out, " = %cin[%d];\n", v, index);
}

static void put_declarations(struct xr_strbuf *out, const struct xr_ops_spec *ops, int stream, enum xr_form form)
{
	const struct xr_stream *s = &ops->stream[stream];
	const struct xr_type_info *t = &xr_types[s->type];
	char p[40], q[40], r[40], v = letter(ops, stream);

	xr_op_values(s->op, s->type, s->values, p, q, r);
	if (!uses_constants(s)) /* each other's operands: whatever is not 0 grows without end */
		snprintf(p, sizeof p, "0");
	xr_strbuf_printf(out, "\tstatic volatile %s %cin[3] = {%s, %s, %s};\n", t->element_c, v, p, q, r);
	xr_strbuf_printf(out, "\tstatic volatile XR_%s %cout;\n", t->name, v);
	if (touches_memory(s->op))
		xr_strbuf_printf(out, "\tstatic volatile %s %cm[16];\n", t->element_c, v);
	if (s->op == XR_FORWARD_POINTER) {
		xr_strbuf_printf(out, "\tstatic volatile %s *volatile %cwhere = %cm;\n", t->element_c, v, v);
		xr_strbuf_printf(out, "\tvolatile %s *%ca = %cwhere;\n", t->element_c, v, v);
	}
	if (s->op == XR_FORWARD_LOCAL)
		xr_strbuf_printf(out, "\tvolatile %s %cl = 0;\n", t->element_c, v);
	if (s->op == XR_CVT)
		xr_strbuf_printf(out, "\t%s %cv = 0;\n", xr_cvt_through(s->type), v);
	for (int i = 0; i < s->n; i++) {
		xr_strbuf_printf(out, "\tXR_%s %c%d", t->name, v, i);
		if (s->op == XR_COIN) /* goes on where the last call ended: predictors learn what comes again */
			xr_strbuf_printf(out, " = %cout;\n", v);
		else
			put_start(out, t, v, 0);
	}
	for (int k = 1; s->op == XR_TEXT && k <= text_constants(s->text); k++) {
		xr_strbuf_printf(out, "\tXR_%s k%d", t->name, k);
		put_start(out, t, v, k == 1 ? 1 : 2);
	}
	for (int k = 0; s->op != XR_TEXT && k < 3; k++)
		if (reads_constant(s, form, "qrs"[k])) {
			xr_strbuf_printf(out, "\tXR_%s ", t->name);
			put_constant(out, ops, stream, "qrs"[k]);
			put_start(out, t, v, (k + 1) % 3);
		}
}

static void put_uses(struct xr_strbuf *out, const struct xr_ops_spec *ops, int stream)
{
	for (int i = 0; i < ops->stream[stream].n; i++)
		xr_strbuf_printf(out, "\t%cout = %c%d;\n", letter(ops, stream), letter(ops, stream), i);
}

/* Calls `put` for every statement of the body in order: in each round the streams take turns, each as often as its
 * share says, spread evenly (largest deficit first). */
static void each_statement(const struct xr_ops_spec *ops, void (*put)(void *self, int stream, int count, int index),
                           void *self)
{
	int body = xr_ops_body(ops), length = round_length(ops);
	int count[XR_STREAMS_MAX] = {0};
	for (int i = 0; i < body; i++) {
		int best = 0, best_lag = -1;
		for (int s = 0; s < ops->n_streams; s++) {
			int lag = (i + 1) * stream_share(&ops->stream[s]) - count[s] * length;
			if (lag > best_lag) {
				best_lag = lag;
				best = s;
			}
		}
		put(self, best, count[best]++, i);
	}
}

struct body {
	struct xr_strbuf *out;
	const struct xr_ops_spec *ops;
	const char *id;
};

static void put_barrier_line(void *self, int stream, int count, int index)
{
	struct body *b = self;
	const struct xr_stream *s = &b->ops->stream[stream];
	int body = xr_ops_body(b->ops);
	if (xr_ops_middle(body) && index == body / 4)
		xr_strbuf_printf(b->out, "\t\tXR_MIDDLE(\"%s\");\n", b->id);
	if (xr_ops_middle(body) && index == body / 4 + xr_ops_middle(body))
		xr_strbuf_printf(b->out, "\t\tXR_LAST(\"%s\");\n", b->id);
	if (s->op == XR_TEXT)
		xr_strbuf_printf(b->out, "#line 1 \"statement\"\n");
	xr_strbuf_printf(b->out, "\t\t");
	char inner[40];
	snprintf(inner, sizeof inner, "XR_KEEP_%c(%cv); ", xr_types[s->type].fp ? 'I' : 'F', letter(b->ops, stream));
	put_statement(b->out, b->ops, stream, count, XR_FORM_BARRIER, inner);
	char kind = xr_types[s->type].fp || xr_types[s->type].vector ? 'F' : 'I';
	xr_strbuf_printf(b->out, "; XR_KEEP_%c(%c%d);", kind, letter(b->ops, stream), count % s->n);
	if (reads_constant(s, XR_FORM_BARRIER,
	                   's')) { /* operands that never change: without this the result would be computed once */
		xr_strbuf_printf(b->out, " XR_KEEP_%c(", kind);
		put_constant(b->out, b->ops, stream, 's');
		xr_strbuf_printf(b->out, ");");
	}
	xr_strbuf_printf(b->out, "\n");
}

static void put_case_line(void *self, int stream, int count, int index)
{
	struct body *b = self;
	if (b->ops->stream[stream].op == XR_TEXT)
		xr_strbuf_printf(b->out, "#line 1 \"statement\"\n");
	char inner[40];
	snprintf(inner, sizeof inner, "case %d: ", 2 * index + 2);
	xr_strbuf_printf(b->out, "\tcase %d: ", 2 * index + 1);
	put_statement(b->out, b->ops, stream, count, XR_FORM_SWITCH, inner);
	xr_strbuf_printf(b->out, ";\n");
}

static void put_function(struct xr_strbuf *out, const struct xr_spec *spec, enum xr_form form)
{
	const struct xr_ops_spec *ops = &spec->ops;
	struct xr_arena arena = {0};
	char name[32];
	bool branches = false, min = false;

	xr_emit_name(spec, name);
	const char *id = name + strlen("xr_nano_");
	struct body body = {out, ops, id};
	xr_strbuf_printf(out, "\n/* %s */\n", xr_spec_text(&arena, spec));
	for (int s = 0; s < ops->n_streams; s++) {
		branches |= ops->stream[s].op == XR_BRANCH;
		min |= ops->stream[s].op == XR_MIN && xr_types[ops->stream[s].type].fp;
	}
	xr_strbuf_printf(out, "XR_NANO%s void %s(unsigned long reps)\n{\n", min ? "_MIN" : "", name);
	for (int s = 0; s < ops->n_streams; s++)
		put_declarations(out, ops, s, form);
	if (form == XR_FORM_BARRIER) {
		xr_strbuf_printf(out, "\n\tXR_BEGIN(\"%s\");\n\tfor (; reps; reps--) {\n", id);
		each_statement(ops, put_barrier_line, &body);
		xr_strbuf_printf(out, "\t}\n\tXR_END(\"%s\");\n", id);
	} else {
		/* Entered at case 0; the compiler must believe that it may be entered anywhere. */
		xr_strbuf_printf(out,
		                 "\tstatic volatile int entry = 0;\n\n\tswitch (entry) {\n\tcase 0:\n\tfor (;;) {\n");
		xr_strbuf_printf(out, "\tif (reps-- == 0)\n\t\tbreak;\n");
		each_statement(ops, put_case_line, &body);
		xr_strbuf_printf(out, "\t}\n\t}\n");
	}
	for (int s = 0; s < ops->n_streams; s++)
		put_uses(out, ops, s);
	if (branches) /* nobody comes here, and nothing is alive here that would have to be kept at hand for it */
		xr_strbuf_printf(out, "out:\n\treturn;\n");
	xr_strbuf_printf(out, "}\n");
	xr_arena_release(&arena);
}

void xr_emit_unit(struct xr_strbuf *out, const struct xr_spec *specs, size_t n, enum xr_form form)
{
	xr_strbuf_printf(
		out,
		"/* Nano-benchmarks generated by X-Ray. Above each function its specification:\n"
		" * ops FLAVOUR UNROLL STREAMS, then per stream OPERATION TYPE N SHARE LINK VALUES (docs/nano.md). */\n");
	if (form == XR_FORM_SWITCH)
		xr_strbuf_printf(out, "#define XR_PLAIN_C 1\n");
	xr_strbuf_printf(out, "#include \"nano.h\"\n");
	for (size_t i = 0; i < n; i++)
		put_function(out, &specs[i], form);
}

void xr_emit_table(struct xr_strbuf *out, const struct xr_spec *specs, size_t n)
{
	char name[32];
	xr_strbuf_printf(out, "/* The functions the agent can call, generated by X-Ray. */\n");
	for (size_t i = 0; i < n; i++) {
		xr_emit_name(&specs[i], name);
		xr_strbuf_printf(out, "void %s(unsigned long reps);\n", name);
	}
	xr_strbuf_printf(out, "void (*const xr_nano_table[])(unsigned long reps) = {\n");
	for (size_t i = 0; i < n; i++) {
		xr_emit_name(&specs[i], name);
		xr_strbuf_printf(out, "\t%s,\n", name);
	}
	xr_strbuf_printf(out, "\t0\n};\nconst int xr_nano_body[] = {\n");
	for (size_t i = 0; i < n; i++)
		xr_strbuf_printf(out, "\t%d,\n", xr_ops_body(&specs[i].ops));
	xr_strbuf_printf(out, "\t0\n};\nconst int xr_nano_count = %zu;\n", n);
}
