#include "target/model/machine.h"

#include <inttypes.h>
#include <string.h>

static const char *yes(int flag)
{
	return flag ? "yes" : "no";
}

static void put_size(FILE *out, const char *key, uint64_t bytes)
{
	static const char letters[] = "\0KMG";
	int i = 0;
	while (i < 3 && bytes && bytes % 1024 == 0) {
		bytes /= 1024;
		i++;
	}
	fprintf(out, "%s = %" PRIu64, key, bytes);
	if (i)
		fputc(letters[i], out);
	fputc('\n', out);
}

static void put_ways(FILE *out, uint64_t ways)
{
	if (ways)
		fprintf(out, "ways = %" PRIu64 "\n", ways);
	else
		fprintf(out, "ways = full\n");
}

static void put_core(const struct xr_machine *m, FILE *out)
{
	fprintf(out, "[target]\nkind = simulated\nname = %s\n\n[cpu]\nmhz = %.12g\nwidth = %d\nunits =", m->name,
	        m->mhz, m->width);
	for (int i = 0; i < m->n_units; i++)
		fprintf(out, " %s:%d", m->unit[i].name, m->unit[i].count);
	fprintf(out, "\ntimer_ns = %.12g\ntimer_cost_ns = %.12g\n", m->timer_ns, m->timer_cost_ns);
	fprintf(out, "\n[registers]\nint = %d\nfp = %d\nvector = %d\nvector_bytes = %d\nspill_cycles = %.12g\n",
	        m->registers_int, m->registers_fp, m->registers_vector, m->vector_bytes, m->spill_cycles);
}

static void put_op(const struct xr_machine_op *op, const char *name, const char *type, FILE *out)
{
	if (!op->there)
		return;
	fprintf(out, "\n[op %s %s]\nlatency = %.12g\nbusy = %.12g\n", name, type, op->latency, op->busy);
	if (op->unit_name[0])
		fprintf(out, "unit = %s\n", op->unit_name);
}

static void put_ops(const struct xr_machine *m, FILE *out)
{
	bool any_fma = false, any_emulated = false;
	for (int op = 0; op < XR_N_OPS; op++) {
		put_op(&m->class_op[op][XR_CLASS_INT], xr_ops[op].name, "int", out);
		put_op(&m->class_op[op][XR_CLASS_FP], xr_ops[op].name, "fp", out);
		for (int t = 0; t < XR_N_TYPES; t++)
			put_op(&m->type_op[op][t], xr_ops[op].name, xr_types[t].name, out);
	}
	for (int t = 0; t < XR_N_SCALARS; t++)
		if (m->fma_said[t]) {
			fprintf(out, "%s%s = %s\n", any_fma ? "" : "\n[fma]\n", xr_types[t].name, yes(m->fma[t]));
			any_fma = true;
		}
	for (int t = 0; t < XR_N_SCALARS; t++)
		if (m->emulated[t] > 0) {
			fprintf(out, "%s%s = %.12g\n", any_emulated ? "" : "\n[emulated]\n", xr_types[t].name,
			        m->emulated[t]);
			any_emulated = true;
		}
}

static const char *holds_name(int holds)
{
	return holds == XR_HOLDS_DATA ? "data" : holds == XR_HOLDS_CODE ? "code" : "both";
}

static void put_memory(const struct xr_machine *m, FILE *out)
{
	for (int i = 0; i < m->n_caches; i++) {
		const struct xr_machine_cache *c = &m->cache[i];
		fprintf(out, "\n[cache %s]\nholds = %s\n", c->name, holds_name(c->holds));
		put_size(out, "capacity", c->capacity);
		put_ways(out, c->ways);
		fprintf(out, "line = %" PRIu64 "\nlatency = %.12g\npolicy = %s\n", c->line_bytes, c->latency,
		        xr_policy_names[c->policy]);
		fprintf(out,
		        "write_allocate = %s\nwrite_back = %s\nindex = %s\ninclusion = %s\nshared_by = %d\nhash = %s\n",
		        yes(c->write_allocate), yes(c->write_back), c->index == XR_VIRTUAL ? "virtual" : "physical",
		        xr_inclusion_names[c->inclusion], c->shared_by, yes(c->hash));
		if (c->neighbours_gbs > 0)
			fprintf(out, "neighbours_gbs = %.12g\n", c->neighbours_gbs);
	}
	fprintf(out, "\n[memory]\nlatency = %.12g\nparallelism = %d\nbandwidth_gbs = %.12g\n", m->memory_latency,
	        m->parallelism, m->bandwidth_gbs);
	put_size(out, "size", m->memory_bytes);
	fprintf(out, "\n[page]\n");
	put_size(out, "size", m->page_bytes);
	if (m->huge_bytes)
		put_size(out, "huge", m->huge_bytes);
	else
		fprintf(out, "huge = none\n");
	fprintf(out, "placement = %s\nresizing = %s\nresizing_ms = %.12g\n",
	        m->placement == XR_PLACE_RANDOM ? "random" : "contiguous", yes(m->resizing), m->resizing_ms);
	for (int i = 0; i < m->n_tlbs; i++) {
		const struct xr_machine_tlb *t = &m->tlb[i];
		fprintf(out, "\n[tlb %s]\nholds = %s\nentries = %" PRIu64 "\n", t->name, holds_name(t->holds),
		        t->entries);
		put_ways(out, t->ways);
		fprintf(out, "penalty = %.12g\npolicy = %s\nfold = %s\n", t->penalty, xr_policy_names[t->policy],
		        yes(t->fold));
	}
	fprintf(out, "\n[prefetch]\nadjacent = %s\nstride = %s\nstream = %s\ndistance = %d\ncode = %s\n",
	        yes(m->prefetch_adjacent), yes(m->prefetch_stride), yes(m->prefetch_stream), m->prefetch_distance,
	        yes(m->prefetch_code));
}

void xr_machine_write(const struct xr_machine *m, FILE *out)
{
	put_core(m, out);
	put_ops(m, out);
	put_memory(m, out);
	fprintf(out,
	        "\n[threads]\ncores = %d\nsmt = %d\nshared_units = %s\nnodes = %d\nnear_ns = %.12g\nfar_ns = %.12g\n",
	        m->cores, m->smt, m->shared_names, m->nodes, m->near_ns, m->far_ns);
	if (m->second[0])
		fprintf(out, "second = %s\n", m->second);
	fprintf(out, "\n[os]\ntimeslice_ms = %.12g\nswitch_us = %.12g\n\n[branch]\nmispredict = %.12g\n",
	        m->timeslice_ms, m->switch_us, m->mispredict);
	fprintf(out, "\n[counters]\navailable = %s\n", yes(m->counters));
	fprintf(out, "\n[noise]\njitter = %.12g\ninterrupts_hz = %.12g\ninterrupt_us = %.12g\ndrift = %.12g\n",
	        m->jitter, m->interrupts_hz, m->interrupt_us, m->drift);
	fprintf(out,
	        "preempt_hz = %.12g\npreempt_ms = %.12g\nstep = %.12g\nstep_ms = %.12g\nramp = %.12g\nramp_ms = %.12g\nlow = %.12g\n",
	        m->preempt_hz, m->preempt_ms, m->step, m->step_ms, m->ramp, m->ramp_ms, m->low);
}
