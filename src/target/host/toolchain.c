#include "target/host/toolchain.h"

#include "target/embed.h"
#include "target/host/look.h"
#include "util/files.h"
#include "util/hash.h"
#include "util/memory.h"
#include "util/proc.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Specifications and statements in one run of the compiler: enough that starting it does not matter, few enough that all
 * CPUs are busy to the end. */
enum { UNIT_SPECS = 48, UNIT_STATEMENTS = 400, UNITS_PER_CPU = 4 };
static const double compile_timeout_s = 120;

/* ---- commands ---- */

struct command {
	const char **argv;
	size_t n, room;
};

static void add(struct command *c, const char *word)
{
	if (c->n + 1 >= c->room) {
		c->room = c->room ? c->room * 2 : 32;
		c->argv = xr_realloc(c->argv, c->room, sizeof *c->argv);
	}
	c->argv[c->n++] = word;
	c->argv[c->n] = NULL;
}

/* Words live in the toolchain's arena. */
static int add_words(struct xr_toolchain *tc, struct command *c, const char *text)
{
	char **words = xr_words_split(text);
	if (!words)
		return -1;
	for (char **w = words; *w; w++)
		add(c, xr_arena_strdup(tc->arena, *w));
	free(words);
	return 0;
}

static struct command compiler(struct xr_toolchain *tc, enum xr_flavour flavour)
{
	struct command c = {0};
	add_words(tc, &c, tc->cc);
	add_words(tc, &c, tc->cflags);
	if (flavour == XR_NATIVE && tc->native_flag)
		add(&c, tc->native_flag);
	return c;
}

/* The line of a compiler's output that says what is wrong. */
static const char *complaint(struct xr_toolchain *tc, const struct xr_job *job)
{
	const char *text = xr_strbuf_text(&job->output), *line = text;
	if (job->status == -2)
		return "the compiler did not finish";
	for (const char *at = text; *at; at += strcspn(at, "\n"), at += *at == '\n') {
		size_t len = strcspn(at, "\n");
		if (memmem(at, len, "error", 5) || memmem(at, len, "Error", 5)) {
			line = at;
			break;
		}
	}
	size_t len = strcspn(line, "\n");
	if (!len)
		return xr_arena_printf(tc->arena, "the compiler ended with status %d", job->status);
	return xr_arena_printf(tc->arena, "%.*s", (int)(len > 500 ? 500 : len), line);
}

/* ---- who is it ---- */

/* Predefined macros tell a compiler apart from all others, and what -march=native means on this machine. */
static int macros(struct xr_toolchain *tc, const char *flag, struct xr_strbuf *out)
{
	struct command c = compiler(tc, XR_PLAIN);
	if (flag)
		add(&c, flag);
	add(&c, "-dM");
	add(&c, "-E");
	add(&c, "-x");
	add(&c, "c");
	add(&c, "/dev/null");
	struct xr_job job = {.argv = c.argv};
	xr_jobs_run(&job, 1, 1, compile_timeout_s);
	free(c.argv);
	xr_strbuf_add(out, xr_strbuf_text(&job.output), job.output.len);
	xr_strbuf_release(&job.output);
	return job.status;
}

static const char *macro(struct xr_toolchain *tc, const struct xr_strbuf *macros_text, const char *name)
{
	char key[64];
	snprintf(key, sizeof key, "#define %s ", name);
	const char *at = strstr(xr_strbuf_text(macros_text), key);
	if (!at)
		return NULL;
	at += strlen(key);
	return xr_arena_printf(tc->arena, "%.*s", (int)strcspn(at, "\n"), at);
}

static const char *compiler_name(struct xr_toolchain *tc, const struct xr_strbuf *text)
{
	const char *clang = macro(tc, text, "__clang_major__");
	if (clang)
		return xr_arena_printf(tc->arena, "clang %s.%s.%s", clang, macro(tc, text, "__clang_minor__"),
		                       macro(tc, text, "__clang_patchlevel__"));
	const char *gcc = macro(tc, text, "__GNUC__");
	if (gcc)
		return xr_arena_printf(tc->arena, "gcc %s.%s.%s", gcc, macro(tc, text, "__GNUC_MINOR__"),
		                       macro(tc, text, "__GNUC_PATCHLEVEL__"));
	return tc->cc;
}

static int find_out(struct xr_toolchain *tc, struct xr_error *err)
{
	static const char *const native_flags[] = {"-march=native", "-mcpu=native"};
	struct xr_strbuf text = {0};
	int status = macros(tc, NULL, &text);
	if (status == -1) {
		xr_fail(err, XR_EXIT_TARGET,
		        "cannot run the compiler '%s' (%s): install one (apt-get install gcc) or name it with --cc",
		        tc->cc, xr_strbuf_text(&text));
		xr_strbuf_release(&text);
		return -1;
	}
	tc->gnu = status == 0 && macro(tc, &text, "__GNUC__");
	tc->name = compiler_name(tc, &text);
	tc->identity[XR_PLAIN] = xr_hash(xr_hash(1, tc->cc, strlen(tc->cc)), xr_strbuf_text(&text), text.len);
	for (size_t i = 0; tc->gnu && !tc->native_flag && i < sizeof native_flags / sizeof *native_flags; i++) {
		xr_strbuf_clear(&text);
		if (macros(tc, native_flags[i], &text) == 0) {
			tc->native_flag = native_flags[i];
			tc->identity[XR_NATIVE] =
				xr_hash(tc->identity[XR_PLAIN] + 1 + i, xr_strbuf_text(&text), text.len);
		}
	}
	xr_strbuf_release(&text);
	return 0;
}

/* ---- places ---- */

static const char *work_path(struct xr_toolchain *tc, uint64_t key, const char *suffix)
{
	return xr_arena_printf(tc->arena, "%s/%016" PRIx64 "%s", tc->work, key, suffix);
}

/* Brings a file of the cache into the work directory. */
static bool cached(struct xr_toolchain *tc, uint64_t key, const char *suffix)
{
	const char *here = work_path(tc, key, suffix);
	if (xr_file_exists(here))
		return true;
	if (!tc->cache)
		return false;
	return !xr_file_copy(xr_arena_printf(tc->arena, "%s/%016" PRIx64 "%s", tc->cache, key, suffix), here);
}

/* A cache that cannot take a file is no reason to stop. */
static void keep_in_cache(struct xr_toolchain *tc, uint64_t key, const char *suffix)
{
	if (tc->cache)
		xr_file_copy(work_path(tc, key, suffix),
		             xr_arena_printf(tc->arena, "%s/%016" PRIx64 "%s", tc->cache, key, suffix));
}

static int open_cache(struct xr_toolchain *tc, const char *cache)
{
	if (!cache)
		return 0;
	if (xr_dir_make(cache))
		tc->warning = xr_arena_printf(tc->arena, "cannot use the cache %s (%s): compiling everything anew",
		                              cache, strerror(errno));
	else if (!xr_dir_is_private(cache))
		tc->warning =
			xr_arena_printf(tc->arena, "not using the cache %s: it is not writable by you alone", cache);
	else
		tc->cache = xr_arena_strdup(tc->arena, cache);
	return 0;
}

int xr_toolchain_init(struct xr_toolchain *tc, const struct xr_host_options *options, int parallel,
                      struct xr_arena *arena, struct xr_error *err)
{
	*tc = (struct xr_toolchain){.arena = arena, .parallel = parallel};
	tc->cc = xr_arena_strdup(arena, options->cc && *options->cc ? options->cc : "cc");
	tc->cflags = xr_arena_strdup(arena, options->cflags ? options->cflags : "-O2");
	struct command check = {0};
	if (add_words(tc, &check, tc->cc) || add_words(tc, &check, tc->cflags) || !check.n) {
		free(check.argv);
		return xr_fail(err, XR_EXIT_USE, "a quote is not closed in --cc or --cflags");
	}
	free(check.argv);
	if (find_out(tc, err))
		return -1;
	if (options->form && strcmp(options->form, "barrier") && strcmp(options->form, "switch"))
		return xr_fail(err, XR_EXIT_USE, "--form is 'barrier' or 'switch', not '%s'", options->form);
	tc->form = !tc->gnu || (options->form && !strcmp(options->form, "switch")) ? XR_FORM_SWITCH : XR_FORM_BARRIER;
	if (options->keep) {
		tc->keep = xr_arena_strdup(arena, options->keep);
		if (xr_dir_make(tc->keep))
			return xr_fail(err, XR_EXIT_USE, "cannot make the directory %s: %s", tc->keep, strerror(errno));
	}
	open_cache(tc, options->cache);
	char *work = xr_arena_printf(arena, "%s/xray.XXXXXX", options->tmp && *options->tmp ? options->tmp : "/tmp");
	if (!mkdtemp(work))
		return xr_fail(err, XR_EXIT_TARGET, "cannot make a private directory %s: %s", work, strerror(errno));
	tc->work = work;
	for (const struct xr_embedded *e = xr_agent_text; e->name; e++)
		if (xr_file_write(xr_arena_printf(arena, "%s/%s", work, e->name), e->text, strlen(e->text)))
			return xr_fail(err, XR_EXIT_TARGET, "cannot write to %s: %s", work, strerror(errno));
	return 0;
}

void xr_toolchain_release(struct xr_toolchain *tc)
{
	if (tc->work)
		xr_dir_remove(tc->work);
	tc->work = NULL;
	free(tc->known);
	tc->known = NULL;
	tc->n_known = tc->room_known = 0;
}

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
};

static uint64_t agent_key(const struct xr_toolchain *tc)
{
	uint64_t key = tc->identity[XR_PLAIN];
	for (const struct xr_embedded *e = xr_agent_text; e->name; e++)
		key = xr_hash(key, e->text, strlen(e->text));
	return xr_hash(key, tc->cflags, strlen(tc->cflags));
}

/* Only the frame takes part in the key of a unit, not the whole agent. */
static uint64_t frame_key(const struct xr_toolchain *tc, enum xr_flavour flavour)
{
	uint64_t key = xr_hash(tc->identity[flavour], tc->cflags, strlen(tc->cflags));
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
	int status = xr_file_write(work_path(tc, u->key, ".c"), xr_strbuf_text(&text), text.len);
	if (!status && tc->keep)
		status = xr_file_write(xr_arena_printf(tc->arena, "%s/%016" PRIx64 ".c", tc->keep, u->key),
		                       xr_strbuf_text(&text), text.len);
	xr_strbuf_release(&text);
	return status ? xr_fail(err, XR_EXIT_TARGET, "cannot write generated code: %s", strerror(errno)) : 0;
}

/* What was seen in the compiled loops, kept beside the object: a line per specification. */
static void look_and_note(struct xr_toolchain *tc, struct unit *u)
{
	struct xr_strbuf assembly = {0}, note = {0};
	xr_file_read(work_path(tc, u->key, ".s"), &assembly);
	for (size_t i = 0; i < u->n; i++) {
		char name[32];
		xr_emit_name(u->spec[i], name);
		int body = xr_ops_body(&u->spec[i]->ops);
		struct xr_look look =
			xr_look_at(xr_strbuf_text(&assembly), name + strlen("xr_nano_"), body, xr_ops_middle(body));
		u->out[i]->look = look;
		xr_strbuf_printf(&note, "%d %.17g %.17g %.17g\n", look.looked, look.insns, look.stack_refs, look.calls);
	}
	xr_file_write(work_path(tc, u->key, ".look"), xr_strbuf_text(&note), note.len);
	keep_in_cache(tc, u->key, ".look");
	xr_strbuf_release(&assembly);
	xr_strbuf_release(&note);
}

static bool read_note(struct xr_toolchain *tc, struct unit *u)
{
	struct xr_strbuf note = {0};
	bool ok = cached(tc, u->key, ".look") && !xr_file_read(work_path(tc, u->key, ".look"), &note);
	const char *at = xr_strbuf_text(&note);
	for (size_t i = 0; ok && i < u->n; i++) {
		struct xr_look *look = &u->out[i]->look;
		int looked = 0, used = 0;
		ok = sscanf(at, "%d %lf %lf %lf\n%n", &looked, &look->insns, &look->stack_refs, &look->calls, &used) ==
		     4;
		look->looked = looked;
		at += used;
	}
	xr_strbuf_release(&note);
	return ok;
}

/* Commands that make the unit's object: to assembler text and on, or at once where the text would be of no use. */
static struct command step(struct xr_toolchain *tc, const struct unit *u, bool second)
{
	struct command c = compiler(tc, u->flavour);
	const char *from = work_path(tc, u->key, second ? ".s" : ".c");
	if (tc->gnu) {
		add(&c, "-w");
		add(&c, "-fno-math-errno");
		add(&c, "-ffp-contract=fast");
		add(&c, second ? "-c" : "-S");
	} else {
		add(&c, "-c");
	}
	add(&c, "-I");
	add(&c, tc->work);
	add(&c, "-o");
	add(&c, work_path(tc, u->key, !tc->gnu || second ? ".o" : ".s"));
	add(&c, from);
	return c;
}

static void compile_step(struct xr_toolchain *tc, struct unit **units, size_t n, bool second, const char **failure)
{
	struct xr_job *jobs = xr_calloc(n, sizeof *jobs);
	size_t *which = xr_calloc(n, sizeof *which), k = 0;
	for (size_t i = 0; i < n; i++)
		if (!failure[i]) {
			jobs[k].argv = step(tc, units[i], second).argv;
			which[k++] = i;
		}
	xr_jobs_run(jobs, k, tc->parallel, compile_timeout_s);
	for (size_t i = 0; i < k; i++) {
		if (jobs[i].status) {
			failure[which[i]] = complaint(tc, &jobs[i]);
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
		if (!status && !(cached(tc, units[i].key, ".o") && read_note(tc, &units[i])))
			todo[k++] = &units[i];
	}
	if (!status) {
		qsort(todo, k, sizeof *todo, by_length);
		compile_step(tc, todo, k, false, todo_failure);
		if (tc->gnu)
			compile_step(tc, todo, k, true, todo_failure);
		for (size_t i = 0; i < k; i++) {
			failure[todo[i] - units] = todo_failure[i];
			if (todo_failure[i])
				continue;
			look_and_note(tc, todo[i]);
			keep_in_cache(tc, todo[i]->key, ".o");
		}
	}
	free(todo);
	free(todo_failure);
	return status;
}

/* ---- from specifications to a program ---- */

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

/* Which specification an error of the compiler is about: the function it names ("In function 'xr_nano_…':" stands before
 * its errors), or the one that the line of the file belongs to. n: none of them. */
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
	xr_file_read(work_path(tc, u->key, ".c"), &text);
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
			} else if (u->n == 1) {
				u->out[0]->failure = failure[i];
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

static int run_or_fail(struct xr_toolchain *tc, struct command *c, const char *what, struct xr_error *err)
{
	struct xr_job job = {.argv = c->argv};
	xr_jobs_run(&job, 1, 1, compile_timeout_s);
	int status = 0;
	if (job.status)
		status = xr_fail(err, XR_EXIT_TARGET, "%s: %s", what, complaint(tc, &job));
	xr_strbuf_release(&job.output);
	free(c->argv);
	return status;
}

/* The agent's own files, compiled once; baked programs hold another main loop. */
static int compile_agent(struct xr_toolchain *tc, bool baked, struct command *link, struct xr_error *err)
{
	uint64_t base = agent_key(tc) + baked;
	struct xr_job jobs[32] = {{0}};
	uint64_t keys[32];
	size_t n = 0;
	for (const struct xr_embedded *e = xr_agent_text; e->name; e++) {
		size_t len = strlen(e->name);
		if (len < 2 || strcmp(e->name + len - 2, ".c"))
			continue;
		uint64_t key = xr_hash(base, e->name, len);
		add(link, work_path(tc, key, ".o"));
		if (cached(tc, key, ".o"))
			continue;
		struct command c = compiler(tc, XR_PLAIN);
		if (tc->gnu) {
			add(&c,
			    "-O2"); /* whatever the flags for the measured code say: the loops of the agent must be tight */
			add(&c, "-w");
			add(&c, "-pthread");
		}
		if (baked)
			add(&c, "-DXR_BAKED");
		add(&c, "-c");
		add(&c, "-o");
		add(&c, work_path(tc, key, ".o"));
		add(&c, xr_arena_printf(tc->arena, "%s/%s", tc->work, e->name));
		keys[n] = key;
		jobs[n++].argv = c.argv;
	}
	xr_jobs_run(jobs, n, tc->parallel, compile_timeout_s);
	int status = 0;
	for (size_t i = 0; i < n; i++) {
		if (jobs[i].status && !status)
			status = xr_fail(err, XR_EXIT_TARGET, "the compiler '%s' cannot compile the agent: %s", tc->cc,
			                 complaint(tc, &jobs[i]));
		else if (!status)
			keep_in_cache(tc, keys[i], ".o");
		xr_strbuf_release(&jobs[i].output);
		free((void *)(size_t)jobs[i].argv);
	}
	return status;
}

static void put_script(struct xr_strbuf *out, const char *const *script)
{
	xr_strbuf_printf(out, "const char *const xr_baked[] = {\n");
	for (; *script; script++) {
		xr_strbuf_printf(out, "\t\"");
		for (const char *c = *script; *c; c++)
			xr_strbuf_printf(out, *c == '"' || *c == '\\' ? "\\%c" : "%c", *c);
		xr_strbuf_printf(out, "\",\n");
	}
	xr_strbuf_printf(out, "\t0\n};\n");
}

static int compile_table(struct xr_toolchain *tc, const struct xr_strbuf *text, uint64_t *key, struct xr_error *err)
{
	*key = xr_hash(agent_key(tc), xr_strbuf_text(text), text->len);
	if (cached(tc, *key, ".o"))
		return 0;
	const char *source = work_path(tc, *key, ".c");
	if (xr_file_write(source, xr_strbuf_text(text), text->len))
		return xr_fail(err, XR_EXIT_TARGET, "cannot write generated code: %s", strerror(errno));
	struct command c = compiler(tc, XR_PLAIN);
	add(&c, "-c");
	add(&c, "-o");
	add(&c, work_path(tc, *key, ".o"));
	add(&c, source);
	if (run_or_fail(tc, &c, "the table of functions does not compile", err))
		return -1;
	keep_in_cache(tc, *key, ".o");
	return 0;
}

static int link_program(struct xr_toolchain *tc, const struct units *objects, const struct xr_strbuf *table, bool baked,
                        const char **program, struct xr_error *err)
{
	uint64_t key = agent_key(tc) + baked, table_key = 0;
	for (size_t i = 0; i < objects->n; i++)
		key = xr_hash(key, &objects->unit[i].key, sizeof key);
	key = xr_hash(key, xr_strbuf_text(table), table->len);
	*program = work_path(tc, key, ".exe");
	if (cached(tc, key, ".exe"))
		return 0;
	struct command c = compiler(tc, XR_PLAIN);
	add(&c, "-o");
	add(&c, *program);
	int status = compile_agent(tc, baked, &c, err);
	if (!status)
		status = compile_table(tc, table, &table_key, err);
	if (status) {
		free(c.argv);
		return status;
	}
	add(&c, work_path(tc, table_key, ".o"));
	for (size_t i = 0; i < objects->n; i++)
		add(&c, work_path(tc, objects->unit[i].key, ".o"));
	if (tc->gnu)
		add(&c, "-pthread");
	add(&c, "-lm");
	if (run_or_fail(tc, &c, "cannot link the agent", err))
		return -1;
	keep_in_cache(tc, key, ".exe");
	return 0;
}

int xr_toolchain_build(struct xr_toolchain *tc, const struct xr_spec *specs, size_t n, struct xr_compiled *out,
                       const char *const *script, const char **program, struct xr_error *err)
{
	struct units todo = {0}, objects = {0};
	struct xr_strbuf table = {0};
	size_t *fresh = xr_calloc(n + 1, sizeof *fresh), n_fresh = recall(tc, specs, n, out, &objects, fresh);
	size_t recalled = objects.n;
	divide(tc, specs, out, fresh, n_fresh, &todo);
	int status = compile_all(tc, &todo, &objects, err);
	if (!status) {
		struct xr_spec *good = xr_calloc(n + 1, sizeof *good);
		size_t k = 0;
		for (size_t i = recalled; i < objects.n; i++)
			for (size_t j = 0; j < objects.unit[i].n; j++)
				remember(tc, objects.unit[i].spec[j], objects.unit[i].key, objects.unit[i].out[j]);
		for (size_t i = 0; i < n_fresh; i++)
			if (out[fresh[i]].failure)
				remember(tc, &specs[fresh[i]], 0, &out[fresh[i]]);
		for (size_t i = 0; i < n; i++)
			if (!out[i].failure)
				good[k++] = specs[i];
		xr_emit_table(&table, good, k);
		if (script)
			put_script(&table, script);
		free(good);
		status = link_program(tc, &objects, &table, script != NULL, program, err);
	}
	free(fresh);
	free(todo.unit);
	free(objects.unit);
	xr_strbuf_release(&table);
	return status;
}
