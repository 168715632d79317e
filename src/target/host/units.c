/* SPDX-License-Identifier: MIT */
#include "target/host/units.h"

#include "target/embed.h"
#include "target/host/compiler.h"
#include "target/host/look.h"
#include "util/files.h"
#include "util/hash.h"
#include "util/memory.h"
#include "util/output.h"
#include "util/proc.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Specifications and statements in one run of the compiler: enough that starting it does not matter, few enough
 * that all CPUs are busy to the end. */
enum { UNIT_SPECS = 48, UNIT_STATEMENTS = 400, UNITS_PER_CPU = 4, HUNG_MAX = 2 };

/* ---- units ---- */

/* A translation unit: specifications first … first + n - 1 of a list that is sorted so that they share a flavour. */
struct unit {
	const struct xr_spec **spec;
	struct xr_compiled **out;
	size_t n;
	int statements;
	enum xr_flavour flavour;
	uint64_t key;
	const char *output; /* of the compiler, when it refused the unit */
	bool hung;          /* the compiler did not finish it */
};

static const char *const unit_flags[] = {"-w", "-fno-math-errno", "-ffp-contract=fast"};

/* Only the frame takes part in the key of a unit, not the whole agent. */
static uint64_t frame_key(const struct xr_toolchain *tc, enum xr_flavour flavour)
{
	uint64_t key = tc->identity[flavour]; /* flags are part of it */
	for (size_t i = 0; i < sizeof unit_flags / sizeof *unit_flags; i++)
		key = xr_hash(key, unit_flags[i], strlen(unit_flags[i]));
	for (const struct xr_embedded *e = xr_agent_text; e->name; e++)
		if (!strcmp(e->name, "nano.h"))
			key = xr_hash(key, e->text, strlen(e->text));
	return key;
}

static int write_unit(struct xr_toolchain *tc, struct unit *u, struct xr_error *err)
{
	struct xr_strbuf text = {0};
	struct xr_spec *specs = xr_calloc(u->n, sizeof *specs);
	for (size_t i = 0; i < u->n; i++)
		specs[i] = *u->spec[i];
	xr_emit_unit(&text, specs, u->n, tc->form);
	free(specs);
	u->key = xr_hash(frame_key(tc, u->flavour), xr_strbuf_text(&text), text.len);
	int status = 0;
	if (xr_file_write(xr_compiled_path(tc, u->key, ".c"), xr_strbuf_text(&text), text.len))
		status = xr_fail(err, XR_EXIT_TARGET, "cannot write generated code: %s", strerror(errno));
	else if (tc->keep)
		status = xr_output_write(xr_arena_printf(tc->arena, "%s/%016" PRIx64 ".c", tc->keep, u->key),
		                         xr_strbuf_text(&text), text.len, err);
	xr_strbuf_release(&text);
	return status;
}

/* What was seen in the compiled loops, kept beside the object: a line per specification. */
static void look_and_note(struct xr_toolchain *tc, struct unit *u)
{
	struct xr_strbuf assembly = {0}, note = {0};
	xr_file_read(xr_compiled_path(tc, u->key, ".s"), &assembly);
	for (size_t i = 0; i < u->n; i++) {
		char name[32];
		xr_emit_name(u->spec[i], name);
		int body = xr_ops_body(&u->spec[i]->ops);
		struct xr_look look =
			xr_look_at(xr_strbuf_text(&assembly), name + strlen("xr_nano_"), body, xr_ops_middle(body));
		u->out[i]->look = look;
		xr_strbuf_printf(&note, "%d %.17g %.17g %.17g %.17g\n", look.looked, look.insns, look.stack_refs,
		                 look.calls, look.moves);
	}
	xr_file_write(xr_compiled_path(tc, u->key, ".look"), xr_strbuf_text(&note), note.len);
	xr_compiled_keep(tc, u->key, ".look");
	xr_strbuf_release(&assembly);
	xr_strbuf_release(&note);
}

static bool read_note(struct xr_toolchain *tc, struct unit *u)
{
	struct xr_strbuf note = {0};
	bool ok =
		xr_compiled_before(tc, u->key, ".look") && !xr_file_read(xr_compiled_path(tc, u->key, ".look"), &note);
	const char *at = xr_strbuf_text(&note);
	for (size_t i = 0; ok && i < u->n; i++) {
		struct xr_look *look = &u->out[i]->look;
		int looked = 0, used = 0;
		ok = sscanf(at, "%d %lf %lf %lf %lf\n%n", &looked, &look->insns, &look->stack_refs, &look->calls,
		            &look->moves, &used) == 5;
		look->looked = looked;
		at += used;
	}
	xr_strbuf_release(&note);
	return ok;
}

/* Commands that make the unit's object: to assembler text and on, or at once where the text would be of no use. */
static struct xr_command step(struct xr_toolchain *tc, const struct unit *u, bool second)
{
	struct xr_command c = xr_compiler_command(tc, u->flavour);
	const char *from = xr_compiled_path(tc, u->key, second ? ".s" : ".c");
	if (tc->gnu) {
		for (size_t i = 0; i < sizeof unit_flags / sizeof *unit_flags; i++)
			xr_command_add(&c, unit_flags[i]);
		xr_command_add(&c, second ? "-c" : "-S");
	} else {
		xr_command_add(&c, "-c");
	}
	xr_command_add(&c, "-I");
	xr_command_add(&c, tc->work);
	xr_command_add(&c, "-o");
	xr_command_add(&c, xr_compiled_path(tc, u->key, !tc->gnu || second ? ".o" : ".s"));
	xr_command_add(&c, from);
	return c;
}

static void compile_step(struct xr_toolchain *tc, struct unit **units, size_t n, bool second, const char **failure)
{
	struct xr_job *jobs = xr_calloc(n, sizeof *jobs);
	size_t *which = xr_calloc(n, sizeof *which), k = 0;
	for (size_t i = 0; i < n; i++)
		if (!failure[i]) {
			jobs[k].argv = step(tc, units[i], second).argv;
			jobs[k].tmp = tc->work;
			which[k++] = i;
		}
	xr_jobs_run(jobs, k, tc->parallel, xr_compile_timeout_s, tc->watch);
	for (size_t i = 0; i < k; i++) {
		if (jobs[i].status == XR_JOB_TOO_LONG) {
			units[which[i]]->hung = true;
			tc->n_hung++;
		}
		if (jobs[i].status) {
			failure[which[i]] = xr_compiler_complaint(tc, &jobs[i]);
			units[which[i]]->output = xr_arena_strdup(tc->arena, xr_strbuf_text(&jobs[i].output));
		}
		free((void *)(size_t)jobs[i].argv);
		xr_strbuf_release(&jobs[i].output);
	}
	free(jobs);
	free(which);
}

/* The longest first, so that no CPU is left with a long one in the end. */
static int by_length(const void *a, const void *b)
{
	const struct unit *x = *(struct unit *const *)a, *y = *(struct unit *const *)b;
	return (x->statements < y->statements) - (x->statements > y->statements);
}

/* Compiles the units that are not in the cache; those that fail are reported, not retried. */
static int compile_units(struct xr_toolchain *tc, struct unit *units, size_t n, const char **failure,
                         struct xr_error *err)
{
	struct unit **todo = xr_calloc(n, sizeof *todo);
	const char **todo_failure = xr_calloc(n, sizeof *todo_failure);
	size_t k = 0;
	int status = 0;
	for (size_t i = 0; i < n && !status; i++) {
		status = write_unit(tc, &units[i], err);
		if (!status && !(xr_compiled_before(tc, units[i].key, ".o") && read_note(tc, &units[i])))
			todo[k++] = &units[i];
	}
	if (!status) {
		qsort(todo, k, sizeof *todo, by_length);
		compile_step(tc, todo, k, false, todo_failure);
		if (tc->gnu)
			compile_step(tc, todo, k, true, todo_failure);
		if (xr_watch_over(tc->watch))
			status = xr_fail(err, XR_EXIT_TARGET, "%s", xr_watch_why(tc->watch));
		else if (tc->n_hung > HUNG_MAX)
			status = xr_fail(err, XR_EXIT_TARGET, "the compiler '%s' does not finish", tc->cc);
	}
	if (!status) {
		for (size_t i = 0; i < k; i++) {
			failure[todo[i] - units] = todo_failure[i];
			if (todo_failure[i])
				continue;
			look_and_note(tc, todo[i]);
			xr_compiled_keep(tc, todo[i]->key, ".o");
		}
	}
	free(todo);
	free(todo_failure);
	return status;
}

/* ---- from specifications to units ---- */

struct units {
	struct unit *unit;
	size_t n, room;
};

static void add_unit(struct units *list, struct unit u)
{
	if (list->n == list->room) {
		list->room = list->room ? list->room * 2 : 16;
		list->unit = xr_realloc(list->unit, list->room, sizeof *list->unit);
	}
	list->unit[list->n++] = u;
}

static const struct xr_known *find_known(const struct xr_toolchain *tc, uint64_t id)
{
	for (size_t i = 0; i < tc->n_known; i++)
		if (tc->known[i].id == id)
			return &tc->known[i];
	return NULL;
}

static uint64_t id_of(const struct xr_spec *spec)
{
	struct xr_arena scratch = {0};
	const char *text = xr_spec_text(&scratch, spec);
	uint64_t id = xr_hash(0, text, strlen(text));
	xr_arena_release(&scratch);
	return id;
}

static void remember(struct xr_toolchain *tc, const struct xr_spec *spec, uint64_t unit, const struct xr_compiled *out)
{
	if (tc->n_known == tc->room_known) {
		tc->room_known = tc->room_known ? tc->room_known * 2 : 256;
		tc->known = xr_realloc(tc->known, tc->room_known, sizeof *tc->known);
	}
	tc->known[tc->n_known++] =
		(struct xr_known){.id = id_of(spec), .unit = unit, .failure = out->failure, .look = out->look};
}

static bool has_unit(const struct units *list, uint64_t key)
{
	for (size_t i = 0; i < list->n; i++)
		if (list->unit[i].key == key)
			return true;
	return false;
}

/* Takes what was compiled before: its units go to objects. Returns how many are left to compile, in *left. */
static size_t recall(struct xr_toolchain *tc, const struct xr_spec *specs, size_t n, struct xr_compiled *out,
                     struct units *objects, size_t *left)
{
	size_t k = 0;
	for (size_t i = 0; i < n; i++) {
		const struct xr_known *known = find_known(tc, id_of(&specs[i]));
		if (!known) {
			left[k++] = i;
			continue;
		}
		out[i] = (struct xr_compiled){.failure = known->failure, .look = known->look};
		if (!known->failure && !has_unit(objects, known->unit))
			add_unit(objects, (struct unit){.key = known->unit});
	}
	return k;
}

/* Neighbours of one flavour and one type share a unit, so that a type the compiler refuses takes no others with it. */
static void divide(struct xr_toolchain *tc, const struct xr_spec *specs, struct xr_compiled *out, const size_t *which,
                   size_t n, struct units *list)
{
	struct unit u = {0};
	int most = UNIT_STATEMENTS, total = 0;
	for (size_t k = 0; k < n; k++)
		total += xr_ops_body(&specs[which[k]].ops);
	if (total / (tc->parallel * UNITS_PER_CPU) > most)
		most = total / (tc->parallel * UNITS_PER_CPU);
	for (size_t k = 0; k < n; k++) {
		const struct xr_spec *spec = &specs[which[k]];
		bool fits = u.n && u.n < UNIT_SPECS && u.statements + xr_ops_body(&spec->ops) <= most &&
		            u.flavour == spec->ops.flavour &&
		            u.spec[u.n - 1]->ops.stream[0].type == spec->ops.stream[0].type;
		if (!fits) {
			if (u.n)
				add_unit(list, u);
			u = (struct unit){.flavour = spec->ops.flavour};
			u.spec = xr_arena_array(tc->arena, const struct xr_spec *, UNIT_SPECS);
			u.out = xr_arena_array(tc->arena, struct xr_compiled *, UNIT_SPECS);
		}
		u.statements += xr_ops_body(&spec->ops);
		u.spec[u.n] = spec;
		u.out[u.n++] = &out[which[k]];
	}
	if (u.n)
		add_unit(list, u);
}

static struct unit half(const struct unit *u, bool second)
{
	struct unit h = *u;
	size_t middle = u->n / 2;
	h.n = second ? u->n - middle : middle;
	if (second) {
		h.spec += middle;
		h.out += middle;
	}
	return h;
}

/* Which specification an error of the compiler is about: the function it names ("In function 'xr_nano_…':" stands
 * before its errors), or the one that the line of the file belongs to. n: none of them. */
static size_t guilty_of(const struct unit *u, const size_t *first_line, const char *in_function, const char *line,
                        size_t len)
{
	for (size_t i = 0; in_function && i < u->n; i++) {
		char name[32];
		xr_emit_name(u->spec[i], name);
		if (memmem(in_function, strcspn(in_function, "\n"), name, strlen(name)))
			return i;
	}
	const char *at = memmem(line, len, ".c:", 3);
	size_t number = at ? strtoul(at + 3, NULL, 10) : 0, i = u->n;
	while (number && i > 0)
		if (number >= first_line[--i])
			return i;
	return u->n;
}

/* The line on which each function of the unit begins. */
static void find_functions(struct xr_toolchain *tc, const struct unit *u, size_t *first_line)
{
	struct xr_strbuf text = {0};
	xr_file_read(xr_compiled_path(tc, u->key, ".c"), &text);
	const char *at = xr_strbuf_text(&text);
	size_t line = 1;
	for (size_t i = 0; i < u->n; i++) {
		char name[32];
		xr_emit_name(u->spec[i], name);
		const char *here = strstr(at, name);
		for (; here && at < here; at++)
			line += *at == '\n';
		first_line[i] = line;
	}
	xr_strbuf_release(&text);
}

/* Compilers go on after an error and say where each one is, so most guilty ones are found at once. Returns how many. */
static size_t blame(struct xr_toolchain *tc, struct unit *u)
{
	size_t *first_line = xr_calloc(u->n, sizeof *first_line), blamed = 0;
	const char *in_function = NULL;
	find_functions(tc, u, first_line);
	for (const char *line = u->output; line && *line; line += strcspn(line, "\n"), line += *line == '\n') {
		size_t len = strcspn(line, "\n");
		if (memmem(line, len, "n function ", 11))
			in_function = line;
		if (!memmem(line, len, "error:", 6))
			continue;
		size_t i = guilty_of(u, first_line, in_function, line, len);
		if (i < u->n && !u->out[i]->failure) {
			u->out[i]->failure = xr_arena_printf(tc->arena, "%.*s", (int)(len > 500 ? 500 : len), line);
			blamed++;
		}
	}
	free(first_line);
	return blamed;
}

/* What is left of a unit without those that were blamed. */
static struct unit innocent(struct xr_toolchain *tc, const struct unit *u)
{
	struct unit rest = {.flavour = u->flavour};
	rest.spec = xr_arena_array(tc->arena, const struct xr_spec *, u->n);
	rest.out = xr_arena_array(tc->arena, struct xr_compiled *, u->n);
	for (size_t i = 0; i < u->n; i++)
		if (!u->out[i]->failure) {
			rest.spec[rest.n] = u->spec[i];
			rest.out[rest.n++] = u->out[i];
		}
	return rest;
}

/* Compiles all; takes out who is blamed, and halves what fails without blame until the guilty ones are alone. objects
 * gets the units that compiled. */
static int compile_all(struct xr_toolchain *tc, struct units *todo, struct units *objects, struct xr_error *err)
{
	while (todo->n) {
		struct units next = {0};
		const char **failure = xr_calloc(todo->n, sizeof *failure);
		int status = compile_units(tc, todo->unit, todo->n, failure, err);
		for (size_t i = 0; i < todo->n && !status; i++) {
			struct unit *u = &todo->unit[i];
			if (!failure[i]) {
				add_unit(objects, *u);
			} else if (u->n == 1 || u->hung) { /* nobody waits so long again to find out who it was */
				for (size_t k = 0; k < u->n; k++)
					u->out[k]->failure = failure[i];
			} else if (blame(tc, u)) {
				struct unit rest = innocent(tc, u);
				if (rest.n)
					add_unit(&next, rest);
			} else {
				add_unit(&next, half(u, false));
				add_unit(&next, half(u, true));
			}
		}
		free(failure);
		free(todo->unit);
		*todo = next;
		if (status)
			return status;
	}
	return 0;
}

int xr_units_compile(struct xr_toolchain *tc, const struct xr_spec *specs, size_t n, struct xr_compiled *out,
                     uint64_t **unit, size_t *n_units, struct xr_error *err)
{
	struct units todo = {0}, objects = {0};
	size_t *fresh = xr_calloc(n + 1, sizeof *fresh), n_fresh = recall(tc, specs, n, out, &objects, fresh);
	size_t recalled = objects.n;
	divide(tc, specs, out, fresh, n_fresh, &todo);
	int status = compile_all(tc, &todo, &objects, err);
	if (!status) {
		for (size_t i = recalled; i < objects.n; i++)
			for (size_t j = 0; j < objects.unit[i].n; j++)
				remember(tc, objects.unit[i].spec[j], objects.unit[i].key, objects.unit[i].out[j]);
		for (size_t i = 0; i < n_fresh; i++)
			if (out[fresh[i]].failure)
				remember(tc, &specs[fresh[i]], 0, &out[fresh[i]]);
	}
	*unit = xr_calloc(objects.n + 1, sizeof **unit);
	*n_units = objects.n;
	for (size_t i = 0; i < objects.n; i++)
		(*unit)[i] = objects.unit[i].key;
	free(fresh);
	free(todo.unit);
	free(objects.unit);
	return status;
}
