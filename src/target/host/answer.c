/* SPDX-License-Identifier: MIT */
#include "target/host/answer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static enum xr_answer_kind read_any(const char *line, struct xr_answer *a)
{
	int at = 0, hit;
	char kind;
	struct xr_raw *raw = &a->raw;
	if (sscanf(line, "s %zu %lf %lf %lf %lf %lf %d", &a->index, &raw->long_ns, &raw->long_ops, &raw->short_ns,
	           &raw->short_ops, &raw->ref_ns, &hit) == 7) {
		raw->hit = hit != 0;
		raw->how_much = hit;
		return XR_ANSWER_SAMPLE;
	}
	double *e = a->event;
	if (sscanf(line, "e %zu %lf %lf %lf %lf %lf %lf %lf %lf", &a->index, &e[0], &e[1], &e[2], &e[3], &e[4], &e[5],
	           &e[6], &e[7]) == 9)
		return XR_ANSWER_EVENTS;
	if (sscanf(line, "try %zu", &a->index) == 1)
		return XR_ANSWER_TRY;
	if (sscanf(line, "ok %zu %lf", &a->index, &a->code_bytes) == 2)
		return XR_ANSWER_READY;
	if (sscanf(line, "bad %zu %c %n", &a->index, &kind, &at) >= 2) {
		a->unsupported = kind == 'u';
		a->reason = at ? line + at : "";
		return XR_ANSWER_BAD;
	}
	return XR_ANSWER_NONE;
}

/* A word of the agent's, and a number: no other program talks like that by chance. */
static bool begins_like_one(const char *line)
{
	static const char *const words[] = {"s ", "e ", "try ", "ok ", "bad "};
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		size_t n = strlen(words[i]);
		if (!strncmp(line, words[i], n) && strspn(line + n, "-0123456789"))
			return true;
	}
	return false;
}

enum xr_answer_kind xr_answer_read(const char *line, size_t n_asked, struct xr_answer *answer)
{
	*answer = (struct xr_answer){0};
	int n = sscanf(line, "done %lf %lf %d %lu", &answer->left_ns, &answer->quiet_ns, &answer->cpu, &answer->turn);
	if (n > 0)
		return n == 4 && answer->left_ns >= 0 && answer->quiet_ns >= 0 ? XR_ANSWER_DONE : XR_ANSWER_WRONG;
	enum xr_answer_kind kind = read_any(line, answer);
	if (kind == XR_ANSWER_NONE)
		return begins_like_one(line) ? XR_ANSWER_WRONG : XR_ANSWER_NONE;
	return answer->index < n_asked ? kind : XR_ANSWER_WRONG;
}

void xr_answer_events(const struct xr_spec *spec, const struct xr_answer *answer, struct xr_events *events)
{
	const double *event = answer->event;
	const bool code = spec->kind == XR_WALK;
	const double cache = event[code ? XR_COUNT_L1I : XR_COUNT_L1D],
		     tlb = event[code ? XR_COUNT_ITLB : XR_COUNT_DTLB];
	*events = (struct xr_events){.counted = true,
	                             .no_cache = !(cache >= 0),
	                             .no_tlb = !(tlb >= 0),
	                             .cycles = fmax(0, event[XR_COUNT_CYCLES]),
	                             .insns = fmax(0, event[XR_COUNT_INSNS]),
	                             .cache_miss = {fmax(0, cache)},
	                             .tlb_miss = {fmax(0, tlb)},
	                             .switches = fmax(0, event[XR_COUNT_SWITCHES]),
	                             .faults = fmax(0, event[XR_COUNT_FAULTS])};
}
