/* SPDX-License-Identifier: MIT */
/* What the agent is told of each specification: a line in its own language, in which streams of operations, which are
 * compiled into it, are known by their place in its table. */
#include "target/host/host.h"
#include "util/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t add_stream(struct xr_streams *s, struct xr_arena *arena, const struct xr_spec *spec)
{
	const char *text = xr_spec_text(arena, spec);
	for (size_t i = 0; i < s->n; i++)
		if (!strcmp(s->text[i], text))
			return i;
	if (s->n == s->room) {
		s->room = s->room ? s->room * 2 : 64;
		s->spec = xr_realloc(s->spec, s->room, sizeof *s->spec);
		s->text = xr_realloc(s->text, s->room, sizeof *s->text);
	}
	s->spec[s->n] = *spec;
	s->text[s->n] = text;
	return s->n++;
}

/* Place of a stream in the program's table: failed ones have none. */
static long table_place(const struct xr_streams *s, size_t stream)
{
	long place = 0;
	if (s->compiled[stream].failure)
		return -1;
	if (s->compiled[stream].place)
		return s->compiled[stream].place - 1;
	for (size_t i = 0; i < stream; i++)
		place += !s->compiled[i].failure;
	return place;
}

void xr_reading_fail(struct xr_reading *out, enum xr_reading_status status, const char *reason)
{
	out->status = status;
	out->reason = reason;
}

/* What the switch form cannot keep a compiler from computing once, ahead of the loop. */
static const char *not_in_this_form(const struct xr_host *h, const struct xr_spec *spec)
{
	for (int i = 0; i < spec->ops.n_streams && h->tc.form == XR_FORM_SWITCH; i++) {
		const struct xr_stream *s = &spec->ops.stream[i];
		if (s->link == XR_FRESH && s->op != XR_LOAD)
			return "the switch form cannot hold statements whose operands never change";
		if (xr_types[s->type].vector)
			return "the switch form is plain C, which has no vectors";
	}
	return NULL;
}

/* The same with twice as many statements in the loop: where times are exact, the difference is the statements'
 * alone. */
static struct xr_spec twin_of(const struct xr_spec *spec)
{
	struct xr_spec twin = *spec;
	twin.ops.unroll = 2 * xr_ops_body(&spec->ops);
	return twin;
}

void xr_streams_collect(const struct xr_host *h, struct xr_streams *s, struct xr_arena *arena)
{
	for (size_t i = 0; i < h->n; i++) {
		if (h->specs[i].kind == XR_OPS && !not_in_this_form(h, &h->specs[i])) {
			add_stream(s, arena, &h->specs[i]);
			if (h->base.info.exact) {
				struct xr_spec twin = twin_of(&h->specs[i]);
				add_stream(s, arena, &twin);
			}
		}
		if (h->specs[i].kind == XR_TEAM)
			for (unsigned m = 0; m < h->specs[i].team.n_members; m++)
				if (h->specs[i].team.member[m].work && h->specs[i].team.member[m].work->kind == XR_OPS)
					add_stream(s, arena, h->specs[i].team.member[m].work);
	}
	s->compiled = xr_calloc(s->n, sizeof *s->compiled);
}

/* Vectors in the body, by what they ask of the machine's power: wider ones more, floating point more; 0: none. Those of
 * one class are timed together. */
static int power(const struct xr_ops_spec *ops)
{
	int most = 0;
	for (int i = 0; i < ops->n_streams; i++) {
		const struct xr_type_info *type = &xr_types[ops->stream[i].type];
		int class = type->vector ? 2 * type->bytes + xr_types[type->element].fp : 0;
		most = class > most ? class : most;
	}
	return most;
}

static const char *ops_line(struct xr_host *h, struct xr_streams *s, const struct xr_spec *spec, struct xr_reading *out)
{
	struct xr_arena *arena = &h->base.arena;
	const char *objection = not_in_this_form(h, spec);
	if (objection) {
		xr_reading_fail(out, XR_READ_UNSUPPORTED, objection);
		return NULL;
	}
	size_t stream = add_stream(s, arena, spec);
	const struct xr_compiled *c = &s->compiled[stream];
	if (c->failure && h->tc.builtin) {
		xr_reading_fail(out, XR_READ_UNSUPPORTED, c->failure);
		return NULL;
	}
	if (c->failure) {
		xr_reading_fail(out, XR_READ_FAILED, xr_arena_printf(arena, "does not compile: %s", c->failure));
		out->refused = true;
		return NULL;
	}
	out->look = c->look;
	if (h->base.info.exact) {
		struct xr_spec twin = twin_of(spec);
		long place = table_place(s, add_stream(s, arena, &twin));
		if (place >= 0)
			return xr_arena_printf(arena, "ops %ld %d %ld", table_place(s, stream), power(&spec->ops),
			                       place);
	}
	return xr_arena_printf(arena, "ops %ld %d", table_place(s, stream), power(&spec->ops));
}

static const char *team_line(struct xr_host *h, struct xr_streams *s, const struct xr_spec *spec,
                             struct xr_reading *out)
{
	static const char *const kinds[] = {"together", "wall",   "pingpong", "pipe",
	                                    "false",    "slices", "switch",   "ticks"};
	const struct xr_team_spec *team = &spec->team;
	struct xr_strbuf line = {0};
	if (team->window_ns > h->window_ns)
		h->window_ns = team->window_ns;
	xr_strbuf_printf(&line, "team %s %" PRIu64 " %.0f %u", kinds[team->kind], team->bytes, team->window_ns,
	                 team->n_members);
	for (unsigned m = 0; m < team->n_members; m++) {
		const struct xr_spec *work = team->member[m].work;
		long index = -1;
		if (work) {
			const char *what =
				work->kind == XR_OPS ? ops_line(h, s, work, out) : xr_spec_text(&h->base.arena, work);
			if (!what) {
				xr_strbuf_release(&line);
				return NULL;
			}
			index = (long)h->n_works++;
			xr_strbuf_printf(&h->works, "work %ld %s\n", index, what);
		}
		xr_strbuf_printf(&line, " %d %ld", team->member[m].cpu, index);
	}
	const char *text = xr_arena_strdup(&h->base.arena, xr_strbuf_text(&line));
	xr_strbuf_release(&line);
	return text;
}

void xr_streams_tell(struct xr_host *h, struct xr_streams *s, struct xr_reading *out)
{
	for (size_t i = 0; i < h->n; i++) {
		const struct xr_spec *spec = &h->specs[i];
		if (spec->kind == XR_OPS)
			h->lines[i] = ops_line(h, s, spec, &out[i]);
		else if (spec->kind == XR_TEAM)
			h->lines[i] = team_line(h, s, spec, &out[i]);
		else
			h->lines[i] = xr_spec_text(&h->base.arena, spec);
	}
}
