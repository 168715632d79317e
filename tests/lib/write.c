/* SPDX-License-Identifier: MIT */
#include "write.h"

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

static void put_policy(FILE *out, const char *key, int policy)
{
	char name[XR_POLICY_TEXT];
	xr_policy_text(policy, name);
	fprintf(out, "%s = %s\n", key, name);
}

static void put_bits(FILE *out, const char *key, const struct xr_index_bits *bits)
{
	if (bits->n)
		fprintf(out, "%s =", key);
	for (int i = 0; i < bits->n; i++) {
		const char *between = " ";
		for (int bit = 0; bit < 64; bit++)
			if (bits->mask[i] >> bit & 1) {
				fprintf(out, "%s%d", between, bit);
				between = "^";
			}
	}
	if (bits->n)
		fputc('\n', out);
}

/* What is as it always was goes without saying: so files of machines without habits stay as short as they were. */
static void put_real(FILE *out, const char *key, double value, double usual)
{
	if (value < usual || value > usual)
		fprintf(out, "%s = %.12g\n", key, value);
}

static void put_count(FILE *out, const char *key, uint64_t value, uint64_t usual)
{
	if (value != usual)
		fprintf(out, "%s = %" PRIu64 "\n", key, value);
}

static void put_core(const struct xr_machine *m, FILE *out)
{
	fprintf(out, "[target]\nkind = simulated\nname = %s\n\n[cpu]\nmhz = %.12g\nwidth = %d\nunits =", m->name,
	        m->mhz, m->width);
	for (int i = 0; i < m->n_units; i++)
		fprintf(out, " %s:%d", m->unit[i].name, m->unit[i].count);
	fprintf(out, "\ntimer_ns = %.12g\ntimer_cost_ns = %.12g\n", m->timer_ns, m->timer_cost_ns);
	put_real(out, "timer_spread", m->timer_spread, 0);
	if (m->value_prediction)
		fprintf(out, "value_prediction = yes\n");
	if (m->vector_mhz > 0)
		fprintf(out, "vector_mhz = %.12g\nvector_from = %d\nvector_ms = %.12g\n", m->vector_mhz, m->vector_from,
		        m->vector_ms);
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

static void put_cache(const struct xr_machine_cache *c, FILE *out)
{
	fprintf(out, "\n[cache %s]\nholds = %s\n", c->name, xr_holds_names[c->holds]);
	put_size(out, "capacity", c->capacity);
	put_ways(out, c->ways);
	fprintf(out, "line = %" PRIu64 "\nlatency = %.12g\n", c->line_bytes, c->latency);
	put_policy(out, "policy", c->policy);
	fprintf(out, "write_allocate = %s\nwrite_back = %s\nindex = %s\ninclusion = %s\nshared_by = %d\nhash = %s\n",
	        yes(c->write_allocate), yes(c->write_back), c->index == XR_VIRTUAL ? "virtual" : "physical",
	        xr_inclusion_names[c->inclusion], c->shared_by, yes(c->hash));
	if (c->rival)
		put_policy(out, "rival", c->rival);
	put_count(out, "leaders", (uint64_t)c->leaders, 0);
	if (c->modulo)
		fprintf(out, "modulo = yes\n");
	put_count(out, "slices", (uint64_t)c->slices, 0);
	put_bits(out, "slice_bits", &c->slice_bits);
	put_bits(out, "index_bits", &c->index_bits);
	put_bits(out, "way_bits", &c->way_bits);
	put_real(out, "same_set_cycles", c->same_set_cycles, 0);
	put_real(out, "bandwidth", c->bandwidth, 0);
	put_count(out, "misses", (uint64_t)c->misses, 0);
	put_real(out, "neighbours_gbs", c->neighbours_gbs, 0);
}

static void put_tlb(const struct xr_machine_tlb *t, FILE *out)
{
	fprintf(out, "\n[tlb %s]\nholds = %s\nentries = %" PRIu64 "\n", t->name, xr_holds_names[t->holds], t->entries);
	put_ways(out, t->ways);
	fprintf(out, "penalty = %.12g\n", t->penalty);
	put_policy(out, "policy", t->policy);
	fprintf(out, "fold = %s\n", yes(t->fold));
	put_count(out, "walks", (uint64_t)t->walks, 0);
	put_bits(out, "index_bits", &t->index_bits);
	if (t->coalesce > 1)
		fprintf(out, "coalesce = %d\n", t->coalesce);
	if (t->pages)
		fprintf(out, "pages = %s\n", xr_pages_names[t->pages]);
	put_count(out, "huge_ways", t->huge_ways, 0);
	put_count(out, "code_ways", t->code_ways, 0);
}

static void put_walk(const struct xr_machine *m, FILE *out)
{
	int n = 0;
	if (!m->walk_levels)
		return;
	fprintf(out, "\n[walk]\nlevels = %d\n", m->walk_levels);
	put_real(out, "step", m->walk_step, 0);
	if (m->walk_tables[0])
		fprintf(out, "tables = %s\n", m->walk_tables);
	for (int i = 0; i < XR_MACHINE_WALK; i++)
		n = m->walk_cache[i] ? i + 1 : n;
	for (int i = 0; i < n; i++)
		fprintf(out, "%s%" PRIu64 "%s", i ? " " : "caches = ", m->walk_cache[i], i + 1 < n ? "" : "\n");
}

static void put_code(const struct xr_machine *m, FILE *out)
{
	if (m->lines_ahead > 1 || m->pages_ahead > 1 || m->decode > 0)
		fprintf(out, "\n[code]\nlines_ahead = %d\npages_ahead = %d\n", m->lines_ahead, m->pages_ahead);
	put_real(out, "decode", m->decode, 0);
	if (m->decoded_ops) {
		fprintf(out,
		        "\n[decoded]\nops = %" PRIu64 "\nways = %" PRIu64
		        "\nper_line = %d\ninclusive = %s\nindex = %s\n",
		        m->decoded_ops, m->decoded_ways, m->decoded_per_line, yes(m->decoded_inclusive),
		        m->decoded_index == XR_VIRTUAL ? "virtual" : "physical");
		put_size(out, "window", m->decoded_window);
	}
	for (int i = 0; i < m->n_btbs; i++) {
		const struct xr_machine_btb *b = &m->btb[i];
		fprintf(out, "\n[btb %s]\nentries = %" PRIu64 "\n", b->name, b->entries);
		put_ways(out, b->ways);
		fprintf(out, "cycles = %.12g\nshift = %d\n", b->cycles, b->shift);
		put_bits(out, "index_bits", &b->index_bits);
	}
}

static void put_memory(const struct xr_machine *m, FILE *out)
{
	for (int i = 0; i < m->n_caches; i++)
		put_cache(&m->cache[i], out);
	fprintf(out, "\n[memory]\nlatency = %.12g\nparallelism = %d\nbandwidth_gbs = %.12g\n", m->memory_latency,
	        m->parallelism, m->bandwidth_gbs);
	put_size(out, "size", m->memory_bytes);
	fprintf(out, "\n[page]\n");
	put_size(out, "size", m->page_bytes);
	if (m->huge_bytes)
		put_size(out, "huge", m->huge_bytes);
	else
		fprintf(out, "huge = none\n");
	fprintf(out, "placement = %s\nresizing = %s\nresizing_ms = %.12g\n", xr_placement_names[m->placement],
	        yes(m->resizing), m->resizing_ms);
	put_count(out, "run", m->run_pages, 16);
	if (m->host_bytes)
		put_size(out, "host", m->host_bytes);
	for (int i = 0; i < m->n_tlbs; i++)
		put_tlb(&m->tlb[i], out);
	put_walk(m, out);
	fprintf(out, "\n[prefetch]\nadjacent = %s\nstride = %s\nstream = %s\ndistance = %d\ncode = %s\n",
	        yes(m->prefetch_adjacent), yes(m->prefetch_stride), yes(m->prefetch_stream), m->prefetch_distance,
	        yes(m->prefetch_code));
	put_count(out, "temporal", m->prefetch_temporal, 0);
	put_count(out, "code_lines", (uint64_t)m->prefetch_code_lines, 0);
	put_code(m, out);
}

void machine_write(const struct xr_machine *m, FILE *out)
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
	put_real(out, "btb_miss", m->btb_miss, 0);
	put_count(out, "learns", m->learns, 0);
	fprintf(out, "\n[counters]\navailable = %s\n", yes(m->counters));
	if (m->lies)
		fprintf(out, "lies = %s\n", xr_lies_names[m->lies]);
	fprintf(out, "\n[noise]\njitter = %.12g\ninterrupts_hz = %.12g\ninterrupt_us = %.12g\ndrift = %.12g\n",
	        m->jitter, m->interrupts_hz, m->interrupt_us, m->drift);
	fprintf(out,
	        "preempt_hz = %.12g\npreempt_ms = %.12g\nstep = %.12g\nstep_ms = %.12g\nramp = %.12g\nramp_ms = %.12g\nlow = %.12g\n",
	        m->preempt_hz, m->preempt_ms, m->step, m->step_ms, m->ramp, m->ramp_ms, m->low);
	if (m->sibling > 0)
		fprintf(out, "sibling = %.12g\nsibling_ms = %.12g\nsibling_takes = %.12g\n", m->sibling, m->sibling_ms,
		        m->sibling_takes);
	if (m->migrate_hz > 0)
		fprintf(out, "migrate_hz = %.12g\nmigrate_us = %.12g\n", m->migrate_hz, m->migrate_us);
}
