/* SPDX-License-Identifier: MIT */
/* The specification in one line. Numbers and words only, so that the agent can read it back with strtok. */
#include "nano/spec.h"

#include "util/strbuf.h"

#include <inttypes.h>
#include <string.h>

static const char *const link_names[] = {"self", "half", "next", "fresh"};
static const char *const value_names[] = {"short", "long"};
static const char *const flavour_names[] = {"plain", "native"};
static const char *const access_names[] = {"read", "write", "touch"};
static const char *const backing_names[] = {"small", "huge", "shuffled", "any"};
static const char *const flow_names[] = {"read", "write", "copy", "past"};
static const char *const walk_names[] = {"jumps", "pattern", "straight"};
static const char *const team_names[] = {"together", "wall", "pingpong", "pipe", "false", "slices", "switch", "ticks"};

static void put_ops(struct xr_strbuf *out, const struct xr_ops_spec *ops)
{
	xr_strbuf_printf(out, "ops %s %d %d", flavour_names[ops->flavour], ops->unroll, ops->n_streams);
	for (int i = 0; i < ops->n_streams; i++) {
		const struct xr_stream *s = &ops->stream[i];
		xr_strbuf_printf(out, " %s %s %d %d %s %s", xr_ops[s->op].name, xr_types[s->type].name, s->n,
		                 s->share ? s->share : s->n, link_names[s->link], value_names[s->values]);
		if (s->op == XR_TEXT) {
			xr_strbuf_printf(out, " '");
			for (const char *c = s->text; *c; c++)
				xr_strbuf_printf(out, "%c", *c == '\n' || *c == '\r' ? ' ' : *c);
			xr_strbuf_printf(out, "'");
		}
	}
}

static void put_spans(struct xr_strbuf *out, const struct xr_span *span, size_t n)
{
	xr_strbuf_printf(out, " %zu", n);
	for (size_t i = 0; i < n; i++)
		xr_strbuf_printf(out, " %" PRIu64 " %" PRIu64 " %" PRIu32, span[i].base, span[i].stride, span[i].count);
}

static void put_chain(struct xr_strbuf *out, const struct xr_chain_spec *chain)
{
	xr_strbuf_printf(out, "chain %u %" PRIu64 " %s %u %u", chain->buffer.id, chain->buffer.bytes,
	                 backing_names[chain->buffer.backing], chain->cursors ? chain->cursors : 1, chain->n_phases);
	for (unsigned i = 0; i < chain->n_phases; i++) {
		const struct xr_phase *p = &chain->phase[i];
		xr_strbuf_printf(out, " %s %u %d %" PRIu64, access_names[p->access], p->passes, p->timed, p->seed);
		put_spans(out, p->span, p->n_spans);
	}
	if (chain->unsettled)
		xr_strbuf_printf(out, " unsettled");
	if (chain->rolling)
		xr_strbuf_printf(out, " rolling");
	if (chain->storing)
		xr_strbuf_printf(out, " storing %" PRIu64, chain->storing);
}

static void put_flow(struct xr_strbuf *out, const struct xr_flow_spec *flow)
{
	xr_strbuf_printf(out, "flow %u %" PRIu64 " %s %s %" PRIu64 " %u %u %u", flow->buffer.id, flow->buffer.bytes,
	                 backing_names[flow->buffer.backing], flow_names[flow->kind], flow->bytes, flow->width,
	                 flow->lanes ? flow->lanes : 1, flow->pause);
}

static void put_walk(struct xr_strbuf *out, const struct xr_walk_spec *walk)
{
	xr_strbuf_printf(out, "walk %s %u %" PRIu64 " %" PRIu64, walk_names[walk->kind], walk->region, walk->bytes,
	                 walk->seed);
	put_spans(out, walk->span, walk->n_spans);
	if (walk->statements)
		xr_strbuf_printf(out, " statements %u", walk->statements);
	if (walk->data_bytes)
		xr_strbuf_printf(out, " data %" PRIu64, walk->data_bytes);
}

static void put_spec(struct xr_strbuf *out, const struct xr_spec *spec);

static void put_team(struct xr_strbuf *out, const struct xr_team_spec *team)
{
	xr_strbuf_printf(out, "team %s %" PRIu64 " %.0f %u", team_names[team->kind], team->bytes, team->window_ns,
	                 team->n_members);
	for (unsigned i = 0; i < team->n_members; i++) {
		xr_strbuf_printf(out, " %d", team->member[i].cpu);
		if (team->member[i].work) {
			xr_strbuf_printf(out, " [");
			put_spec(out, team->member[i].work);
			xr_strbuf_printf(out, "]");
		} else {
			xr_strbuf_printf(out, " -");
		}
	}
}

static void put_spec(struct xr_strbuf *out, const struct xr_spec *spec)
{
	switch (spec->kind) {
	case XR_CLOCK:
		xr_strbuf_printf(out, "clock");
		break;
	case XR_OPS:
		put_ops(out, &spec->ops);
		break;
	case XR_CHAIN:
		put_chain(out, &spec->chain);
		break;
	case XR_WALK:
		put_walk(out, &spec->walk);
		break;
	case XR_TEAM:
		put_team(out, &spec->team);
		break;
	case XR_FLOW:
		put_flow(out, &spec->flow);
		break;
	}
}

char *xr_spec_text(struct xr_arena *arena, const struct xr_spec *spec)
{
	struct xr_strbuf out = {0};
	put_spec(&out, spec);
	char *text = xr_arena_strdup(arena, xr_strbuf_text(&out));
	xr_strbuf_release(&out);
	return text;
}

struct xr_spec xr_spec_stream(enum xr_op op, enum xr_type type, int n)
{
	struct xr_spec spec;
	memset(&spec, 0, sizeof spec);
	spec.kind = XR_OPS;
	spec.ops.n_streams = 1;
	spec.ops.stream[0].op = op;
	spec.ops.stream[0].type = type;
	spec.ops.stream[0].n = n;
	return spec;
}

struct xr_spec xr_spec_mix(const struct xr_stream *streams, int n_streams)
{
	struct xr_spec spec;
	memset(&spec, 0, sizeof spec);
	spec.kind = XR_OPS;
	spec.ops.n_streams = n_streams;
	memcpy(spec.ops.stream, streams, sizeof *streams * (size_t)n_streams);
	return spec;
}

struct xr_spec xr_spec_cycle(struct xr_buffer buffer, const struct xr_span *span, size_t n_spans, uint64_t seed)
{
	struct xr_spec spec;
	memset(&spec, 0, sizeof spec);
	spec.kind = XR_CHAIN;
	spec.chain.buffer = buffer;
	spec.chain.cursors = 1;
	spec.chain.n_phases = 1;
	spec.chain.phase[0].span = span;
	spec.chain.phase[0].n_spans = n_spans;
	spec.chain.phase[0].seed = seed;
	spec.chain.phase[0].access = XR_READ;
	spec.chain.phase[0].timed = true;
	return spec;
}
