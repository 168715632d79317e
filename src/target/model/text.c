/* SPDX-License-Identifier: MIT */
/* A compiler of few words: assignments to p0 … p9 from expressions over them, numbers, sqrt() and fma().
 *
 * It does what an optimising compiler does with such a loop body: what does not depend on p0 is computed once, outside;
 * a product that is added to something is one operation where the machine fuses them.
 */
#include "target/model/text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VARIABLES = 10, DEPTH_MAX = 64 };

struct value {
	bool varies;  /* depends on p0 */
	double ready; /* cycles after p0 was */
	bool product; /* just multiplied, from operands that were ready at: */
	double before;
};

struct compiler {
	const struct xr_machine *machine;
	enum xr_type type;
	const char *at;
	struct value variable[VARIABLES];
	struct xr_text_cost *out;
	char *reason;
	int depth;
	bool does; /* something that no compiler removes */
	bool failed;
};

static struct value fail(struct compiler *c, bool malformed, const char *what)
{
	if (!c->failed) {
		snprintf(c->reason, 128, "%s", what);
		c->out->malformed = malformed;
	}
	c->failed = true;
	return (struct value){0};
}

static double max(double a, double b)
{
	return a > b ? a : b;
}

/* ---- operations ---- */

/* Adds (or with sign -1 takes back) the cost of an operation; returns its latency. */
static double spend(struct compiler *c, enum xr_op op, double sign)
{
	struct xr_machine_op cost;
	double software = xr_types[c->type].vector ? 0 : c->machine->emulated[c->type];
	int pieces = xr_machine_pieces(c->machine, c->type);
	if (software > 0) {
		c->out->software += sign * software;
		c->out->calls += sign;
		return software;
	}
	if (!xr_op_has_type(op, c->type) || !xr_core_op(c->machine, op, c->type, &cost)) {
		char what[96];
		snprintf(what, sizeof what, "the machine has no %s on %s", xr_ops[op].name, xr_types[c->type].name);
		fail(c, false, what);
		return 0;
	}
	c->out->slots += sign * pieces;
	if (cost.unit >= 0)
		c->out->unit[cost.unit] += sign * pieces * cost.busy;
	return cost.latency;
}

static struct value operate(struct compiler *c, enum xr_op op, struct value a, struct value b)
{
	double ready = max(a.varies ? a.ready : 0, b.varies ? b.ready : 0);
	if (c->failed || !(a.varies || b.varies))
		return (struct value){0}; /* computed once, outside */
	if ((op == XR_ADD || op == XR_SUB) && (a.product || b.product) && xr_machine_op(c->machine, XR_FMA, c->type)) {
		struct value product = a.product ? a : b, other = a.product ? b : a;
		spend(c, XR_MUL, -1);
		return (struct value){.varies = true,
		                      .ready = max(product.before, other.varies ? other.ready : 0) +
		                               spend(c, XR_FMA, 1)};
	}
	return (struct value){
		.varies = true, .ready = ready + spend(c, op, 1), .product = op == XR_MUL, .before = ready};
}

/* ---- words ---- */

static void blanks(struct compiler *c)
{
	while (isspace((unsigned char)*c->at))
		c->at++;
}

static bool take(struct compiler *c, const char *word)
{
	blanks(c);
	if (strncmp(c->at, word, strlen(word)))
		return false;
	c->at += strlen(word);
	return true;
}

/* A binary operator that is not the beginning of an assignment. */
static bool take_operator(struct compiler *c, const char *word)
{
	blanks(c);
	size_t n = strlen(word);
	if (strncmp(c->at, word, n) || c->at[n] == '=' || (n == 1 && c->at[1] == c->at[0]))
		return false;
	c->at += n;
	return true;
}

/* Index of a variable p0 … p9, or -1 when there is none here. */
static int take_variable(struct compiler *c)
{
	blanks(c);
	if (c->at[0] != 'p' || !isdigit((unsigned char)c->at[1]) || isalnum((unsigned char)c->at[2]) || c->at[2] == '_')
		return -1;
	c->at += 2;
	return c->at[-1] - '0';
}

/* ---- expressions ---- */

static struct value expression(struct compiler *c, int level);

static struct value call(struct compiler *c, enum xr_op op, int operands)
{
	struct value v[3] = {{0}};
	for (int i = 0; i < operands; i++) {
		v[i] = expression(c, 0);
		if (!take(c, i + 1 < operands ? "," : ")"))
			return fail(c, true, i + 1 < operands ? "expected ','" : "expected ')'");
	}
	if (op == XR_FMA && !xr_machine_op(c->machine, XR_FMA, c->type))
		return operate(c, XR_ADD, operate(c, XR_MUL, v[0], v[1]), v[2]);
	struct value first = operate(c, op, v[0], v[1]);
	if (op == XR_FMA && v[2].varies)
		first.ready = max(first.ready, v[2].ready);
	return first;
}

static struct value primary(struct compiler *c)
{
	static const struct {
		const char *name;
		enum xr_op op;
		int operands;
	} functions[] = {{"sqrtf(", XR_SQRT, 1}, {"sqrt(", XR_SQRT, 1}, {"fmaf(", XR_FMA, 3},
	                 {"fma(", XR_FMA, 3},    {"fminf(", XR_MIN, 2}, {"fmin(", XR_MIN, 2}};
	int variable = take_variable(c);
	if (variable >= 0)
		return c->variable[variable];
	if (c->failed || ++c->depth > DEPTH_MAX)
		return fail(c, true, "too deep for the model's compiler");
	struct value v = {0};
	if (take(c, "(")) {
		v = expression(c, 0);
		v.product = false; /* the parentheses may mean it, but a compiler would not care: harmless either way */
		if (!take(c, ")"))
			fail(c, true, "expected ')'");
	} else if (take(c, "-")) {
		v = operate(c, XR_SUB, (struct value){0}, primary(c));
	} else if (take(c, "~")) {
		v = operate(c, XR_XOR, primary(c), (struct value){0});
	} else if (isdigit((unsigned char)*c->at) || *c->at == '.') {
		char *end;
		strtod(c->at, &end);
		c->at = end;
		while (isalpha((unsigned char)*c->at))
			c->at++;
	} else {
		size_t i = 0;
		while (i < sizeof functions / sizeof *functions && !take(c, functions[i].name))
			i++;
		if (i == sizeof functions / sizeof *functions)
			fail(c, true,
			     "the model's compiler knows p0 to p9, numbers, + - * / % & | ^ << >>, sqrt, fma and fmin");
		else
			v = call(c, functions[i].op, functions[i].operands);
	}
	c->depth--;
	return v;
}

static const struct {
	int level;
	const char *word;
	enum xr_op op;
} operators[] = {{0, "|", XR_OR},  {1, "^", XR_XOR}, {2, "&", XR_AND}, {3, "<<", XR_SHL}, {3, ">>", XR_SHR},
                 {4, "+", XR_ADD}, {4, "-", XR_SUB}, {5, "*", XR_MUL}, {5, "/", XR_DIV},  {5, "%", XR_MOD}};
enum { N_OPERATORS = sizeof operators / sizeof *operators, LEVELS = 6 };

static struct value expression(struct compiler *c, int level)
{
	if (level == LEVELS)
		return primary(c);
	struct value v = expression(c, level + 1);
	for (int i = 0; i < N_OPERATORS && !c->failed; i++)
		if (operators[i].level == level && take_operator(c, operators[i].word)) {
			v = operate(c, operators[i].op, v, expression(c, level + 1));
			i = -1; /* left to right: look again */
		}
	return v;
}

/* ---- statements ---- */

/* p0 = p0: nothing is left of it. */
static bool is_itself(struct compiler *c, int to)
{
	const char *back = c->at;
	bool itself = take_variable(c) == to;
	blanks(c);
	itself = itself && (!*c->at || *c->at == ';');
	c->at = back;
	return itself;
}

static void statement(struct compiler *c)
{
	int to = take_variable(c);
	bool does = c->does;
	c->does = true;
	if (to < 0) {
		fail(c, true, "expected an assignment to p0 … p9");
		return;
	}
	for (int i = 0; i < N_OPERATORS; i++) {
		char word[4];
		snprintf(word, sizeof word, "%s=", operators[i].word);
		if (take(c, word)) {
			struct value right = expression(c, 0);
			c->variable[to] = operate(c, operators[i].op, c->variable[to], right);
			return;
		}
	}
	if (take(c, "++") || take(c, "--"))
		c->variable[to] = operate(c, XR_ADD, c->variable[to], (struct value){0});
	else if (take(c, "=")) {
		c->does = does || !is_itself(c, to);
		c->variable[to] = expression(c, 0);
	} else {
		fail(c, true, "expected '='");
	}
}

int xr_text_cost(const struct xr_machine *machine, const char *text, enum xr_type type, struct xr_text_cost *out,
                 char reason[static 128])
{
	struct compiler c = {.machine = machine, .type = type, .at = text, .out = out, .reason = reason};
	*out = (struct xr_text_cost){0};
	c.variable[0].varies = true;
	while (!c.failed) {
		blanks(&c);
		if (!*c.at)
			break;
		if (take(&c, ";"))
			continue;
		statement(&c);
		blanks(&c);
		if (!c.failed && *c.at && *c.at != ';')
			fail(&c, true, "expected ';'");
	}
	if (c.failed)
		return -1;
	out->latency = c.variable[0].varies ? c.variable[0].ready : 0;
	if (!(out->slots > 0) && !(out->software > 0))
		out->slots = c.does; /* at least the assignment itself is done */
	return 0;
}
