/* SPDX-License-Identifier: MIT */
/* Forms: chains side by side need as many variables as operations in flight; statements that carry nothing on
 * (XR_FRESH) need few, but cost a move where instructions overwrite an operand. So both are timed, and the quickest is
 * kept; of equals the one with fewer instructions, then the one with fewer variables, for in a mix all of them must fit
 * into registers.
 */
#include "method/mixes.h"

#include "method/steady.h"

#include <math.h>
#include <string.h>

enum { FORMS = 5, UNROLL = 64, ROUND_MOST = 60, FRESH_VARIABLES = 3 };
static const double as_quick = 1.03, balanced = 0.06;

static bool carries_nothing(enum xr_op op)
{
	return op == XR_STORE || op == XR_BRANCH;
}

/* The forms of one operation, fewest variables first; returns their number. */
static int forms_of(const struct xr_part *part, struct xr_stream *form)
{
	static const int chains[] = {4, 8, 12};
	int n = 0;
	struct xr_stream s = {.op = part->op, .type = part->type, .n = 1};
	if (carries_nothing(part->op)) {
		form[n++] = s;
		return n;
	}
	s.link = XR_FRESH;
	form[n++] = s;
	form[n] = s;
	form[n++].n = FRESH_VARIABLES;
	s.link = XR_SELF;
	for (size_t i = 0; i < sizeof chains / sizeof *chains && part->op != XR_LOAD; i++) {
		form[n] = s;
		form[n++].n = chains[i];
	}
	return n;
}

static bool is_usable(const struct xr_reading *r)
{
	return r->status == XR_READ_OK && r->cycles > 0 && r->look.stack_refs < 0.05;
}

static void keep_best(struct xr_part *part, const struct xr_stream *form, const struct xr_reading *r, int n)
{
	double least = INFINITY, insns = INFINITY;
	for (int i = 0; i < n; i++)
		if (is_usable(&r[i]))
			least = fmin(least, r[i].cycles);
	for (int i = 0; i < n; i++)
		if (is_usable(&r[i]) && r[i].cycles <= as_quick * least)
			insns = fmin(insns, r[i].look.insns);
	for (int i = 0; i < n; i++) {
		if (!is_usable(&r[i]) || r[i].cycles > as_quick * least || r[i].look.insns > insns + 0.2)
			continue;
		part->stream = form[i];
		part->cycles = r[i].cycles;
		part->insns = r[i].look.looked ? r[i].look.insns : 0;
		part->spread = r[i].spread;
		return;
	}
	part->status = r[0].status == XR_READ_UNSUPPORTED || r[0].refused ? XR_UNSUPPORTED : XR_FAILED;
	part->reason = r[0].reason ? r[0].reason : "its variables do not fit into registers";
}

int xr_parts_find(struct xr_parts *parts)
{
	struct xr_spec spec[XR_PORT_OPS * FORMS];
	struct xr_reading reading[XR_PORT_OPS * FORMS];
	struct xr_stream form[XR_PORT_OPS][FORMS];
	int first[XR_PORT_OPS] = {0}, count[XR_PORT_OPS] = {0}, n = 0;

	for (int i = 0; i < parts->n; i++) {
		first[i] = n;
		count[i] = forms_of(&parts->part[i], form[i]);
		for (int k = 0; k < count[i]; k++) {
			spec[n] = xr_spec_mix(&form[i][k], 1);
			spec[n].ops.flavour = parts->flavour;
			spec[n++].ops.unroll = UNROLL;
		}
	}
	if (xr_time_steadily(parts->run, spec, (size_t)n, false, reading, &parts->noisy))
		return -1;
	for (int i = 0; i < parts->n; i++) {
		struct xr_part *part = &parts->part[i];
		const struct xr_reading *r = &reading[first[i]];
		if (r->status == XR_READ_OK && r->look.calls >= 0.5) {
			part->status = XR_UNSUPPORTED;
			part->reason = "done by a library function, not by an instruction";
			continue;
		}
		keep_best(part, form[i], r, count[i]);
	}
	return 0;
}

/* How far apart the parts' times are when the slowest gets `slow` of its kind. */
static double imbalance(const struct xr_parts *parts, struct xr_mix *mix, double time)
{
	double off = 0;
	for (int i = 0; i < mix->n; i++) {
		double alone = parts->part[mix->op[i]].cycles;
		mix->count[i] = fmax(1, round(time / alone));
		off = fmax(off, fabs(mix->count[i] * alone / time - 1));
	}
	return off;
}

static double total(const struct xr_mix *mix)
{
	double n = 0;
	for (int i = 0; i < mix->n; i++)
		n += mix->count[i];
	return n;
}

void xr_mix_balance(const struct xr_parts *parts, struct xr_mix *mix)
{
	double slowest = 0, best_time = 0, best_off = INFINITY;
	for (int i = 0; i < mix->n; i++)
		slowest = fmax(slowest, parts->part[mix->op[i]].cycles);
	for (int slow = 1; slow <= 12; slow++) {
		double time = slow * slowest, off = imbalance(parts, mix, time);
		if (slow > 1 && total(mix) > ROUND_MOST)
			break;
		if (off < best_off - 0.005) {
			best_off = off;
			best_time = time;
		}
		if (off <= balanced)
			break;
	}
	imbalance(parts, mix, best_time);
	for (int i = 0; i < mix->n; i++) /* beside something very slow: as many as there is room for */
		mix->count[i] = fmin(mix->count[i], ROUND_MOST);
}

struct xr_spec xr_mix_spec(const struct xr_parts *parts, const struct xr_mix *mix)
{
	struct xr_stream stream[XR_MIX_OPS];
	for (int i = 0; i < mix->n; i++) {
		stream[i] = parts->part[mix->op[i]].stream;
		stream[i].share = (int)mix->count[i];
	}
	struct xr_spec spec = xr_spec_mix(stream, mix->n);
	spec.ops.flavour = parts->flavour;
	spec.ops.unroll = UNROLL;
	return spec;
}

/* Targets compile neighbours of one type together: fewer runs of the compiler. */
static void sort_by_type(const struct xr_parts *parts, struct xr_mix *mix, size_t n)
{
	for (size_t i = 1; i < n; i++)
		for (size_t k = i; k > 0 && parts->part[mix[k].op[0]].type < parts->part[mix[k - 1].op[0]].type; k--) {
			struct xr_mix swap = mix[k];
			mix[k] = mix[k - 1];
			mix[k - 1] = swap;
		}
}

int xr_mixes_time(struct xr_parts *parts, struct xr_mix *mix, size_t *n, bool alone)
{
	struct xr_arena *arena = xr_run_arena(parts->run);
	struct xr_spec *spec = xr_arena_array(arena, struct xr_spec, *n + XR_PORT_OPS);
	struct xr_reading *reading = xr_arena_array(arena, struct xr_reading, *n + XR_PORT_OPS);
	size_t first = 0, kept = 0;

	for (int i = 0; i < parts->n && alone; i++)
		if (parts->part[i].cycles > 0) {
			spec[first] = xr_spec_mix(&parts->part[i].stream, 1);
			spec[first].ops.flavour = parts->flavour;
			spec[first++].ops.unroll = UNROLL;
		}
	sort_by_type(parts, mix, *n);
	for (size_t i = 0; i < *n; i++)
		spec[first + i] = xr_mix_spec(parts, &mix[i]);
	if (xr_time_steadily(parts->run, spec, first + *n, false, reading, &parts->noisy))
		return -1;
	for (size_t i = 0, at = 0; at < first; i++)
		if (parts->part[i].cycles > 0) {
			const struct xr_reading *r = &reading[at++];
			if (r->status == XR_READ_OK)
				parts->part[i].cycles = r->cycles;
		}
	for (size_t i = 0; i < *n; i++) {
		const struct xr_reading *r = &reading[first + i];
		if (!is_usable(r))
			continue;
		mix[kept] = mix[i];
		mix[kept].cycles = r->cycles * total(&mix[i]);
		kept++;
	}
	*n = kept;
	return 0;
}
