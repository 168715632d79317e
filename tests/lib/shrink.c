/* SPDX-License-Identifier: MIT */
#include "shrink.h"
#include "truth.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool still_bad(const struct xr_machine *machine, uint64_t seed, const char *id)
{
	struct xr_error err = {0};
	const char *select[] = {id};
	struct xr_description *d = measure_machine(machine, select, 1, seed, &err);
	const struct xr_fact *fact = d ? xr_description_fact(d, id) : NULL;
	bool sure, bad = d && !fact;
	if (fact) {
		enum verdict v = judge(machine, fact, &sure);
		bad = v == WRONG || v == MISSED;
	}
	xr_description_free(d);
	return bad;
}

static void quiet(struct xr_machine *m, int i)
{
	(void)i;
	m->jitter = m->interrupts_hz = m->interrupt_us = m->drift = m->preempt_hz = m->preempt_ms = 0;
	m->step = m->step_ms = m->ramp = m->ramp_ms = m->low = 0;
}

static void no_interrupts(struct xr_machine *m, int i)
{
	(void)i;
	m->interrupts_hz = m->preempt_hz = 0;
}

static void steady_clock(struct xr_machine *m, int i)
{
	(void)i;
	m->drift = m->step = m->ramp = 0;
}

static void no_prefetch(struct xr_machine *m, int i)
{
	(void)i;
	m->prefetch_adjacent = m->prefetch_stride = m->prefetch_stream = 0;
}

static void one_core(struct xr_machine *m, int i)
{
	(void)i;
	m->cores = m->smt = m->nodes = 1;
	for (int c = 0; c < m->n_caches; c++)
		m->cache[c].shared_by = 1;
}

static void drop_cache(struct xr_machine *m, int i)
{
	if (i >= m->n_caches)
		return;
	memmove(&m->cache[i], &m->cache[i + 1], sizeof m->cache[0] * (size_t)(m->n_caches - i - 1));
	m->n_caches--;
}

static void drop_tlb(struct xr_machine *m, int i)
{
	if (i >= m->n_tlbs)
		return;
	memmove(&m->tlb[i], &m->tlb[i + 1], sizeof m->tlb[0] * (size_t)(m->n_tlbs - i - 1));
	m->n_tlbs--;
}

static void plain_cache(struct xr_machine *m, int i)
{
	if (i >= m->n_caches)
		return;
	m->cache[i].policy = XR_LRU;
	m->cache[i].inclusion = XR_INCLUSION_NONE;
	m->cache[i].index = XR_VIRTUAL;
	if (m->cache[i].hash && !(xr_machine_sets(&m->cache[i]) & (xr_machine_sets(&m->cache[i]) - 1)))
		m->cache[i].hash = 0;
}

static void straight_pages(struct xr_machine *m, int i)
{
	(void)i;
	m->placement = XR_PLACE_CONTIGUOUS;
	m->resizing = 0;
}

static const struct step {
	void (*simplify)(struct xr_machine *machine, int i);
	int times;
} steps[] = {
	{quiet, 1},
	{no_interrupts, 1},
	{steady_clock, 1},
	{no_prefetch, 1},
	{one_core, 1},
	{drop_cache, XR_MACHINE_CACHES},
	{drop_tlb, XR_MACHINE_TLBS},
	{plain_cache, XR_MACHINE_CACHES},
	{straight_pages, 1},
};

bool shrink(struct xr_machine *machine, uint64_t seed, const char *id)
{
	if (!still_bad(machine, seed, id))
		return false;
	for (size_t s = 0; s < sizeof steps / sizeof *steps; s++)
		for (int i = steps[s].times - 1; i >= 0; i--) {
			struct xr_machine simpler = *machine;
			struct xr_error err;
			steps[s].simplify(&simpler, i);
			if (memcmp(&simpler, machine, sizeof simpler) && !xr_machine_check(&simpler, "shrunk", &err) &&
			    still_bad(&simpler, seed, id))
				*machine = simpler;
		}
	return true;
}

struct absent {
	const struct xr_description *d;
	const char *id;
	int n;
};

static void show_absent(void *self, const char *id)
{
	struct absent *a = self;
	if (xr_description_fact(a->d, id) || (a->id && strcmp(a->id, id)))
		return;
	printf("MISSED %-34s not looked for\n", id);
	a->n++;
}

int show_verdicts(const struct xr_machine *machine, const struct xr_description *d, const char *id)
{
	static const char *const words[] = {"right", "WRONG", "MISSED"};
	int bad = 0;
	for (size_t i = 0; i < xr_description_count(d); i++) {
		const struct xr_fact *fact = xr_description_at(d, i);
		bool sure;
		enum verdict v = judge(machine, fact, &sure);
		if (v == NO_TRUTH || (id && strcmp(id, fact->id)))
			continue;
		json_t *truth = xr_model_truth(machine, fact->id);
		char *found = fact->value ? json_dumps(fact->value, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
		char *should = json_dumps(truth, JSON_ENCODE_ANY | JSON_COMPACT);
		printf("%-6s %-34s found %s (%.2f%s%s) truth %s\n", words[v], fact->id, found ? found : "nothing",
		       fact->confidence, fact->reason ? ", " : "", fact->reason ? fact->reason : "",
		       should ? should : "?");
		bad += v != RIGHT;
		free(found);
		free(should);
		json_decref(truth);
	}
	struct absent absent = {d, id, 0};
	xr_model_truth_ids(machine, show_absent, &absent);
	return bad + absent.n;
}
