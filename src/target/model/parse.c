/* Machine files: inih splits lines, a table says what each key is.
 *
 * inih is a C library of few lines and has few-line habits: it cuts lines at a fixed length, takes indented lines for
 * continuations, cuts long section names, says nothing of sections without keys, and does not tell the handler where
 * it is. So the lines pass through a reader here that hands it only lines it will not misread, and counts them.
 */
#include "target/model/machine.h"

#include <ctype.h>
#include <errno.h>
#include <ini.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_MAX_BYTES = 48, FILE_MAX_BYTES = 1 << 20, SEEN_MAX = 2048 };

enum kind {
	COUNT,  /* int */
	NUMBER, /* uint64_t */
	SIZE,   /* uint64_t with K, M, G */
	REAL,   /* double */
	YES,    /* int, yes or no */
	CHOICE, /* int, index of a word */
	WORDS,  /* char[size] */
};

struct key {
	const char *section, *name;
	enum kind kind;
	size_t offset;
	double min, max;
	const char *const *choices; /* CHOICE: the words; SIZE, NUMBER: a word that stands for 0 */
	size_t size;                /* WORDS */
};

static const char *const holds_names[] = {"-", "data", "code", "both", NULL};
static const char *const index_names[] = {"virtual", "physical", NULL};
static const char *const placement_names[] = {"random", "contiguous", NULL};
static const char *const full_name[] = {"full", NULL};
static const char *const none_name[] = {"none", NULL};

#define M(field) offsetof(struct xr_machine, field)
#define C(field) offsetof(struct xr_machine_cache, field)
#define T(field) offsetof(struct xr_machine_tlb, field)
#define O(field) offsetof(struct xr_machine_op, field)
#define GIB 1073741824.0

static const struct key keys[] = {
	{"target", "name", WORDS, M(name), 0, 0, NULL, XR_MACHINE_NAME},
	{"cpu", "mhz", REAL, M(mhz), 0.001, 1e6, NULL, 0},
	{"cpu", "width", COUNT, M(width), 1, 64, NULL, 0},
	{"cpu", "timer_ns", REAL, M(timer_ns), 0.001, 1e9, NULL, 0},
	{"cpu", "timer_cost_ns", REAL, M(timer_cost_ns), 0, 1e6, NULL, 0},
	{"registers", "int", COUNT, M(registers_int), 0, 1024, NULL, 0},
	{"registers", "fp", COUNT, M(registers_fp), 0, 1024, NULL, 0},
	{"registers", "vector", COUNT, M(registers_vector), 0, 1024, NULL, 0},
	{"registers", "vector_bytes", COUNT, M(vector_bytes), 0, 4096, NULL, 0},
	{"registers", "spill_cycles", REAL, M(spill_cycles), 0, 1e4, NULL, 0},
	{"op", "latency", REAL, O(latency), 0.01, 1e6, NULL, 0},
	{"op", "busy", REAL, O(busy), 0.01, 1e6, NULL, 0},
	{"op", "unit", WORDS, O(unit_name), 0, 0, NULL, 16},
	{"cache", "holds", CHOICE, C(holds), 0, 0, holds_names, 0},
	{"cache", "capacity", SIZE, C(capacity), 16, 64 * GIB, NULL, 0},
	{"cache", "ways", NUMBER, C(ways), 1, 1 << 24, full_name, 0},
	{"cache", "line", SIZE, C(line_bytes), 4, 1 << 16, NULL, 0},
	{"cache", "latency", REAL, C(latency), 0.01, 1e6, NULL, 0},
	{"cache", "policy", CHOICE, C(policy), 0, 0, xr_policy_names, 0},
	{"cache", "write_allocate", YES, C(write_allocate), 0, 0, NULL, 0},
	{"cache", "write_back", YES, C(write_back), 0, 0, NULL, 0},
	{"cache", "index", CHOICE, C(index), 0, 0, index_names, 0},
	{"cache", "inclusion", CHOICE, C(inclusion), 0, 0, xr_inclusion_names, 0},
	{"cache", "shared_by", COUNT, C(shared_by), 1, XR_MACHINE_CORES, NULL, 0},
	{"cache", "hash", YES, C(hash), 0, 0, NULL, 0},
	{"cache", "neighbours_gbs", REAL, C(neighbours_gbs), 0, 1e4, NULL, 0},
	{"memory", "latency", REAL, M(memory_latency), 0.01, 1e6, NULL, 0},
	{"memory", "parallelism", COUNT, M(parallelism), 1, 4096, NULL, 0},
	{"memory", "bandwidth_gbs", REAL, M(bandwidth_gbs), 1e-6, 1e6, NULL, 0},
	{"memory", "size", SIZE, M(memory_bytes), 64, 1048576 * GIB, NULL, 0},
	{"page", "size", SIZE, M(page_bytes), 0, GIB, NULL, 0},
	{"page", "huge", SIZE, M(huge_bytes), 0, 64 * GIB, none_name, 0},
	{"page", "placement", CHOICE, M(placement), 0, 0, placement_names, 0},
	{"page", "resizing", YES, M(resizing), 0, 0, NULL, 0},
	{"page", "resizing_ms", REAL, M(resizing_ms), 0, 1e6, NULL, 0},
	{"tlb", "holds", CHOICE, T(holds), 0, 0, holds_names, 0},
	{"tlb", "entries", NUMBER, T(entries), 1, 1 << 20, NULL, 0},
	{"tlb", "ways", NUMBER, T(ways), 1, 1 << 20, full_name, 0},
	{"tlb", "penalty", REAL, T(penalty), 0, 1e6, NULL, 0},
	{"tlb", "policy", CHOICE, T(policy), 0, 0, xr_policy_names, 0},
	{"tlb", "fold", YES, T(fold), 0, 0, NULL, 0},
	{"prefetch", "adjacent", YES, M(prefetch_adjacent), 0, 0, NULL, 0},
	{"prefetch", "stride", YES, M(prefetch_stride), 0, 0, NULL, 0},
	{"prefetch", "stream", YES, M(prefetch_stream), 0, 0, NULL, 0},
	{"prefetch", "code", YES, M(prefetch_code), 0, 0, NULL, 0},
	{"prefetch", "distance", COUNT, M(prefetch_distance), 1, 64, NULL, 0},
	{"threads", "cores", COUNT, M(cores), 1, XR_MACHINE_CORES, NULL, 0},
	{"threads", "smt", COUNT, M(smt), 1, 16, NULL, 0},
	{"threads", "shared_units", WORDS, M(shared_names), 0, 0, NULL, 128},
	{"threads", "nodes", COUNT, M(nodes), 1, XR_MACHINE_CORES, NULL, 0},
	{"threads", "second", WORDS, M(second), 0, 0, NULL, 128},
	{"threads", "near_ns", REAL, M(near_ns), 0.01, 1e9, NULL, 0},
	{"threads", "far_ns", REAL, M(far_ns), 0.01, 1e9, NULL, 0},
	{"os", "timeslice_ms", REAL, M(timeslice_ms), 0, 1e6, NULL, 0},
	{"os", "switch_us", REAL, M(switch_us), 0.001, 1e6, NULL, 0},
	{"branch", "mispredict", REAL, M(mispredict), 0, 1e5, NULL, 0},
	{"counters", "available", YES, M(counters), 0, 0, NULL, 0},
	{"noise", "jitter", REAL, M(jitter), 0, 10, NULL, 0},
	{"noise", "interrupts_hz", REAL, M(interrupts_hz), 0, 1e6, NULL, 0},
	{"noise", "interrupt_us", REAL, M(interrupt_us), 0, 1e6, NULL, 0},
	{"noise", "drift", REAL, M(drift), 0, 0.9, NULL, 0},
	{"noise", "preempt_hz", REAL, M(preempt_hz), 0, 1e5, NULL, 0},
	{"noise", "preempt_ms", REAL, M(preempt_ms), 0, 1e5, NULL, 0},
	{"noise", "step", REAL, M(step), 0, 0.9, NULL, 0},
	{"noise", "step_ms", REAL, M(step_ms), 0.001, 1e6, NULL, 0},
	{"noise", "ramp", REAL, M(ramp), 0, 0.95, NULL, 0},
	{"noise", "ramp_ms", REAL, M(ramp_ms), 0.001, 1e6, NULL, 0},
	{"noise", "low", REAL, M(low), 0, 1, NULL, 0},
};

struct parser {
	struct xr_machine *machine;
	const char *name, *at, *end;
	int line;
	struct xr_error *err;
	bool failed;

	char section[NAME_MAX_BYTES]; /* its first word */
	void *base;                   /* what offsets count from in this section */
	int n_sections;
	char kind[32];
	struct {
		char section[NAME_MAX_BYTES];
	} sections[128];
	struct {
		int section;
		char name[NAME_MAX_BYTES];
	} seen[SEEN_MAX];
	int n_seen;
};

static int fail(struct parser *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
static int fail(struct parser *p, const char *format, ...)
{
	char reason[512];
	va_list args;
	if (p->failed)
		return 0;
	va_start(args, format);
	vsnprintf(reason, sizeof reason, format, args);
	va_end(args);
	for (char *c = reason; *c; c++)
		if (!isprint((unsigned char)*c))
			*c = '?';
	p->failed = true;
	xr_fail(p->err, XR_EXIT_USE, "%s:%d: %s", p->name, p->line, reason);
	return 0;
}

/* ---- values ---- */

static int parse_number(struct parser *p, const struct key *key, const char *text, bool units, double *out)
{
	char *end;
	size_t digits = strspn(text, "0123456789.eE+-");
	double value = digits ? strtod(text, &end) : 0;
	if (!digits)
		return fail(p, "%s = %s: not a number", key->name, text);
	if (units && end[0] && !end[1])
		switch (toupper((unsigned char)*end)) {
		case 'G':
			value *= 1024; /* fall through */
		case 'M':
			value *= 1024; /* fall through */
		case 'K':
			value *= 1024;
			end++;
		}
	if (end == text || *end)
		return fail(p, "%s = %s: not a number%s", key->name, text, units ? " with K, M or G" : "");
	if (!(value >= key->min && value <= key->max))
		return fail(p, "%s = %s: must be from %.12g to %.12g", key->name, text, key->min, key->max);
	if (key->kind != REAL && value != floor(value))
		return fail(p, "%s = %s: must be a whole number", key->name, text);
	*out = value;
	return 1;
}

static int parse_choice(struct parser *p, const struct key *key, const char *text, int *out)
{
	char all[128] = "";
	for (int i = 0; key->choices[i]; i++) {
		if (!strcmp(text, key->choices[i]) && strcmp(text, "-")) {
			*out = i;
			return 1;
		}
		if (strcmp(key->choices[i], "-") && strlen(all) + strlen(key->choices[i]) + 2 < sizeof all)
			strcat(strcat(all, " "), key->choices[i]);
	}
	return fail(p, "%s = %s: must be one of%s", key->name, text, all);
}

static int parse_yes(struct parser *p, const char *name, const char *text, int *out)
{
	if (strcmp(text, "yes") && strcmp(text, "no"))
		return fail(p, "%s = %s: must be yes or no", name, text);
	*out = !strcmp(text, "yes");
	return 1;
}

static int parse_value(struct parser *p, const struct key *key, const char *text)
{
	char *to = (char *)p->base + key->offset;
	double value = 0;
	switch (key->kind) {
	case COUNT:
		if (!parse_number(p, key, text, false, &value))
			return 0;
		*(int *)(void *)to = (int)value;
		return 1;
	case NUMBER:
	case SIZE:
		if (key->choices && !strcmp(text, key->choices[0])) {
			*(uint64_t *)(void *)to = 0;
			return 1;
		}
		if (!parse_number(p, key, text, key->kind == SIZE, &value))
			return 0;
		*(uint64_t *)(void *)to = (uint64_t)value;
		return 1;
	case REAL:
		if (!parse_number(p, key, text, false, &value))
			return 0;
		*(double *)(void *)to = value;
		return 1;
	case YES:
		return parse_yes(p, key->name, text, (int *)(void *)to);
	case CHOICE:
		return parse_choice(p, key, text, (int *)(void *)to);
	case WORDS:
		if (strlen(text) >= key->size)
			return fail(p, "%s: longer than %zu characters", key->name, key->size - 1);
		if (strpbrk(text, ";#[]="))
			return fail(p, "%s = %s: words must do without ; # [ ] =", key->name, text);
		memset(to, 0, key->size);
		memcpy(to, text, strlen(text));
		return 1;
	}
	return 0;
}

static bool good_name(const char *name)
{
	size_t n = strlen(name);
	return n > 0 && n < 16 && strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == n;
}

/* units = alu:4 mul:1 … */
static int parse_units(struct parser *p, const char *text)
{
	static const struct key count = {"cpu", "units", COUNT, 0, 1, 64, NULL, 0};
	struct xr_machine *m = p->machine;
	char words[256], *rest = NULL;
	snprintf(words, sizeof words, "%s", text);
	m->n_units = 0;
	for (char *word = strtok_r(words, " \t,", &rest); word; word = strtok_r(NULL, " \t,", &rest)) {
		char *colon = strchr(word, ':');
		double n = 1;
		if (colon)
			*colon = '\0';
		if (!good_name(word))
			return fail(p, "units: '%s' is no name of a unit (NAME:COUNT)", word);
		if (colon && !parse_number(p, &count, colon + 1, false, &n))
			return 0;
		if (xr_machine_unit(m, word) >= 0)
			return fail(p, "units: '%s' is listed twice", word);
		if (m->n_units == XR_MACHINE_UNITS)
			return fail(p, "units: more than %d kinds", XR_MACHINE_UNITS);
		struct xr_machine_unit *unit = &m->unit[m->n_units++];
		memset(unit, 0, sizeof *unit);
		memcpy(unit->name, word, strlen(word));
		unit->count = (int)n;
	}
	return m->n_units ? 1 : fail(p, "units: none listed");
}

/* Scalar types of a key of [fma] and [emulated]: a type, or a class. */
static int types_of(const char *name, int *first, int *last)
{
	int type = xr_type_by_name(name);
	if (!strcmp(name, "int")) {
		*first = XR_I8;
		*last = XR_I64;
	} else if (!strcmp(name, "fp")) {
		*first = XR_F32;
		*last = XR_F64;
	} else if (type >= 0 && type < XR_N_SCALARS) {
		*first = *last = type;
	} else {
		return 0;
	}
	return 1;
}

static int parse_type_key(struct parser *p, const char *name, const char *text)
{
	static const struct key cycles = {"emulated", "", REAL, 0, 0.01, 1e7, NULL, 0};
	int first, last, yes = 0;
	double value = 0;
	if (!types_of(name, &first, &last))
		return fail(p, "[%s] has no key '%s' (int, fp, or a type)", p->section, name);
	if (!strcmp(p->section, "fma")) {
		if (!parse_yes(p, name, text, &yes))
			return 0;
		for (int t = first; t <= last; t++) {
			p->machine->fma_said[t] = 1;
			p->machine->fma[t] = yes;
		}
		return 1;
	}
	struct key named = cycles;
	named.name = name;
	if (!parse_number(p, &named, text, false, &value))
		return 0;
	for (int t = first; t <= last; t++)
		p->machine->emulated[t] = value;
	return 1;
}

/* ---- sections ---- */

static int begin_op(struct parser *p, const char *op_name, const char *type_name)
{
	struct xr_machine *m = p->machine;
	int op = xr_op_by_name(op_name), type = xr_type_by_name(type_name);
	if (op < 0 || op == XR_TEXT)
		return fail(p, "[op %s %s]: no such operation", op_name, type_name);
	struct xr_machine_op *o;
	if (!strcmp(type_name, "int"))
		o = &m->class_op[op][XR_CLASS_INT];
	else if (!strcmp(type_name, "fp"))
		o = &m->class_op[op][XR_CLASS_FP];
	else if (type >= 0)
		o = &m->type_op[op][type];
	else
		return fail(p, "[op %s %s]: no such type or class", op_name, type_name);
	*o = (struct xr_machine_op){.there = true, .latency = 1, .busy = 1, .line = p->line};
	p->base = o;
	return 1;
}

static int begin_cache(struct parser *p, const char *name)
{
	struct xr_machine *m = p->machine;
	if (!good_name(name))
		return fail(p, "[cache %s]: a name of letters and digits is wanted", name);
	if (m->n_caches == XR_MACHINE_CACHES)
		return fail(p, "more than %d caches", XR_MACHINE_CACHES);
	struct xr_machine_cache *c = &m->cache[m->n_caches++];
	*c = (struct xr_machine_cache){.holds = XR_HOLDS_DATA,
	                               .ways = 1,
	                               .line_bytes = 64,
	                               .latency = 1,
	                               .policy = XR_LRU,
	                               .write_allocate = 1,
	                               .write_back = 1,
	                               .shared_by = 1,
	                               .line = p->line};
	memcpy(c->name, name, strlen(name));
	p->base = c;
	return 1;
}

static int begin_tlb(struct parser *p, const char *name)
{
	struct xr_machine *m = p->machine;
	if (!good_name(name))
		return fail(p, "[tlb %s]: a name of letters and digits is wanted", name);
	if (m->n_tlbs == XR_MACHINE_TLBS)
		return fail(p, "more than %d TLBs", XR_MACHINE_TLBS);
	struct xr_machine_tlb *t = &m->tlb[m->n_tlbs++];
	*t = (struct xr_machine_tlb){.holds = XR_HOLDS_DATA, .penalty = 10, .policy = XR_LRU, .line = p->line};
	memcpy(t->name, name, strlen(name));
	p->base = t;
	return 1;
}

static bool known_section(const char *name)
{
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		if (!strcmp(keys[i].section, name))
			return true;
	return !strcmp(name, "fma") || !strcmp(name, "emulated");
}

/* A [section] line, without brackets. */
static int begin_section(struct parser *p, const char *title)
{
	char copy[NAME_MAX_BYTES], *rest = NULL, *word[4] = {NULL};
	int n = 0;
	snprintf(copy, sizeof copy, "%s", title);
	for (char *w = strtok_r(copy, " \t", &rest); w && n < 4; w = strtok_r(NULL, " \t", &rest))
		word[n++] = w;
	if (!n)
		return fail(p, "a section without a name");
	bool op = !strcmp(word[0], "op"), listed = !strcmp(word[0], "cache") || !strcmp(word[0], "tlb");
	if (!known_section(word[0]))
		return fail(p, "unknown section [%s]", title);
	if (n != (op ? 3 : listed ? 2 : 1))
		return fail(p, "[%s]: must be [%s%s]", title, word[0], op ? " OPERATION TYPE" : listed ? " NAME" : "");

	char full[NAME_MAX_BYTES * 2];
	snprintf(full, sizeof full, "%s%s%s%s%s", word[0], n > 1 ? " " : "", n > 1 ? word[1] : "", n > 2 ? " " : "",
	         n > 2 ? word[2] : "");
	for (int i = 0; i < p->n_sections; i++)
		if (!strcmp(p->sections[i].section, full))
			return fail(p, "[%s] a second time", full);
	if (p->n_sections == (int)(sizeof p->sections / sizeof *p->sections))
		return fail(p, "too many sections");
	memcpy(p->sections[p->n_sections++].section, full, strlen(full) + 1);
	memcpy(p->section, word[0], strlen(word[0]) + 1);
	p->base = p->machine;
	if (op)
		return begin_op(p, word[1], word[2]);
	if (listed)
		return word[0][0] == 'c' ? begin_cache(p, word[1]) : begin_tlb(p, word[1]);
	return 1;
}

static int note_key(struct parser *p, const char *name)
{
	for (int i = 0; i < p->n_seen; i++)
		if (p->seen[i].section == p->n_sections && !strcmp(p->seen[i].name, name))
			return fail(p, "%s a second time in [%s]", name, p->sections[p->n_sections - 1].section);
	if (p->n_seen == SEEN_MAX)
		return fail(p, "too many keys");
	p->seen[p->n_seen].section = p->n_sections;
	memcpy(p->seen[p->n_seen++].name, name, strlen(name) + 1);
	return 1;
}

/* inih's handler: 1 when all is well. */
static int take_key(void *self, const char *section, const char *name, const char *value)
{
	struct parser *p = self;
	(void)section; /* the reader knows it better: see begin_section() */
	if (p->failed)
		return 0;
	if (!p->n_sections)
		return fail(p, "%s before the first [section]", name);
	if (strlen(name) >= NAME_MAX_BYTES)
		return fail(p, "name of a key too long");
	if (!note_key(p, name))
		return 0;
	if (!*value && strcmp(name, "shared_units"))
		return fail(p, "%s has no value", name);
	if (!strcmp(p->section, "target") && !strcmp(name, "kind")) {
		snprintf(p->kind, sizeof p->kind, "%s", value);
		return strcmp(value, "simulated") ? fail(p, "kind = %s: must be simulated", value) : 1;
	}
	if (!strcmp(p->section, "cpu") && !strcmp(name, "units"))
		return parse_units(p, value);
	if (!strcmp(p->section, "fma") || !strcmp(p->section, "emulated"))
		return parse_type_key(p, name, value);
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		if (!strcmp(keys[i].section, p->section) && !strcmp(keys[i].name, name))
			return parse_value(p, &keys[i], value);
	return fail(p, "unknown key '%s' in [%s]", name, p->section);
}

/* ---- lines ---- */

/* Copies the next line of the text without indentation and comment; 0 when it cannot be shown to inih. */
static int clean_line(struct parser *p, char *out, size_t room)
{
	const char *start = p->at, *stop = memchr(start, '\n', (size_t)(p->end - start));
	p->at = stop ? stop + 1 : p->end;
	if (!stop)
		stop = p->end;
	p->line++;
	if (p->line == 1 && stop - start >= 3 && !memcmp(start, "\xef\xbb\xbf", 3))
		start += 3;
	while (start < stop && isspace((unsigned char)*start))
		start++;
	size_t n = 0;
	for (const char *c = start; c < stop; c++) {
		if ((unsigned char)*c < 32 && !isspace((unsigned char)*c))
			return fail(p, "byte 0x%02x: not a text file", (unsigned char)*c);
		if ((*c == ';' || *c == '#') && (c == start || isspace((unsigned char)c[-1])))
			break;
		if (n + 2 >= room)
			return fail(p, "line too long");
		out[n++] = *c;
	}
	while (n && isspace((unsigned char)out[n - 1]))
		n--;
	out[n] = '\0';
	return 1;
}

/* inih's reader, as fgets. */
static char *next_line(char *out, int room, void *self)
{
	struct parser *p = self;
	if (p->failed || p->at >= p->end || !clean_line(p, out, (size_t)room))
		return NULL;
	size_t n = strlen(out);
	if (out[0] == '[') {
		if (n < 2 || out[n - 1] != ']' || memchr(out + 1, ']', n - 2) || n - 2 >= NAME_MAX_BYTES - 1) {
			fail(p, "%s: not a [section] line", n > 60 ? "[…" : out);
			return NULL;
		}
		out[n - 1] = '\0';
		int good = begin_section(p, out + 1);
		out[0] = '\0'; /* inih need not know */
		if (!good)
			return NULL;
	} else if (n && !strpbrk(out, "=:")) {
		fail(p, "%.60s: neither [section] nor key = value", out);
		return NULL;
	} else if (strcspn(out, "=:") >= NAME_MAX_BYTES) {
		fail(p, "name of a key too long");
		return NULL;
	}
	strcat(out, "\n");
	return out;
}

int xr_machine_parse(struct xr_machine *machine, const char *name, const char *text, size_t bytes, struct xr_error *err)
{
	struct parser *p = calloc(1, sizeof *p);
	if (!p)
		return xr_fail(err, XR_EXIT_TARGET, "%s: out of memory", name);
	*p = (struct parser){.machine = machine, .name = name, .at = text, .end = text + bytes, .err = err};
	xr_machine_init(machine);
	int line = ini_parse_stream(next_line, p, take_key, p);
	if (!p->failed && line)
		fail(p, "not understood");
	if (!p->failed && !p->kind[0]) {
		p->line = p->line ? p->line : 1;
		fail(p, p->n_sections ? "no [target] with kind = simulated"
		                      : "empty: a machine file begins with [target] and kind = simulated");
	}
	int status = p->failed ? -1 : 0;
	free(p);
	return status ? status : xr_machine_check(machine, name, err);
}

int xr_machine_read(struct xr_machine *machine, const char *path, struct xr_error *err)
{
	FILE *file = fopen(path, "rb");
	if (!file)
		return xr_fail(err, XR_EXIT_USE, "%s: %s", path, strerror(errno));
	char *text = malloc(FILE_MAX_BYTES + 1);
	size_t n = text ? fread(text, 1, FILE_MAX_BYTES + 1, file) : 0;
	int status = -1;
	if (!text)
		xr_fail(err, XR_EXIT_TARGET, "%s: out of memory", path);
	else if (ferror(file))
		xr_fail(err, XR_EXIT_USE, "%s: %s", path, strerror(errno));
	else if (n > FILE_MAX_BYTES)
		xr_fail(err, XR_EXIT_USE, "%s:1: too large for a machine file", path);
	else
		status = xr_machine_parse(machine, path, text, n, err);
	fclose(file);
	free(text);
	return status;
}
