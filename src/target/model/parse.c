/* SPDX-License-Identifier: MIT */
/* Machine files: inih splits lines, a table (keys.c) says what each key is.
 *
 * inih is a C library of few lines and has few-line habits: it cuts lines at a fixed length, takes indented lines
 * for continuations, cuts long section names, says nothing of sections without keys, and does not tell the
 * handler where it is. So the lines pass through a reader here that hands it only lines it will not misread, and
 * counts them; keys with long values (lists of bits) it takes itself.
 */
#include "target/model/keys.h"
#include "util/files.h"

#include <ctype.h>
#include <errno.h>
#include <ini.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_MAX_BYTES = 48, FILE_MAX_BYTES = 1 << 20, SEEN_MAX = 2048, LINE_MAX_BYTES = 1000 };

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

static bool good_name(const char *name)
{
	size_t n = strlen(name);
	return n > 0 && n < 16 && strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == n;
}

/* units = alu:4 mul:1 … */
static int parse_units(struct parser *p, const char *text)
{
	struct xr_machine *m = p->machine;
	char words[256], reason[XR_KEY_REASON], *rest = NULL;
	snprintf(words, sizeof words, "%s", text);
	m->n_units = 0;
	for (char *word = strtok_r(words, " \t,", &rest); word; word = strtok_r(NULL, " \t,", &rest)) {
		char *colon = strchr(word, ':');
		double n = 1;
		if (colon)
			*colon = '\0';
		if (!good_name(word))
			return fail(p, "units: '%s' is no name of a unit (NAME:COUNT)", word);
		if (colon && !xr_keys_number("units", colon + 1, 1, 64, true, &n, reason))
			return fail(p, "%s", reason);
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
	char reason[XR_KEY_REASON];
	int first, last, yes = 0;
	double value = 0;
	if (!types_of(name, &first, &last))
		return fail(p, "[%s] has no key '%s' (int, fp, or a type)", p->section, name);
	if (!strcmp(p->section, "fma")) {
		if (!xr_keys_yes(name, text, &yes, reason))
			return fail(p, "%s", reason);
		for (int t = first; t <= last; t++) {
			p->machine->fma_said[t] = 1;
			p->machine->fma[t] = yes;
		}
		return 1;
	}
	if (!xr_keys_number(name, text, 0.01, 1e7, false, &value, reason))
		return fail(p, "%s", reason);
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

static int begin_btb(struct parser *p, const char *name)
{
	struct xr_machine *m = p->machine;
	if (!good_name(name))
		return fail(p, "[btb %s]: a name of letters and digits is wanted", name);
	if (m->n_btbs == XR_MACHINE_BTBS)
		return fail(p, "more than %d BTBs", XR_MACHINE_BTBS);
	struct xr_machine_btb *b = &m->btb[m->n_btbs++];
	*b = (struct xr_machine_btb){.shift = 4, .line = p->line};
	memcpy(b->name, name, strlen(name));
	p->base = b;
	return 1;
}

static bool known_section(const char *name)
{
	return xr_keys_section(name) || !strcmp(name, "fma") || !strcmp(name, "emulated");
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
	bool op = !strcmp(word[0], "op"),
	     listed = !strcmp(word[0], "cache") || !strcmp(word[0], "tlb") || !strcmp(word[0], "btb");
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
	for (int i = 0; xr_section_names[i]; i++)
		if (!strcmp(xr_section_names[i], word[0]))
			p->machine->section_line[i] = p->line;
	if (op)
		return begin_op(p, word[1], word[2]);
	if (listed)
		return word[0][0] == 'c'   ? begin_cache(p, word[1])
		       : word[0][0] == 't' ? begin_tlb(p, word[1])
		                           : begin_btb(p, word[1]);
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
	char reason[XR_KEY_REASON];
	int set = xr_keys_set(p->section, name, p->base, value, reason);
	if (set > 0)
		return 1;
	return set ? fail(p, "unknown key '%s' in [%s]", name, p->section) : fail(p, "%s", reason);
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

/* A line that inih has no room for. */
static int take_long_line(struct parser *p, char *line)
{
	char *value = line + strcspn(line, "=:"), *end = value;
	if (!*value || line[0] == '[')
		return fail(p, "line too long");
	*value++ = '\0';
	while (end > line && isspace((unsigned char)end[-1]))
		*--end = '\0';
	while (isspace((unsigned char)*value))
		value++;
	return take_key(p, p->section, line, value);
}

/* inih's reader, as fgets. */
static char *next_line(char *out, int room, void *self)
{
	struct parser *p = self;
	char line[LINE_MAX_BYTES] = "";
	if (p->failed || p->at >= p->end || !clean_line(p, line, sizeof line))
		return NULL;
	size_t n = strlen(line);
	if (n + 2 >= (size_t)room) {
		if (!take_long_line(p, line))
			return NULL;
		n = 0;
	}
	memcpy(out, line, n);
	out[n] = '\0';
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
	struct xr_strbuf text = {0};
	int status;
	if (xr_file_read_foreign(path, FILE_MAX_BYTES, NULL, &text))
		status = xr_fail(err, XR_EXIT_USE, errno == EFBIG ? "%s:1: too large for a machine file" : "%s: %s",
		                 path, xr_foreign_why(errno));
	else
		status = xr_machine_parse(machine, path, xr_strbuf_text(&text), text.len, err);
	xr_strbuf_release(&text);
	return status;
}
