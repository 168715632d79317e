/* SPDX-License-Identifier: MIT */
#include "target/model/core.h"

#include "nano/emit.h"
#include "target/model/text.h"

#include <stdio.h>
#include <string.h>

/* What a statement waits that finds out that it was rounded once (XR_FUSED): anything much longer than the rest of
 * it. */
static const double linger_cycles = 100;

/* What one statement of a stream asks for. */
struct statement {
	double latency; /* through its operand on the chain */
	double slots, software, calls;
	double unit[XR_MACHINE_UNITS];
	int pieces;
};

double xr_core_load_cycles(const struct xr_machine *machine)
{
	for (int i = 0; i < machine->n_caches; i++)
		if (machine->cache[i].holds & XR_HOLDS_DATA)
			return machine->cache[i].latency;
	return machine->memory_latency;
}

int xr_core_mem_unit(const struct xr_machine *machine)
{
	return xr_machine_unit(machine, "mem");
}

double xr_core_reference(const struct xr_machine *machine)
{
	const struct xr_machine_op *add = xr_machine_op(machine, XR_ADD, XR_I64);
	return add ? add->latency : machine->emulated[XR_I64] > 0 ? machine->emulated[XR_I64] : 1.0;
}

static void use(struct statement *s, const struct xr_machine_op *op)
{
	s->latency += op->latency;
	s->slots += s->pieces;
	if (op->unit >= 0)
		s->unit[op->unit] += op->busy * s->pieces;
}

/* Costs of the operations that machine files need not mention: memory, branch, shuffle. */
static bool plain_cost(const struct xr_machine *machine, enum xr_op op, struct xr_machine_op *out)
{
	int mem = xr_core_mem_unit(machine), alu = xr_machine_unit(machine, "alu");
	*out = (struct xr_machine_op){.there = true, .latency = 1, .busy = 1, .unit = mem};
	switch (op) {
	case XR_LOAD:
		out->latency = xr_core_load_cycles(machine);
		return true;
	case XR_STORE:
		return true;
	case XR_FORWARD:
	case XR_FORWARD_LOCAL:
	case XR_FORWARD_POINTER:
		out->latency = machine->spill_cycles > 1 ? machine->spill_cycles : 1;
		out->busy = 2; /* a store and a load */
		return true;
	case XR_BRANCH:
	case XR_COIN:
		out->unit = xr_machine_unit(machine, "branch") >= 0 ? xr_machine_unit(machine, "branch") : alu;
		return true;
	case XR_SHUFFLE:
		out->unit = xr_machine_unit(machine, "shuffle") >= 0 ? xr_machine_unit(machine, "shuffle")
		            : xr_machine_unit(machine, "fp") >= 0    ? xr_machine_unit(machine, "fp")
		                                                     : alu;
		return true;
	default:
		return false;
	}
}

/* Has the machine values of this type at all? */
static bool has_type(const struct xr_machine *machine, enum xr_type type)
{
	if (machine->emulated[xr_types[type].element] > 0)
		return !xr_types[type].vector;
	if (xr_types[type].vector)
		return xr_machine_pieces(machine, type) > 0;
	return !xr_types[type].fp || machine->registers_fp > 0;
}

static int add_operation(const struct xr_machine *machine, enum xr_op op, enum xr_type type, struct statement *s,
                         char reason[static 128])
{
	struct xr_machine_op plain;
	const struct xr_machine_op *cost = xr_machine_op(machine, op, type);
	if (machine->emulated[xr_types[type].element] > 0 && op < XR_LOAD && !xr_types[type].vector) {
		s->software += machine->emulated[xr_types[type].element];
		s->calls += 1;
		return 0;
	}
	if (has_type(machine, type) && xr_op_has_type(op, type)) {
		if (cost) {
			use(s, cost);
			return 0;
		}
		if (op == XR_FMA && xr_machine_op(machine, XR_MUL, type) && xr_machine_op(machine, XR_ADD, type)) {
			use(s, xr_machine_op(machine, XR_MUL, type)); /* what a compiler makes of p * q + r there */
			use(s, xr_machine_op(machine, XR_ADD, type));
			return 0;
		}
		if (plain_cost(machine, op, &plain)) {
			use(s, &plain);
			s->slots += plain.busy > 1 ? s->pieces : 0;
			return 0;
		}
	}
	snprintf(reason, 128, "the machine has no %s on %s", xr_ops[op].name, xr_types[type].name);
	return -1;
}

bool xr_core_op(const struct xr_machine *machine, enum xr_op op, enum xr_type type, struct xr_machine_op *out)
{
	const struct xr_machine_op *cost = xr_machine_op(machine, op, type);
	if (cost)
		*out = *cost;
	return cost || (has_type(machine, type) && xr_op_has_type(op, type) && plain_cost(machine, op, out));
}

/* -1: not on this machine; -2: not a statement. */
static int statement_text(const struct xr_machine *machine, const struct xr_stream *stream, struct statement *s,
                          char reason[static 128])
{
	struct xr_text_cost cost;
	if (!has_type(machine, stream->type)) {
		snprintf(reason, 128, "the machine has no %s", xr_types[stream->type].name);
		return -1;
	}
	if (xr_text_cost(machine, stream->text ? stream->text : "", stream->type, &cost, reason))
		return cost.malformed ? -2 : -1;
	s->latency = cost.latency;
	s->slots = cost.slots;
	s->software = cost.software;
	s->calls = cost.calls;
	memcpy(s->unit, cost.unit, sizeof s->unit);
	return 0;
}

static int statement_of(const struct xr_machine *machine, const struct xr_stream *stream, struct statement *s,
                        char reason[static 128])
{
	*s = (struct statement){.pieces = xr_machine_pieces(machine, stream->type)};
	if (stream->op == XR_TEXT)
		return statement_text(machine, stream, s, reason);
	enum xr_op op = stream->op == XR_FUSED ? XR_FMA : stream->op;
	if (add_operation(machine, op, stream->type, s, reason))
		return -1;
	if (stream->values == XR_LONG && stream->op == XR_COIN)
		s->software += machine->mispredict / 2; /* half of them go the way that was not predicted */
	if (stream->values == XR_LONG && stream->op == XR_FUSED && xr_machine_op(machine, XR_FMA, stream->type))
		s->software += linger_cycles;
	int extra = stream->link == XR_FRESH ? -1 : xr_op_extra(stream->op, stream->type);
	return extra < 0 ? 0 : add_operation(machine, (enum xr_op)extra, stream->type, s, reason);
}

enum file_of { FILE_INT, FILE_FP, FILE_VECTOR, N_FILES };

static enum file_of register_file(const struct xr_machine *machine, enum xr_type type)
{
	if (xr_types[type].vector)
		return FILE_VECTOR;
	return xr_types[type].fp && !(machine->emulated[type] > 0) ? FILE_FP : FILE_INT;
}

/* How many variables of each stream do not fit: the last ones of the last streams. */
static void find_spills(const struct xr_machine *machine, const struct xr_ops_spec *ops, const struct statement *s,
                        int *spilled)
{
	const int registers[N_FILES] = {machine->registers_int, machine->registers_fp, machine->registers_vector};
	int taken[N_FILES] = {0};
	for (int i = 0; i < ops->n_streams; i++) {
		enum file_of file = register_file(machine, ops->stream[i].type);
		int room = (registers[file] - taken[file]) / s[i].pieces;
		int fits = room < 0 ? 0 : room < ops->stream[i].n ? room : ops->stream[i].n;
		spilled[i] = ops->stream[i].n - fits;
		taken[file] += fits * s[i].pieces;
	}
}

static int gcd(int a, int b)
{
	return b ? gcd(b, a % b) : a;
}

static double max(double a, double b)
{
	return a > b ? a : b;
}

/* Cycles per statement of the longest dependence in a stream of n variables, the last `spilled` of them in memory. */
static double chain_of(const struct xr_stream *stream, double latency, double spill, int spilled)
{
	int n = stream->n;
	double own = (latency + (spilled ? spill : 0)) / n; /* each variable to itself, one turn later */
	if (stream->op == XR_STORE || stream->op == XR_BRANCH || stream->link == XR_FRESH)
		return 0;
	if (stream->link == XR_SELF)
		return own;
	if (stream->link == XR_NEXT)
		return latency + spill * spilled / n;
	int distance = n / 2 > 0 ? n / 2 : 1, orbits = gcd(n, distance), worst = 0;
	for (int r = 0; r < orbits; r++) {
		int count = 0;
		for (int i = r; i < n; i += orbits)
			count += i >= n - spilled;
		worst = count > worst ? count : worst;
	}
	return max(own, (latency + spill * worst * orbits / n) / distance);
}

int xr_core_demand(const struct xr_machine *machine, const struct xr_ops_spec *ops, struct xr_demand *out,
                   char reason[static 128])
{
	struct statement s[XR_STREAMS_MAX];
	int spilled[XR_STREAMS_MAX] = {0}, mem = xr_core_mem_unit(machine);
	double length = 0;

	*out = (struct xr_demand){0};
	for (int i = 0; i < ops->n_streams; i++) {
		int status = statement_of(machine, &ops->stream[i], &s[i], reason);
		if (status)
			return status;
		length += ops->stream[i].share ? ops->stream[i].share : ops->stream[i].n;
	}
	find_spills(machine, ops, s, spilled);
	for (int i = 0; i < ops->n_streams; i++) {
		const struct xr_stream *stream = &ops->stream[i];
		double part = (stream->share ? stream->share : stream->n) / length;
		double uses = stream->link == XR_HALF || stream->link == XR_NEXT ? 2 : 1;
		double refs = uses * spilled[i] / stream->n * s[i].pieces;

		out->slots += part * (s[i].slots + refs);
		out->software += part * s[i].software;
		out->calls += part * s[i].calls;
		out->insns += part * (s[i].slots + refs + s[i].calls);
		out->stack_refs += part * refs;
		for (int u = 0; u < machine->n_units; u++)
			out->unit[u] += part * (s[i].unit[u] + (u == mem ? refs : 0));
		double chain = chain_of(stream, s[i].latency, machine->spill_cycles, s[i].calls > 0 ? 0 : spilled[i]);
		out->chain = max(out->chain, part * chain);
	}
	out->loop = 1.0 / xr_ops_body(ops);
	return 0;
}

double xr_core_cycles(const struct xr_machine *machine, const struct xr_demand *demand)
{
	double cycles = max(demand->slots / machine->width, demand->chain);
	for (int u = 0; u < machine->n_units; u++) {
		const bool halved = machine->unit_left > 0 && machine->shared_units >> u & 1;
		cycles = max(cycles, demand->unit[u] / machine->unit[u].count / (halved ? machine->unit_left : 1));
	}
	return max(cycles + demand->software, demand->loop);
}

double xr_core_contention(const struct xr_machine *machine, const struct xr_demand *const *demand, int n)
{
	double stretch = 1;
	for (int u = 0; u < machine->n_units; u++) {
		double used = 0;
		if (!(machine->shared_units >> u & 1) || demand[0]->unit[u] <= 0)
			continue;
		for (int i = 0; i < n; i++)
			used += demand[i]->unit[u] / machine->unit[u].count / xr_core_cycles(machine, demand[i]);
		stretch = max(stretch, used);
	}
	return stretch;
}
