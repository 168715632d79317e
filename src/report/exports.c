/* SPDX-License-Identifier: MIT */
#include "report/exports.h"

#include "facts/trust.h"
#include "util/error.h"

#include <stdlib.h>
#include <string.h>

const struct xr_export_form xr_export_forms[] = {
	{"blis", "block sizes of a matrix multiply, by the analytical model", xr_export_blis},
	{"cmake", "variables for include()", xr_export_cmake},
	{"csv", "one fact a line, for spreadsheets", xr_export_csv},
	{"gcc", "options of gcc that name cache sizes", xr_export_gcc},
	{"glibc", "GLIBC_TUNABLES: sizes of the caches a program gets", xr_export_glibc},
	{"hwloc", "a topology for lstopo and hwloc (XML)", xr_export_hwloc},
	{"kerncraft", "a machine file (YAML)", xr_export_kerncraft},
	{"markdown", "a table of facts", xr_export_markdown},
	{"openblas", "environment variables for OpenBLAS", xr_export_openblas},
	{"prometheus", "metrics in the text format", xr_export_prometheus},
	{"roofline", "peaks and bandwidths as ERT writes them (JSON)", xr_export_roofline},
	{NULL, NULL, NULL},
};

const struct xr_fact *xr_export_fact(const struct xr_export *e, const char *id)
{
	const struct xr_fact *fact = xr_description_fact(e->d, id);
	bool has = fact && fact->value && (fact->status == XR_OK || fact->status == XR_UNRELIABLE);
	return has && xr_trust_enough(fact->confidence, e->least) ? fact : NULL;
}

double xr_export_number(const struct xr_export *e, const char *id, double otherwise)
{
	const struct xr_fact *fact = xr_export_fact(e, id);
	if (fact && json_is_boolean(fact->value))
		return json_is_true(fact->value);
	double value = fact && json_is_number(fact->value) ? json_number_value(fact->value) : -1;
	return value >= 0 && value < 1e18 ? value : otherwise; /* no machine has more of anything */
}

int xr_export_count(const struct xr_export *e, const char *id, int otherwise)
{
	double value = xr_export_number(e, id, otherwise);
	return value < 1e6 ? (int)value : otherwise;
}

int xr_export_needs(const char *what, struct xr_error *err)
{
	return xr_fail(err, XR_EXIT_USE,
	               "the description does not know %s well enough; --min-confidence lowers the border", what);
}

static int no_such_form(const char *form, struct xr_error *err)
{
	const char *names[32];
	size_t n = 0;
	for (const struct xr_export_form *f = xr_export_forms; f->name; f++)
		names[n++] = f->name;
	const char *near = xr_suggest(form, names, n);
	if (near)
		return xr_fail(err, XR_EXIT_USE, "no form is called '%.60s'; did you mean '%s'?", form, near);
	return xr_fail(err, XR_EXIT_USE, "no form is called '%.60s'; `xray export --help` lists them", form);
}

int xr_report_export(FILE *out, const struct xr_description *d, const char *form, double least, struct xr_error *err)
{
	struct xr_arena arena = {0};
	const struct xr_export_form *f = xr_export_forms;
	char *text = NULL;
	size_t bytes = 0;
	while (f->name && strcmp(f->name, form))
		f++;
	if (!f->name)
		return no_such_form(form, err);
	FILE *memory = open_memstream(&text, &bytes); /* all of it or nothing */
	if (!memory)
		return xr_fail(err, XR_EXIT_USE, "out of memory");
	const struct xr_export e = {memory, d, &arena, least, false};
	int rc = f->write(&e, err);
	fclose(memory);
	if (!rc)
		fwrite(text, 1, bytes, out);
	free(text);
	xr_arena_release(&arena);
	return rc;
}
